// Extracts the content of a web page in a worker thread, bounded in time, memory and number: see extract-page-thread.ts.
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { PageExtraction, ReadPage } from './extract-page-thread.ts';

/** A page is too large or too strange to be read. */
export class PageUnreadableError extends Error {
  readonly code = 'page_unreadable';
  constructor(reason: string, cause?: unknown) {
    super(`the page cannot be read: ${reason}`, { cause });
    this.name = 'PageUnreadableError';
  }
}

const THREADS_MAX = 2;
const WAITING_MAX = 50;
const HEAP_MB_MAX = 256;
const READ_MS_MAX = 10_000;

let running = 0;
const waiting: (() => void)[] = [];

/** The title and the content of a page. Throws `PageUnreadableError`, or the signal's reason. */
export async function extractPage(
  page: PageExtraction,
  signal: AbortSignal,
  readMsMax = READ_MS_MAX,
): Promise<ReadPage> {
  await enter(signal);
  try {
    return await read(page, signal, readMsMax);
  } finally {
    leave();
  }
}

/** Waits until a thread may be started, and counts it. */
async function enter(signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  if (running < THREADS_MAX) {
    running += 1;
    return;
  }
  if (waiting.length >= WAITING_MAX) throw new PageUnreadableError('too many pages are being read');
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const giveUp = (): void => {
    waiting.splice(waiting.indexOf(go), 1);
    reject(signal.reason);
  };
  const go = (): void => {
    signal.removeEventListener('abort', giveUp);
    resolve();
  };
  waiting.push(go);
  signal.addEventListener('abort', giveUp, { once: true });
  await promise;
}

/** Passes the slot to the caller that has waited longest, or frees it. */
function leave(): void {
  const next = waiting.shift();
  if (next === undefined) running -= 1;
  else next();
}

async function read(page: PageExtraction, signal: AbortSignal, readMsMax: number): Promise<ReadPage> {
  const thread = new Worker(new URL(`./extract-page-thread${extname(import.meta.url)}`, import.meta.url), {
    workerData: page,
    // Nothing of this process is any of its business.
    env: {},
    argv: [],
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MB_MAX },
    stdout: true,
    stderr: true,
  });
  const { promise, resolve, reject } = Promise.withResolvers<ReadPage>();
  thread.on('message', resolve);
  thread.on('error', (error) => reject(new PageUnreadableError(error.message, error)));
  thread.on('exit', () => reject(new PageUnreadableError('its reader process ended without an answer')));
  const timer = setTimeout(
    () => reject(new PageUnreadableError(`it takes longer than ${readMsMax / 1000} s`)),
    readMsMax,
  );
  const onAbort = (): void => reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
    await thread.terminate();
  }
}
