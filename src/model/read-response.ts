// Reads the body of a successful response: as a stream of events, or as one answer. Both end as events, and both let the connection go
// back to its pool.
import { StringDecoder } from 'node:string_decoder';
import { EventFrames } from '../core/stream/event-frames.ts';
import { eventsOfBody, parseStreamEvent } from '../core/stream/stream-event.ts';
import type { Incoming } from './connections.ts';
import { ModelError } from './model.ts';
import type { TransportCall } from './transport.ts';

type Reader = Pick<TransportCall, 'onBytes' | 'onEvent' | 'signal'>;

/** How long a connection may stay open after the answer is complete before it is ended from here. */
const AFTER_STOP_MS_MAX = 1000;

/** Reads a stream of events until the answer is complete. Rejects with `ModelError`, `StreamFault`, or with anything after an abort. */
export function readEvents(incoming: Incoming, { onBytes, onEvent, signal }: Reader): Promise<void> {
  checkType(incoming, 'text/event-stream');
  const frames = new EventFrames();
  let isComplete = false;
  return readTexts(incoming, {
    onBytes,
    onText(text) {
      if (isComplete || signal.aborted) return;
      for (const data of frames.push(text)) {
        isComplete ||= onEvent(parseStreamEvent(data));
      }
      return isComplete;
    },
    onEnd: () => isComplete,
  });
}

/** Reads an answer that comes as one body. Rejects as `readEvents` does. */
export function readWhole(incoming: Incoming, { onBytes, onEvent, signal }: Reader): Promise<void> {
  checkType(incoming, 'application/json');
  const texts: string[] = [];
  return readTexts(incoming, {
    onBytes,
    onText: (text) => void texts.push(text),
    onEnd() {
      if (!incoming.complete || signal.aborted) return false;
      return eventsOfBody(parseBody(texts.join(''))).some(onEvent);
    },
  });
}

interface TextReader {
  onBytes: (count: number) => void;
  /** Answers true when nothing more is needed. What it throws ends the reading. */
  onText: (text: string) => boolean | void;
  /** The body has ended; answers whether that was all of it. */
  onEnd: () => boolean;
}

function readTexts(incoming: Incoming, { onBytes, onText, onEnd }: TextReader): Promise<void> {
  const decoder = new StringDecoder('utf8');
  let hasFailed = false;
  return new Promise((resolve, reject) => {
    const attempt = (read: () => void): void => {
      if (hasFailed) return;
      try {
        read();
      } catch (error) {
        hasFailed = true;
        incoming.destroy();
        reject(error);
      }
    };
    incoming.on('data', (chunk: Buffer) =>
      attempt(() => {
        onBytes(chunk.length);
        if (onText(decoder.write(chunk)) !== true) return;
        resolve();
        releaseConnection(incoming);
      }),
    );
    incoming.on('error', (cause) =>
      reject(streamError('cut_stream', 'The connection closed before the stream ended.', cause)),
    );
    incoming.on('close', () =>
      attempt(() => {
        if (onEnd()) resolve();
        else reject(streamError('cut_stream', 'The stream ended before the message was complete.'));
      }),
    );
  });
}

/** Throws `ModelError` when an answer is not of the expected type, or ends before it was read. */
function checkType(incoming: Incoming, type: string): void {
  const contentType = incoming.headers['content-type'] ?? '';
  if (!contentType.startsWith(type)) {
    incoming.destroy();
    throw streamError('malformed_stream', `The answer is not ${type} but "${contentType}".`);
  }
  if (incoming.destroyed) throw streamError('cut_stream', 'The connection closed before the stream began.');
}

/** Lets the connection go back to the pool when the provider ends the response, and ends it when the provider does not. */
function releaseConnection(incoming: Incoming): void {
  if (incoming.complete) return;
  const timer = setTimeout(() => incoming.destroy(), AFTER_STOP_MS_MAX);
  timer.unref();
  incoming.once('close', () => clearTimeout(timer));
}

function parseBody(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw streamError('malformed_stream', `The answer is not JSON: ${text.slice(0, 200)}`, cause);
  }
}

function streamError(type: 'cut_stream' | 'malformed_stream', message: string, cause?: unknown): ModelError {
  return new ModelError({ type, status: null, retryAfterMs: null, message, cause });
}
