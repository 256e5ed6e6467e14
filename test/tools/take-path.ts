// A machine without socat, as this process sees it.
import { chmodSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { findProgram } from '../../src/tools/sandbox/runtimes.ts';

/**
 * Until the end of the test, the PATH is one folder with what a sandbox needs, but for socat.
 * Commands must be able to read it.
 */
export function takePath(): string {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-path-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  chmodSync(folder, 0o755);
  for (const name of ['bwrap', 'prlimit', 'grep', 'ls', 'rm', 'cat', 'chmod', 'sleep'])
    symlinkSync(findProgram(name) ?? '', join(folder, name));
  const path = process.env['PATH'];
  process.env['PATH'] = folder;
  onTestFinished(() => void (process.env['PATH'] = path));
  return folder;
}
