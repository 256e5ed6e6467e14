// Slots for the file calls that are made for agents. Such a call occupies a thread of Node until
// the file system answers, and Node has few of them: if all of them wait for a file system that
// hangs (NFS without its server, FUSE), nothing in the process reads a file or resolves a name any
// more. So these calls leave one thread free (unless there is only one), and no caller waits for a
// file system without a limit.
import { processEnvironment } from '../config/process-environment.ts';
import { orAborted, withDeadline } from '../clock.ts';
import { Gate } from '../gate.ts';

/** How long a caller waits for a slot and the end of its call together. */
const CALL_MS_MAX = 15_000;

/**
 * A file call did not end, or did not begin, in time. Trying again later may succeed, in this
 * process or in another one.
 */
export class FileSystemHangsError extends Error {
  readonly code = 'file_system_hangs';
  override readonly name = 'FileSystemHangsError';

  constructor() {
    super(
      `The file system has not answered for ${CALL_MS_MAX / 1000} s. Try again later. An operator finds the folder with "holdfast attention list", and checks its mount: the server of an NFS mount, or the process that serves a FUSE mount.`,
    );
  }
}

interface FileCall {
  path: string;
  sinceMs: number;
}

/** The running calls, in the order in which they began. */
const running = new Set<FileCall>();
let slots: Gate | undefined;

/**
 * The result of `work`, which has a slot while it runs; others wait in their order. `path` is what
 * it works on, for people. Rejects with the signal's reason when that aborts, and with
 * `FileSystemHangsError` after CALL_MS_MAX. Work that is left so keeps its slot until it ends,
 * because its thread is not free before. What it has opened by then is given to `close`.
 *
 * `work` must be short, such as to open, read and close one file, and must not ask for another
 * slot: it would wait for itself.
 */
export async function withFileSlot<Result>(
  path: string,
  work: () => Promise<Result>,
  { signal, close }: { signal?: AbortSignal | undefined; close?: ((result: Result) => unknown) | undefined } = {},
): Promise<Result> {
  slots ??= new Gate(Math.max(1, countThreads(processEnvironment()['UV_THREADPOOL_SIZE']) - 1));
  const gate = slots;
  let running: Promise<Result> | undefined;
  try {
    return await withDeadline({ ms: CALL_MS_MAX, late: () => new FileSystemHangsError() }, (late) => {
      const left = signal === undefined ? late : AbortSignal.any([signal, late]);
      return orAborted(left, () => (running = gate.run(() => run(path, work), left)));
    });
  } catch (error) {
    // It may have ended at the same time.
    if (close !== undefined) running?.then(close).catch(() => undefined);
    throw error;
  }
}

/** The call that has been running longest; null: none runs. */
export function longestFileCall(): { path: string; ms: number } | null {
  const [first] = running;
  return first === undefined ? null : { path: first.path, ms: performance.now() - first.sinceMs };
}

async function run<Result>(path: string, work: () => Promise<Result>): Promise<Result> {
  const call = { path, sinceMs: performance.now() };
  running.add(call);
  try {
    return await work();
  } finally {
    running.delete(call);
  }
}

/**
 * The threads that Node has for file calls, by the rules of libuv: it reads leading digits, 0 means
 * 1, and a negative number the most.
 */
export function countThreads(size: string | undefined): number {
  if (size === undefined) return 4;
  const count = Number.parseInt(size, 10) || 0;
  return count < 0 ? THREADS_MAX : Math.min(Math.max(count, 1), THREADS_MAX);
}

const THREADS_MAX = 1024;
