// Reads a file that a prompt named, if its real path is inside one of the allowed folders. A name in a prompt is untrusted, so nothing
// is revealed about files outside: they are reported as missing.
import { open, readlink, realpath, type FileHandle } from 'node:fs/promises';
import { homedir } from 'node:os';
import { isAbsolute, join, resolve, sep } from 'node:path';
import { READ_FLAGS, readBytes } from '../open-file.ts';

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

/** The bytes of the file `name`: absolute, below the home (`~/`), or relative. Rejects only when a file inside cannot be read. */
export async function readConfined(name: string, place: Place): Promise<ConfinedReading> {
  if (name.includes('\0')) return { kind: 'not-found' };
  const realPath = await realOrNull(absolute(name, place.workspaceDir));
  if (realPath === null || !(await isInside(realPath, place.roots))) return { kind: 'not-found' };
  const handle = await openOrNull(realPath);
  if (handle === null) return { kind: 'not-found' };
  try {
    const facts = await handle.stat();
    // The opened file may differ from the checked one: a folder on the path may have been replaced by a link in
    // between.
    const opened = await pathOfHandle(handle, realPath);
    if (!facts.isFile() || !(await isInside(opened, place.roots))) return { kind: 'not-found' };
    if (facts.size > place.bytesMax) return { kind: 'too-large' };
    return { kind: 'read', realPath, bytes: await readBytes(handle, 0, facts.size) };
  } finally {
    await handle.close();
  }
}

function absolute(name: string, workspaceDir: string): string {
  if (name.startsWith('~/')) return join(homedir(), name.slice(2));
  return isAbsolute(name) ? name : resolve(workspaceDir, name);
}

async function isInside(realPath: string, roots: readonly string[]): Promise<boolean> {
  for (const root of roots) {
    const realRoot = await realOrNull(root);
    if (realRoot !== null && realPath.startsWith(realRoot.endsWith(sep) ? realRoot : realRoot + sep)) return true;
  }
  return false;
}

function realOrNull(path: string): Promise<string | null> {
  return realpath(path).catch(() => null);
}

function openOrNull(path: string): Promise<FileHandle | null> {
  return open(path, READ_FLAGS).catch(() => null);
}

/** The real path of the opened file, if the system provides it; otherwise the path by which it was opened. */
function pathOfHandle(handle: FileHandle, openedPath: string): Promise<string> {
  return readlink(`/proc/self/fd/${handle.fd}`).catch(() => openedPath);
}
