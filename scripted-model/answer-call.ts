// Answers one call for a message: its wire reads the request, the script decides the answer, and
// the wire writes it.
import type http from 'node:http';
import type { PromptCache } from './cache-figures.ts';
import { composeAnswer } from './compose-answer.ts';
import { ProviderError } from './provider-error.ts';
import { mayHoldDirectives, parseScript, type ScriptFault } from './parse-script.ts';
import { parseJson } from './read-body.ts';
import type { RecordedRequest, RequestLog } from './request-log.ts';
import type { ScriptMemory } from './script-memory.ts';
import { sealOf } from './signature.ts';
import { pause, scriptedError, streamAnswer, type BeforeEvent } from './stream-answer.ts';
import { CHAT_WIRE } from './wires/chat-wire.ts';
import { GEMINI_WIRE } from './wires/gemini-wire.ts';
import { MESSAGES_WIRE } from './wires/messages-wire.ts';
import { RESPONSES_WIRE } from './wires/responses-wire.ts';
import type { Exchange, ModelWire } from './wires/model-wire.ts';

/** Says which model is called, and whether the answer is streamed. */
const GEMINI_PATH = /^\/v1(?:beta)?\/models\/([^/:]+):(stream)?/;

const KEY_ID_CHARS = 8;

/** What the server has for all calls. */
export interface CallParts {
  log: RequestLog;
  cache: PromptCache;
  memory: ScriptMemory;
  newId: (prefix: string) => string;
  contextTokens: number;
  isObedient: boolean;
  onRequest: (request: RecordedRequest) => void;
  beforeEvent: BeforeEvent;
}

export interface Call {
  request: http.IncomingMessage;
  response: http.ServerResponse;
  requestId: string;
  bytes: Buffer;
  /** The body as text. */
  text: string;
  wire: ModelWire;
}

/** The wire of a request; errors of other paths are written as the Messages API writes them. */
export function wireOf({ url: path = '/', headers }: http.IncomingMessage): ModelWire {
  if (/^\/v1\/(?:chat|images|audio)\//.test(path)) return CHAT_WIRE;
  if (path.startsWith('/v1beta/') || GEMINI_PATH.test(path)) return GEMINI_WIRE;
  if (path.startsWith('/v1/responses')) return RESPONSES_WIRE;
  if (!path.startsWith('/v1/models')) return MESSAGES_WIRE;
  // The APIs share the address of their lists of models.
  if ('x-goog-api-key' in headers) return GEMINI_WIRE;
  return 'authorization' in headers && !('anthropic-version' in headers) ? CHAT_WIRE : MESSAGES_WIRE;
}

/** Answers a call for a message, and remembers it. Throws `ProviderError` for an error. */
export async function answerModelCall(server: CallParts, call: Call, path: string): Promise<void> {
  const record = server.log.add({
    receivedAt: new Date().toISOString(),
    method: 'POST',
    path,
    headers: auditHeadersOf(call.request.headers),
    keyId: keyIdOf(call),
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

/**
 * Answers a call for a message; returns the status that it got, null when it got none. Throws
 * `ProviderError` for an error.
 */
async function answer(server: CallParts, call: Call, record: RecordedRequest): Promise<number | null> {
  const { response, requestId, wire } = call;
  const { headers } = record;
  const [, model, stream] = GEMINI_PATH.exec(record.path) ?? [];
  const exchange: Exchange = {
    body: parseJson(call.text),
    organisation: sealOf(keyOf(call).split('.', 1)[0] ?? ''),
    ...(model !== undefined && { model: decodeURIComponent(model), isStream: stream !== undefined }),
  };
  const request = wire.read(exchange.body, exchange);
  refuseKey(server, call, request.model);
  const cacheKey = `${exchange.organisation} ${request.cacheKey ?? ''}`;
  const composed = composeAnswer(request, {
    ...server,
    ...wire,
    turn: headers['x-holdfast-turn'] ?? headers['x-holdfast-session'] ?? '',
    figures: server.cache.measure(wire === MESSAGES_WIRE ? request : { ...request, cacheKey }),
  });
  if (composed.delayMs > 0) await pause(response, composed.delayMs);
  if (response.destroyed) return null;
  const { fault } = composed;
  if (fault === null) record.usage = composed.usage;
  if (fault?.kind === 'error' && fault.after === null) throw scriptedError(fault, wire, request.model);
  if (request.stream === true) await streamAnswer(response, composed, { ...server, wire, requestId, exchange });
  else if (fault?.kind === 'cut') response.destroy();
  else if (fault?.kind !== 'stall') {
    const body = wire.body(composed, exchange);
    // The id of a picture is known by the header alone.
    sendJson(response, 200, body, request.wantsPicture === true ? composed.id : requestId);
  }
  return response.headersSent ? 200 : null;
}

/**
 * A key may hold errors of its own, as a prompt does. Throws the `ProviderError` that is due for
 * this model.
 */
export function refuseKey({ memory }: Pick<CallParts, 'memory'>, call: Call, model: string): void {
  const key = keyOf(call);
  const faults = mayHoldDirectives(key) ? (parseScript([key], model)?.answers[0]?.faults ?? []) : [];
  const isOfModel = (fault: ScriptFault): boolean => fault.kind === 'error' && (fault.model ?? model) === model;
  const fault = memory.takeFault(`key|${key}`, faults, isOfModel);
  if (fault?.kind === 'error') throw scriptedError(fault, call.wire, model);
}

/** Tells keys apart, without the key. */
export function keyIdOf(call: Call): string {
  return sealOf(keyOf(call)).slice(0, KEY_ID_CHARS);
}

function keyOf({ request: { headers } }: Call): string {
  const key = headers.authorization?.replace(/^Bearer /, '') ?? headers['x-goog-api-key'] ?? headers['x-api-key'];
  return typeof key === 'string' ? key : '';
}

export function auditHeadersOf(headers: http.IncomingHttpHeaders): Record<string, string> {
  const audit: Record<string, string> = {};
  for (const name in headers) {
    const value = headers[name];
    if (name.startsWith('x-holdfast-') && typeof value === 'string') audit[name] = value;
  }
  return audit;
}

export function toProviderError(error: unknown): ProviderError {
  if (error instanceof ProviderError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new ProviderError({ status: 500, message: `Scripted model: ${message}` });
}

export function sendError(
  error: ProviderError,
  { response, requestId, wire }: Omit<Call, 'request' | 'text' | 'bytes'>,
): void {
  for (const [name, value] of Object.entries(wire.errorHeaders(error))) response.setHeader(name, value);
  sendJson(response, error.status, wire.errorBody(error, requestId), requestId);
}

export function sendJson(response: http.ServerResponse, status: number, body: string, requestId: string): void {
  response
    .writeHead(status, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      'request-id': requestId,
      'x-request-id': requestId,
    })
    .end(body);
}
