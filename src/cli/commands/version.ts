// `holdfast version`: what runs here, for bug reports.
import { readFileSync } from 'node:fs';
import { arch, platform, release } from 'node:os';
import { EXIT, type ExitCode } from '../cli-error.ts';
import type { Terminal } from '../terminal.ts';

/** Prints the versions of Holdfast, of Node and of the machine. */
export async function runVersion(terminal: Terminal): Promise<ExitCode> {
  const text = readFileSync(new URL('../../../package.json', import.meta.url), 'utf8');
  const { version, dependencies } = JSON.parse(text) as { version: string; dependencies: Record<string, string> };
  const facts = {
    version,
    node: process.versions.node,
    platform: `${platform()} ${release()} ${arch()}`,
    bullmq: dependencies['bullmq'],
    anthropicSdk: dependencies['@anthropic-ai/sdk'],
  };
  if (terminal.isJson) terminal.json(facts);
  else
    for (const [name, value] of Object.entries({ holdfast: version, ...facts }))
      if (name !== 'version') terminal.print(`${name} ${value}`);
  return EXIT.ok;
}
