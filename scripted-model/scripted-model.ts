// The scripted model server: speaks Anthropic's Messages API and the wires of other providers on a
// local port, so that the same client and the same loop run without a key as with one. The user's
// text decides what it answers (README.md describes the directives). It also shows what it
// received: `GET /requests?turn=&session=` and `DELETE /requests`. It accepts any key, and keeps
// nothing on disk.
import { randomBytes } from 'node:crypto';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { performance } from 'node:perf_hooks';
import {
  answerModelCall,
  refuseKey,
  sendError,
  sendJson,
  toProviderError,
  wireOf,
  type Call,
  type CallParts,
} from './answer-call.ts';
import { answerMediaCall } from './answer-media.ts';
import { parseJson, readBody } from './read-body.ts';
import { createRequestAnswering } from './batches/answer-request.ts';
import { answerBatches, answerControl, type BatchCall } from './batches/batch-routes.ts';
import { MessageBatches } from './batches/message-batches.ts';
import { PromptCache } from './cache-figures.ts';
import { geminiModelList, modelList } from './model-list.ts';
import { ProviderError } from './provider-error.ts';
import type { RecordedRequest } from './request-log.ts';
import { RequestLog } from './request-log.ts';
import { ScriptMemory } from './script-memory.ts';
import type { BeforeEvent } from './stream-answer.ts';
import { validateCountRequest } from './validate-request.ts';
import { GEMINI_WIRE } from './wires/gemini-wire.ts';
import { MESSAGES_WIRE } from './wires/messages-wire.ts';

export interface ScriptedModelOptions {
  /** 0 or absent: any free port. */
  port?: number;
  /** Where it listens; absent: loopback only. */
  host?: string;
  /**
   * How many of the latest requests are remembered, and how many characters of them; absent: 200
   * and 16 million.
   */
  recordedRequestsMax?: number;
  recordedCharsMax?: number;
  /**
   * The context window; a longer prompt is refused as the API refuses it. Absent: a million tokens.
   */
  contextTokens?: number;
  /** How long a message batch takes, in milliseconds; absent: a second. */
  batchDelayMs?: number;
  /**
   * The part of cached prefixes that a batch finds in the cache, 0 to 1; absent: as with live
   * calls.
   */
  batchCacheHits?: number;
  /**
   * True: it makes every tool call that any part of a request writes as a directive, also the
   * results of tools.
   */
  isObedient?: boolean;
  /** Called with each request before it is answered. Must not throw. */
  onRequest?: (request: RecordedRequest) => void;
  /**
   * Awaited before each event, counted from 0, of an answer that is sent slowly (`[[slow: ...]]`):
   * a test can hold it there. Must not reject.
   */
  beforeEvent?: BeforeEvent;
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

/** The state of one server. */
interface Server extends CallParts {
  batches: MessageBatches;
}

/**
 * Starts a scripted model; fulfils when it listens, rejects with the socket's error when it cannot.
 */
export async function startScriptedModel(options: ScriptedModelOptions = {}): Promise<ScriptedModel> {
  const { port = 0, host = '127.0.0.1' } = options;
  const server = createServer(options);
  // Clients keep their connections; ending idle ones in a hurry only makes them collide with the
  // next call.
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
    isObedient: options.isObedient ?? false,
  };
  const answerRequest = createRequestAnswering({
    ...parts,
    ...MESSAGES_WIRE,
    cacheHits: options.batchCacheHits ?? null,
  });
  const batches = new MessageBatches({
    delayMs: options.batchDelayMs ?? BATCH_DELAY_MS,
    newId: parts.newId,
    answer: ({ custom_id: customId, params }, batchId) => {
      const record = log.add({
        receivedAt: new Date().toISOString(),
        method: 'POST',
        path: `/v1/messages/batches/${batchId}`,
        headers: { 'custom-id': customId },
        keyId: '',
        text: JSON.stringify(params),
      });
      const result = answerRequest(params);
      record.status = result?.type === 'succeeded' ? 200 : 400;
      return result;
    },
  });
  const { onRequest = () => {}, beforeEvent = () => {} } = options;
  return { ...parts, log, batches, onRequest, beforeEvent };
}

async function handle(server: Server, request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
  const requestId = server.newId('req_');
  const wire = wireOf(request);
  response.on('error', () => {});
  try {
    const isBatch = request.url?.startsWith(BATCHES_PATH) === true;
    const bytes = await readBody(request, isBatch ? BATCH_BYTES_MAX : BODY_BYTES_MAX);
    if (bytes !== null) await route(server, { request, response, requestId, bytes, text: bytes.toString(), wire });
  } catch (error) {
    if (response.headersSent) response.destroy();
    else sendError(toProviderError(error), { response, requestId, wire });
  }
}

async function route(server: Server, call: Call): Promise<void> {
  const { response, requestId } = call;
  const { pathname, searchParams } = new URL(call.request.url ?? '/', 'http://scripted');
  if (pathname.startsWith(BATCHES_PATH)) return answerBatches(server.batches, batchCall(call, pathname, searchParams));
  // Clients of Gemini call both versions of its API.
  const route = pathname.replace(/^\/v1(?:beta)?\/models\/[^/:]+(?=:)/, '/v1beta/models/{model}');
  switch (`${call.request.method} ${route}`) {
    case 'POST /v1/messages':
    case 'POST /v1/chat/completions':
    case 'POST /v1/responses':
    case 'POST /v1beta/models/{model}:generateContent':
    case 'POST /v1beta/models/{model}:streamGenerateContent':
      return answerModelCall(server, call, pathname);
    case 'POST /v1/images/generations':
    case 'POST /v1/audio/speech':
    case 'POST /v1/audio/transcriptions':
      return answerMediaCall(server, call, pathname);
    case 'POST /v1/messages/count_tokens': {
      const inputTokens = server.cache.count(validateCountRequest(parseJson(call.text)));
      return sendJson(response, 200, JSON.stringify({ input_tokens: inputTokens }), requestId);
    }
    case 'GET /v1/models':
    case 'GET /v1beta/models': {
      refuseKey(server, call, '');
      const list = call.wire === GEMINI_WIRE ? geminiModelList(server.contextTokens) : modelList();
      return sendJson(response, 200, JSON.stringify(list), requestId);
    }
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

/** Ids that look like the API's and never repeat, on this server or another. */
function createIds(): (prefix: string) => string {
  const origin = randomBytes(9).toString('hex');
  let count = 0;
  return (prefix) => `${prefix}01${origin}${(count += 1).toString(36).padStart(5, '0')}`;
}
