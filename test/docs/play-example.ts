// Types a shell example of a page as it is printed. A comment below a command is what it prints: a
// line that its output contains, or JSON that its output matches, with "..." for anything.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { expect } from 'vitest';
import { BIN } from '../cli/run-cli.ts';

/** The separator between the outputs of two commands. */
const SEPARATOR = '\u001e';

/**
 * Runs the commands in one shell in the folder, and compares what each prints with the comments
 * below it.
 */
export async function playExample(code: string, cwd: string): Promise<void> {
  const parts = code.trim().split(/\n{2,}/);
  // npx finds the command in the checkout; here it is called there.
  const prelude = `set -e\nnpx() { shift; "${process.execPath}" "${BIN}" "$@"; }\n`;
  const script = parts.join(`\nprintf '\\036'\n`);
  const shell = spawn('bash', ['-c', prelude + script], {
    cwd,
    env: { PATH: process.env['PATH'] },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [stdout, stderr] = await Promise.all([text(shell.stdout), text(shell.stderr), once(shell, 'close')]);
  expect({ code: shell.exitCode, stderr: shell.exitCode === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
  const outputs = stdout.split(SEPARATOR);
  for (const [at, part] of parts.entries()) {
    for (const line of expectedLines(part)) {
      if (line.startsWith('{')) expect(JSON.parse(outputs[at] ?? '')).toMatchObject(patternOf(line));
      else expect(outputs[at]).toContain(line);
    }
  }
}

/** The comments after the last command of a part; comments before it explain it. */
function expectedLines(part: string): string[] {
  const lines = part.split('\n');
  return lines.slice(lines.findLastIndex((line) => !line.startsWith('#')) + 1).map((line) => line.replace(/^# ?/, ''));
}

function patternOf(json: string): Record<string, unknown> {
  return JSON.parse(json, (_key, value: unknown) => (value === '...' ? expect.anything() : value)) as Record<
    string,
    unknown
  >;
}
