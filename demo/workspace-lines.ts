// Files of the workspace as evidence: they contain what tools have really done, line by line.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import type { Scene } from './chapter.ts';

/** Between the event that a call began and its line in the file: the start of a shell. */
const LINE_MS_MAX = 120_000;
const POLL_MS = 5;

/** The lines of a file; none when it is not there. */
export async function linesOf({ stage }: Scene, file: string): Promise<string[]> {
  const text = await readFile(join(stage.workspaceDir, file), 'utf8').catch(() => '');
  return text === '' ? [] : text.trimEnd().split('\n');
}

/** Resolves when the file has a line with this beginning. Rejects when that takes too long. */
export async function awaitLine(scene: Scene, file: string, beginning: string): Promise<void> {
  const deadlineMs = performance.now() + LINE_MS_MAX;
  while (!(await linesOf(scene, file)).some((line) => line.startsWith(beginning))) {
    if (performance.now() > deadlineMs) throw new Error(`${file} had no "${beginning}" within ${LINE_MS_MAX} ms`);
    await delay(POLL_MS, undefined, { signal: scene.stage.signal });
  }
}
