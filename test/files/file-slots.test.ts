// Goal: a file system that hangs occupies fewer threads than there are, and no caller waits for it
// without a limit. Method: pipes without a writer, whose opening occupies a thread like a mount
// that hangs; the limit passes by a fake clock.
import { execFileSync } from 'node:child_process';
import { closeSync, constants, mkdtempSync, openSync, rmSync } from 'node:fs';
import { open, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import { countThreads, FileSystemHangsError, longestFileCall, withFileSlot } from '../../src/files/file-slots.ts';

const slots = countThreads(process.env['UV_THREADPOOL_SIZE']) - 1;

/** A pipe, and the function that ends what waits for its writer. */
function makePipe(): { path: string; release: () => void } {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-slots-'));
  const path = join(folder, 'pipe');
  execFileSync('mkfifo', [path]);
  const release = (): void => closeSync(openSync(path, constants.O_RDWR));
  onTestFinished(() => {
    release();
    rmSync(folder, { recursive: true });
  });
  return { path, release };
}

/** Opens and closes it, which hangs for as long as nothing writes to it. */
async function openAndClose(path: string): Promise<string> {
  await (await open(path, 'r')).close();
  return 'opened';
}

test.each([
  [undefined, 4],
  ['1', 1],
  ['16', 16],
  ['8 threads', 8],
  ['0', 1],
  ['many', 1],
  ['-1', 1024],
  ['5000', 1024],
])('UV_THREADPOOL_SIZE=%s means %i threads', (size, threads) => {
  expect(countThreads(size)).toBe(threads);
});

test('calls that hang leave a thread to others, are given up in time, and have their slots until they end', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const pipe = makePipe();
  const hanging = Array.from({ length: slots }, () => withFileSlot(pipe.path, () => openAndClose(pipe.path)));
  const work = vi.fn(() => Promise.resolve('done'));
  const stop = new AbortController();
  const stopped = withFileSlot('/one', work, { signal: stop.signal });
  const waiting = withFileSlot('/two', work);
  stop.abort(new Error('stopped'));
  await expect(stopped).rejects.toThrow('stopped');
  // A thread is free.
  expect(await readFile(import.meta.filename, 'utf8')).toContain('A thread is free.');
  expect(longestFileCall()).toEqual({ path: pipe.path, ms: expect.any(Number) });

  const ends = Promise.allSettled([...hanging, waiting]);
  vi.advanceTimersByTime(60_000);
  for (const end of await ends) expect(end).toMatchObject({ reason: { code: 'file_system_hangs' } });
  expect(longestFileCall()?.path).toBe(pipe.path);
  const later = withFileSlot('/three', work);
  vi.advanceTimersByTime(60_000);
  await expect(later).rejects.toBeInstanceOf(FileSystemHangsError);
  expect(work).not.toHaveBeenCalled();

  const last = withFileSlot('/four', work);
  pipe.release();
  await expect(last).resolves.toBe('done');
  await expect.poll(() => longestFileCall()).toBeNull();
});

test('a call that is stopped while it hangs is left at once', async () => {
  const pipe = makePipe();
  const stop = new AbortController();
  const call = withFileSlot(pipe.path, () => openAndClose(pipe.path), { signal: stop.signal });
  stop.abort(new Error('stopped'));
  await expect(call).rejects.toThrow('stopped');
});

test('what a call opens is closed if its caller has left, at whichever moment, and only then', async () => {
  for (let ticks = 0; ticks < 12; ticks += 1) {
    const { promise, resolve } = Promise.withResolvers<string>();
    const stop = new AbortController();
    const close = vi.fn();
    const call = withFileSlot('/opened', () => promise, { signal: stop.signal, close });
    resolve('opened');
    for (let tick = 0; tick < ticks; tick += 1) await Promise.resolve();
    stop.abort(new Error('stopped'));
    const hasLeft = await call.then(
      () => false,
      () => true,
    );
    await setImmediate();
    expect(close.mock.calls).toEqual(hasLeft ? [['opened']] : []);
  }
  const stop = new AbortController();
  const close = vi.fn();
  const pipe = makePipe();
  const begun = Promise.withResolvers<void>();
  const open = (): Promise<string> => {
    begun.resolve();
    return openAndClose(pipe.path);
  };
  const call = withFileSlot(pipe.path, open, { signal: stop.signal, close });
  call.catch(() => undefined);
  await begun.promise;
  stop.abort(new Error('stopped'));
  await expect(call).rejects.toThrow('stopped');
  // Again and again: the first time, the thread that opens it may not have come so far.
  await expect
    .poll(() => {
      pipe.release();
      return close.mock.calls;
    })
    .toEqual([['opened']]);
});

test('a caller that is stopped just as it gets a slot keeps no other caller waiting', async () => {
  for (let ticks = 0; ticks < 12; ticks += 1) {
    const { promise, resolve } = Promise.withResolvers<void>();
    const before = Array.from({ length: slots }, () => withFileSlot('/before', () => promise));
    const stop = new AbortController();
    const work = vi.fn(() => Promise.resolve());
    const stopped = withFileSlot('/stopped', work, { signal: stop.signal }).catch(() => undefined);
    const next = withFileSlot('/next', () => Promise.resolve('next'));
    resolve();
    for (let tick = 0; tick < ticks; tick += 1) await Promise.resolve();
    stop.abort();
    await Promise.all([...before, stopped]);
    await expect(next).resolves.toBe('next');
  }
});
