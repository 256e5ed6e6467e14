// What the manifest of Holdfast says.
import { readFileSync } from 'node:fs';

export function readManifest() {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return JSON.parse(text) as { version: string; dependencies: Record<string, string> };
}

/** For people and for files that say what made them: `1.2.3`. */
export const holdfastVersion = (): string => readManifest().version;
