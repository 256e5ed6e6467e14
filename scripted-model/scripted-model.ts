// The scripted model server: speaks Anthropic's Messages API on a local port, so that the same client and the same loop
// run without a key as with one. The user's text decides what it answers (README.md describes the directives). It also shows what it
// received: `GET /requests?turn=&session=` and `DELETE /requests`. It accepts any key, and keeps nothing on disk.
import { randomBytes } from 'node:crypto';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { performance } from 'node:perf_hooks';
import { KNOWN_MODELS } from '../src/core/models.ts';
import { parseJson, readBody } from './read-body.ts';
import { createRequestAnswering } from './batches/answer-request.ts';
import { answerBatches, answerControl, type BatchCall } from './batches/batch-routes.ts';
import { MessageBatches } from './batches/message-batches.ts';
import { PromptCache } from './cache-figures.ts';
import { composeAnswer } from './compose-answer.ts';
import { errorBody, ProviderError } from './provider-error.ts';
import type { RecordedRequest } from './request-log.ts';
import { RequestLog } from './request-log.ts';
import { ScriptMemory } from './script-memory.ts';
import { messageBody, pause, scriptedError, streamAnswer } from './stream-answer.ts';
import { validateCountRequest, validateRequest } from './validate-request.ts';

export interface ScriptedModelOptions {
  /** 0 or absent: any free port. */
  port?: number;
  /** Where it listens; absent: loopback only. */
  host?: string;
  /** How many of the latest requests are remembered, and how many characters of them; absent: 200 and 16 million. */
  recordedRequestsMax?: number;
  recordedCharsMax?: number;
  /** The context window; a longer prompt is refused as the API refuses it. Absent: a million tokens. */
  contextTokens?: number;
  /** How long a message batch takes, in milliseconds; absent: a second. */
  batchDelayMs?: number;
  /** The part of cached prefixes that a batch finds in the cache, 0 to 1; absent: as with live calls. */
  batchCacheHits?: number;
  /** Called with each request before it is answered. Must not throw. */
  onRequest?: (request: RecordedRequest) => void;
}

export interface ScriptedModel {
  /** The base address for a client: `http://127.0.0.1:4000`. */
  readonly url: string;
  readonly port: number;
  /** The latest requests for a model's answer, oldest first. */
  readonly requests: RecordedRequest[];
  /** How many there were since the start. */
  readonly requestCount: number;
  /** Its message batches, and the faults that they meet. */
  readonly batches: Pick<MessageBatches, 'faults' | 'records'>;
  /** Stops immediately: open calls are cut. */
  close(): Promise<void>;
}

/** The largest body the API takes. */
const BODY_BYTES_MAX = 32 * 1024 * 1024;
/** The largest body of a message batch. */
const BATCH_BYTES_MAX = 256 * 1024 * 1024;
const BATCH_DELAY_MS = 1000;
const BATCHES_PATH = '/v1/messages/batches';
const MODELS = [...Object.keys(KNOWN_MODELS), 'scripted-1'];

/** The state of one server. */
interface Server {
  log: RequestLog;
  batches: MessageBatches;
  cache: PromptCache;
  memory: ScriptMemory;
  newId: (prefix: string) => string;
  contextTokens: number;
  onRequest: (request: RecordedRequest) => void;
}

/** Starts a scripted model; fulfils when it listens, rejects with the socket's error when it cannot. */
export async function startScriptedModel(options: ScriptedModelOptions = {}): Promise<ScriptedModel> {
  const { port = 0, host = '127.0.0.1' } = options;
  const server = createServer(options);
  // Clients keep their connections; ending idle ones in a hurry only makes them collide with the next call.
  const listener = http.createServer({ keepAliveTimeout: 120_000 }, (request, response) => {
    void handle(server, request, response);
  });
  await new Promise<void>((resolve, reject) => {
    listener.once('error', reject);
    listener.listen(port, host, resolve);
  });
  // A listening TCP server has an address of this form.
  const address = listener.address() as AddressInfo;
  const name = address.family === 'IPv6' ? `[${address.address}]` : address.address;
  return {
    url: `http://${name}:${address.port}`,
    port: address.port,
    get requests() {
      return server.log.requests;
    },
    get requestCount() {
      return server.log.count;
    },
    batches: server.batches,
    close: () =>
      new Promise((resolve) => {
        server.batches.close();
        listener.close(() => resolve());
        listener.closeAllConnections();
      }),
  };
}

function createServer(options: ScriptedModelOptions): Server {
  const log = new RequestLog({
    requestsMax: options.recordedRequestsMax ?? 200,
    charsMax: options.recordedCharsMax ?? 16 * 1024 * 1024,
  });
  const parts = {
    cache: new PromptCache(() => performance.now()),
    memory: new ScriptMemory(),
    newId: createIds(),
    contextTokens: options.contextTokens ?? 1_000_000,
  };
  const answerRequest = createRequestAnswering({ ...parts, cacheHits: options.batchCacheHits ?? null });
  const batches = new MessageBatches({
    delayMs: options.batchDelayMs ?? BATCH_DELAY_MS,
    newId: parts.newId,
    answer: ({ custom_id: customId, params }, batchId) => {
      const record = log.add({
        receivedAt: new Date().toISOString(),
        method: 'POST',
        path: `/v1/messages/batches/${batchId}`,
        headers: { 'custom-id': customId },
        text: JSON.stringify(params),
      });
      const result = answerRequest(params);
      record.status = result?.type === 'succeeded' ? 200 : 400;
      return result;
    },
  });
  return { ...parts, log, batches, onRequest: options.onRequest ?? (() => {}) };
}

