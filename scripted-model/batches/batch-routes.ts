// The routes of message batches: `/v1/messages/batches` as the API has it, and `/batches` for
// tests.
import type { ServerResponse } from 'node:http';
import { ProviderError } from '../provider-error.ts';
import { readFaults } from './batch-faults.ts';
import { shownBatch } from './message-batch.ts';
import type { MessageBatches } from './message-batches.ts';
import { validateBatch } from './validate-batch.ts';

export interface BatchCall {
  method: string;
  /** The path after `/v1/messages/batches`. */
  rest: string;
  query: URLSearchParams;
  /** The address of this server, as the caller wrote it. */
  url: string;
  response: ServerResponse;
  requestId: string;
  /** The body, parsed. Throws `ProviderError`. */
  body: () => unknown;
}

/** Answers a call. Throws `ProviderError`. */
export function answerBatches(batches: MessageBatches, call: BatchCall): void {
  const { method, rest, response } = call;
  response.setHeader('request-id', call.requestId);
  response.setHeader('date', new Date(batches.nowMs()).toUTCString());
  const [, id = '', action = ''] = /^(?:\/([^/]+))?(?:\/([^/]+))?$/.exec(rest) ?? [];
  const route = `${method} ${id === '' ? '' : '{id}'}${action === '' ? '' : `/${action}`}`.trim();
  switch (route) {
    case 'POST':
      return create(batches, call);
    case 'GET':
      return sendJson(response, batches.list(call.query, call.url));
    case 'GET {id}':
      return sendJson(response, shownBatch(batches.get(id), call.url));
    case 'GET {id}/results':
      return sendResults(batches, id, response);
    case 'POST {id}/cancel':
      return sendJson(response, shownBatch(batches.cancel(id), call.url));
    case 'DELETE {id}':
      batches.delete(id);
      return sendJson(response, { id, type: 'message_batch_deleted' });
    default:
      throw new ProviderError({ status: 404, message: 'Not found' });
  }
}

/** What tests set and see: faults, and the batches. */
export function answerControl(batches: MessageBatches, { method, response, body }: BatchCall): void {
  if (method === 'PUT') batches.faults = readFaults(body());
  sendJson(response, { faults: batches.faults, batches: batches.records });
}

function create(batches: MessageBatches, { response, url, body }: BatchCall): void {
  const { faults } = batches;
  if (faults.refusals > 0) {
    faults.refusals -= 1;
    const retryAfter = faults.retryAfter === null ? null : String(faults.retryAfter);
    throw new ProviderError({
      status: faults.refuseStatus,
      message: `Refused with ${faults.refuseStatus}`,
      retryAfter,
    });
  }
  const batch = batches.create(validateBatch(body()));
  const text = JSON.stringify(shownBatch(batch, url));
  if (faults.cutAnswers === 0) return sendText(response, text);
  faults.cutAnswers -= 1;
  cutAfter(response, text, faults.cutAfterBytes);
}

function sendResults(batches: MessageBatches, id: string, response: ServerResponse): void {
  const { lines, status } = batches.get(id);
  const { faults } = batches;
  if (status !== 'ended' || faults.areResultsGone)
    throw new ProviderError({ status: 404, message: `Results of ${id} are not available.` });
  const text = lines.map((line) => `${line}\n`).join('');
  response.setHeader('content-type', 'application/x-jsonl');
  if (faults.brokenResults === 0) {
    response.writeHead(200).end(text);
    return;
  }
  faults.brokenResults -= 1;
  cutAfter(response, text, Math.floor(Buffer.byteLength(text) / 2));
}

/** Sends this many bytes and breaks the connection; with 0, not even the status. */
function cutAfter(response: ServerResponse, text: string, bytes: number): void {
  if (bytes === 0) {
    response.destroy();
    return;
  }
  const whole = Buffer.from(text);
  response.writeHead(200, { 'content-length': whole.length });
  response.write(whole.subarray(0, bytes), () => response.destroy());
}

function sendJson(response: ServerResponse, body: unknown): void {
  sendText(response, JSON.stringify(body));
}

function sendText(response: ServerResponse, text: string): void {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }).end(text);
}
