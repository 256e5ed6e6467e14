// Builders for tool tests: a workspace on the real file system with a directory outside.
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, createReadStream, existsSync, openSync } from 'node:fs';
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { ToolOutcome } from '../../src/tools/tool.ts';

export interface Workspace {
  /** The agent's workspace. */
  dir: string;
  /** A directory next to the workspace, with a file `secret.txt` in it. */
  outsideDir: string;
  remove(): Promise<void>;
}

export async function createWorkspace(): Promise<Workspace> {
  const base = await realpath(await mkdtemp(join(tmpdir(), 'holdfast-tools-')));
  const dir = join(base, 'workspace');
  const outsideDir = join(base, 'outside');
  await mkdir(dir);
  await mkdir(outsideDir);
  await writeFile(join(outsideDir, 'secret.txt'), 'the secret');
  return { dir, outsideDir, remove: () => rm(base, { recursive: true, force: true }) };
}

/** The text of an outcome that consists of text alone. */
export function contentOf({ content }: ToolOutcome): string {
  if (typeof content !== 'string') throw new Error('the outcome has blocks');
  return content;
}

export interface Lifeline {
  /** Shell code after which a process and all its children hold the lifeline. */
  hold: string;
  /** Resolves when the first process holds it. */
  held: Promise<unknown>;
  /** Resolves when the last process that held it is gone. */
  gone: Promise<unknown>;
}

/** A named pipe that processes keep open while they live: its end signals that all have exited. */
export function createLifeline(dir: string, name = 'lifeline'): Lifeline {
  const path = join(dir, name);
  execFileSync('mkfifo', [path]);
  const reader = createReadStream(path);
  reader.resume();
  // If a process exits before it holds the pipe, a reader is left waiting, and blocks a thread of
  // the pool for file access.
  onTestFinished(() => {
    if (existsSync(path)) closeSync(openSync(path, 'r+'));
  });
  return { hold: `exec 9>'${path}'`, held: once(reader, 'open'), gone: once(reader, 'end') };
}