async function handle(server: Server, request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
  const requestId = server.newId('req_');
  response.on('error', () => {});
  try {
    const isBatch = request.url?.startsWith(BATCHES_PATH) === true;
    const text = await readBody(request, isBatch ? BATCH_BYTES_MAX : BODY_BYTES_MAX);
    if (text !== null) await route(server, { request, response, requestId, text });
  } catch (error) {
    if (response.headersSent) response.destroy();
    else sendError(response, toProviderError(error), requestId);
  }
}

interface Call {
  request: http.IncomingMessage;
  response: http.ServerResponse;
  requestId: string;
  text: string;
}

async function route(server: Server, call: Call): Promise<void> {
  const { response, requestId } = call;
  const { pathname, searchParams } = new URL(call.request.url ?? '/', 'http://scripted');
  if (pathname.startsWith(BATCHES_PATH)) return answerBatches(server.batches, batchCall(call, pathname, searchParams));
  switch (`${call.request.method} ${pathname}`) {
    case 'POST /v1/messages':
      return answerMessages(server, call);
    case 'POST /v1/messages/count_tokens': {
      const inputTokens = server.cache.count(validateCountRequest(parseJson(call.text)));
      return sendJson(response, 200, JSON.stringify({ input_tokens: inputTokens }), requestId);
    }
    case 'GET /v1/models':
      return sendJson(response, 200, JSON.stringify(modelList()), requestId);
    case 'GET /requests':
      return sendJson(response, 200, JSON.stringify(shownRequests(server.log, searchParams)), requestId);
    case 'GET /batches':
    case 'PUT /batches':
      return answerControl(server.batches, batchCall(call, pathname, searchParams));
    case 'DELETE /requests':
      server.log.clear();
      response.writeHead(204).end();
      return;
    default:
      throw new ProviderError({ status: 404, message: 'Not found' });
  }
}

function batchCall({ request, response, requestId, text }: Call, pathname: string, query: URLSearchParams): BatchCall {
  return {
    method: request.method ?? '',
    rest: pathname.slice(BATCHES_PATH.length),
    query,
    url: `http://${request.headers.host ?? 'scripted'}`,
    response,
    requestId,
    body: () => parseJson(text),
  };
}

async function answerMessages(server: Server, call: Call): Promise<void> {
  const record = server.log.add({
    receivedAt: new Date().toISOString(),
    method: 'POST',
    path: '/v1/messages',
    headers: auditHeadersOf(call.request.headers),
    text: call.text,
  });
  server.onRequest(record);
  try {
    record.status = await answer(server, call, record);
  } catch (error) {
    const refusal = toProviderError(error);
    record.status = refusal.status;
    throw refusal;
  }
}

/** Answers a call for a message; returns the status that it got, null when it got none. Throws `ProviderError` for an error. */
async function answer(server: Server, call: Call, record: RecordedRequest): Promise<number | null> {
  const { response, requestId } = call;
  const { headers } = record;
  const request = validateRequest(parseJson(call.text));
  const composed = composeAnswer(request, {
    turn: headers['x-holdfast-turn'] ?? headers['x-holdfast-session'] ?? '',
    figures: server.cache.measure(request),
    memory: server.memory,
    newId: server.newId,
    contextTokens: server.contextTokens,
  });
  if (composed.delayMs > 0) await pause(response, composed.delayMs);
  if (response.destroyed) return null;
  const { fault } = composed;
  if (fault === null) record.usage = composed.usage;
  if (fault?.kind === 'error' && fault.after === null) throw scriptedError(fault);
  if (request.stream === true) await streamAnswer(response, composed, requestId);
  else if (fault?.kind === 'cut') response.destroy();
  else if (fault?.kind !== 'stall') sendJson(response, 200, messageBody(composed), requestId);
  return response.headersSent ? 200 : null;
}

function auditHeadersOf(headers: http.IncomingHttpHeaders): Record<string, string> {
  const audit: Record<string, string> = {};
  for (const name in headers) {
    const value = headers[name];
    if (name.startsWith('x-holdfast-') && typeof value === 'string') audit[name] = value;
  }
  return audit;
}

function shownRequests(log: RequestLog, filter: URLSearchParams): unknown {
  const turn = filter.get('turn');
  const session = filter.get('session');
  const requests = log.requests.filter(
    ({ headers }) =>
      (turn === null || headers['x-holdfast-turn'] === turn) &&
      (session === null || headers['x-holdfast-session'] === session),
  );
  return { requests, count: log.count };
}

function modelList(): unknown {
  const data = MODELS.map((id) => ({ type: 'model', id, display_name: id, created_at: '2025-09-29T00:00:00Z' }));
  return { data, has_more: false, first_id: MODELS[0], last_id: MODELS.at(-1) };
}

function toProviderError(error: unknown): ProviderError {
  if (error instanceof ProviderError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new ProviderError({ status: 500, message: `Scripted model: ${message}` });
}

function sendError(response: http.ServerResponse, error: ProviderError, requestId: string): void {
  if (error.retryAfter !== null) response.setHeader('retry-after', error.retryAfter);
  sendJson(response, error.status, errorBody(error, requestId), requestId);
}

function sendJson(response: http.ServerResponse, status: number, body: string, requestId: string): void {
  response
    .writeHead(status, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      'request-id': requestId,
    })
    .end(body);
}

/** Ids that look like the API's and never repeat, on this server or another. */
function createIds(): (prefix: string) => string {
  const origin = randomBytes(9).toString('hex');
  let count = 0;
  return (prefix) => `${prefix}01${origin}${(count += 1).toString(36).padStart(5, '0')}`;
}
