// The version of Holdfast, from its manifest.
import { readFileSync } from 'node:fs';

/** For people and for files that say what made them: `1.2.3`. */
export function holdfastVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
