// Sends an answer as a stream of events, which its wire writes. Broken answers (cut, silent, an
// error after some events) are broken here. Without a delay between events, the whole stream is one
// write.
import type { ServerResponse } from 'node:http';
import type { ComposedAnswer } from './compose-answer.ts';
import { ProviderError } from './provider-error.ts';
import type { ScriptFault } from './parse-script.ts';
import type { Exchange, ModelWire } from './wires/model-wire.ts';

/** A text is sent in pieces of this many characters, and in at most this many pieces. */
const PIECE_CHARS = 40;
const PIECES_MAX = 32;

/** Called with the number of each event of a slow stream, from 0, before it is sent. */
export type BeforeEvent = (event: number) => Promise<void> | void;

/** The error that a script asks for, in the words of a wire where the script gives none. */
export function scriptedError(fault: ScriptFault & { kind: 'error' }, wire: ModelWire, model: string): ProviderError {
  return new ProviderError({ ...fault, message: fault.message ?? wire.messageOf(fault, model) });
}

interface StreamParts {
  wire: ModelWire;
  requestId: string;
  exchange: Exchange;
  beforeEvent: BeforeEvent;
}

/**
 * Streams an answer into a response that has sent nothing yet. Resolves when everything that the
 * script wants is sent: for a stalled stream that is before its end. Stops without an error when
 * the caller hangs up.
 */
export async function streamAnswer(
  response: ServerResponse,
  answer: ComposedAnswer,
  { wire, requestId, exchange, beforeEvent }: StreamParts,
): Promise<void> {
  const { slowMs } = answer;
  // Faults of message batches are for requests of a batch.
  const fault = answer.fault?.kind === 'batch' ? null : answer.fault;
  if (fault?.kind === 'cut' && fault.after === 0) {
    response.destroy();
    return;
  }
  const frames = wire.frames(answer, exchange);
  const sent = fault ? frames.slice(0, fault.after ?? 0) : frames;
  if (fault?.kind === 'error')
    sent.push(wire.errorFrame(scriptedError(fault, wire, answer.model), { requestId, answer, index: sent.length }));
  const isWhole = !fault || fault.kind === 'error';
  const headers = {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache',
    'request-id': requestId,
    'x-request-id': requestId,
  };
  if (slowMs === 0 && isWhole) {
    const body = sent.join('');
    response.writeHead(200, { ...headers, 'content-length': Buffer.byteLength(body) }).end(body);
    return;
  }
  response.writeHead(200, headers);
  response.flushHeaders();
  for (const [event, frame] of (slowMs === 0 ? [sent.join('')] : sent).entries()) {
    if (slowMs > 0) await beforeEvent(event);
    await written(response, frame);
    if (slowMs > 0) await pause(response, slowMs);
    if (response.destroyed) return;
  }
  if (isWhole) response.end();
  // The socket, so that the stream breaks instead of ending.
  else if (fault.kind === 'cut') response.destroy();
}

/** Waits, but only until the caller disconnects or the server closes. */
export function pause(response: ServerResponse, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      response.off('close', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    response.on('close', end);
  });
}

function written(response: ServerResponse, data: string): Promise<void> {
  return new Promise((resolve) => {
    if (data === '' || response.destroyed) resolve();
    else response.write(data, () => resolve());
  });
}

/** The deltas of a text. */
export function pieces(text: string): string[] {
  const size = Math.max(PIECE_CHARS, Math.ceil(text.length / PIECES_MAX));
  const parts: string[] = [];
  let from = 0;
  while (from < text.length) {
    let to = from + size;
    // Half a surrogate pair has no UTF-8.
    const unit = text.charCodeAt(to - 1);
    if (unit >= 0xd800 && unit <= 0xdbff) to += 1;
    parts.push(text.slice(from, to));
    from = to;
  }
  return parts;
}
