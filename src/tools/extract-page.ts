// Extracts the content of a web page in a worker thread, bounded in time, memory and number: see extract-page-thread.ts.
import { once } from 'node:events';
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { orAborted, withDeadline } from '../clock.ts';
import { Gate } from '../gate.ts';
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

const gate = new Gate(THREADS_MAX);

/** The title and the content of a page. Throws `PageUnreadableError`, or the signal's reason. */
export async function extractPage(page: PageExtraction, signal: AbortSignal): Promise<ReadPage> {
  if (gate.waitingCount >= WAITING_MAX) throw new PageUnreadableError('too many pages are being read');
  return await gate.run(() => read(page, signal), signal);
}

async function read(page: PageExtraction, signal: AbortSignal): Promise<ReadPage> {
  signal.throwIfAborted();
  const thread = new Worker(new URL(`./extract-page-thread${extname(import.meta.url)}`, import.meta.url), {
    workerData: page,
    // Nothing of this process is any of its business.
    env: {},
    argv: [],
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MB_MAX },
    stdout: true,
    stderr: true,
  });
  const posted = once(thread, 'message') as Promise<[ReadPage]>;
  const ended = once(thread, 'exit').then(() => {
    throw new Error('its reader process ended without an answer');
  });
  const late = (): Error => new Error(`it takes longer than ${READ_MS_MAX / 1000} s`);
  try {
    const answer = () => Promise.race([posted, ended]);
    const [found] = await orAborted(signal, () => withDeadline({ ms: READ_MS_MAX, late }, answer));
    return found;
  } catch (error) {
    signal.throwIfAborted();
    throw new PageUnreadableError((error as Error).message, error);
  } finally {
    await thread.terminate();
  }
}
