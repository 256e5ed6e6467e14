// Reads a file that a prompt named, if it is inside one of the allowed folders. A name in a prompt
// is untrusted, so nothing is revealed about files outside: they are reported as missing.
import { homedir } from 'node:os';
import { join } from 'node:path';
import { openInside, readBytes } from '../files/inside.ts';

export type ConfinedReading =
  | { kind: 'read'; realPath: string; bytes: Buffer }
  | { kind: 'not-found' }
  | { kind: 'too-large' };

export interface Place {
  /** What relative names are relative to. */
  workspaceDir: string;
  /** Absolute folders, `workspaceDir` among them if it is one. */
  roots: readonly string[];
  bytesMax: number;
}

/**
 * The bytes of the file `name`: absolute, below the home (`~/`), or relative. Rejects only when a
 * file inside cannot be read.
 */
export async function readConfined(name: string, { workspaceDir, roots, bytesMax }: Place): Promise<ConfinedReading> {
  const path = name.startsWith('~/') ? join(homedir(), name.slice(2)) : name;
  const opened = await openInside(path, { base: workspaceDir, roots }).catch(() => null);
  if (opened === null) return { kind: 'not-found' };
  try {
    const { file, facts } = opened;
    if (facts.size > bytesMax) return { kind: 'too-large' };
    return { kind: 'read', realPath: opened.path, bytes: await readBytes(file, 0, Number(facts.size)) };
  } finally {
    await opened.file.close();
  }
}
