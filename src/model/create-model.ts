// The model: a transport, the reducer that builds an answer from its events, and the observers. All
// transports and providers use it, so what holds for an answer holds for all of them.
import { hash } from 'node:crypto';
import type { Redact } from '../config/secrets.ts';
import { FAMILY_POLICIES, type ProviderFamily } from '../history/provider-family.ts';
import { given } from '../core/json.ts';
import { DEFAULT_PROVIDER } from '../core/models.ts';
import type { ModelAnswer, ModelRequest } from '../core/model-request.ts';
import { believableUsage } from './stream/stop-reasons.ts';
import type { AnswerRules } from './stream/draft-answer.ts';
import { createStorableFilter } from '../core/text.ts';
import { restoreCalls, answerTools, takeOutput, withOutputTool } from './stream/fit-tools.ts';
import { AnswerReducer } from './stream/reduce-answer.ts';
import { eventsOfBody, StreamFault, type StreamEvent } from './stream/stream-event.ts';
import { type AskOptions, type Model, ModelError } from './model.ts';
import { watchAll, type CallObserver, type ModelObserver } from './observers/observer.ts';
import { repairArguments } from './repair-arguments.ts';
import { findTransport, selectTransport, type Transport } from './transport.ts';
import { serverOfMcpTool } from '../core/tool-policy.ts';

export interface ModelParts {
  /** The first transport that serves a request's provider is used. */
  transports: readonly Transport[];
  /** The observers of every call. */
  observers?: readonly ModelObserver[];
  /** By provider, its family where that is another than its transport says. */
  families?: Readonly<Record<string, ProviderFamily>>;
  /**
   * By provider, what decodes the texts in the arguments of calls; absent: they come as they are.
   */
  argumentDecoders?: Readonly<Record<string, (text: string) => string>>;
  /** Removes secrets from the text about a failed call; absent: nothing is removed. */
  redact?: Redact;
  /** Called when an observer has failed. */
  onObserverFault?: (name: string, error: unknown) => void;
}

/** The longest tokens are some hundred bytes, an event around one is two hundred. */
const TOKEN_BYTES_MAX = 1024;
const AROUND_BYTES = 1024 * 1024;
const ANSWER_BYTES_MAX = 64 * 1024 * 1024;

/** A model over these transports. */
export function createModel(parts: ModelParts): Model {
  const { transports, observers = [], argumentDecoders = {}, onObserverFault = () => undefined } = parts;
  const { redact = (text) => text, families = {} } = parts;
  const familyOf = (provider = DEFAULT_PROVIDER): ProviderFamily =>
    families[provider] ?? transports.find((transport) => transport.provider === provider)?.family ?? 'anthropic';
  return {
    providers: [...new Set(transports.map(({ provider }) => provider))],
    familyOf,
    keysOf({ provider = DEFAULT_PROVIDER }) {
      if (findTransport(transports, { provider })?.key === undefined) return [];
      return transports.flatMap((transport) => (transport.provider === provider ? (transport.key ?? []) : []));
    },
    accountOf: (request) => findTransport(transports, request)?.account ?? request.provider ?? DEFAULT_PROVIDER,
    batchParams: (request) => selectTransport(transports, request).batchParams?.(request) ?? null,
    async writeBody(request, sessionKey) {
      return (await selectTransport(transports, request).writeBody?.({ request, sessionKey })) ?? null;
    },
    async listModels(provider, signal) {
      try {
        return (await findTransport(transports, { provider })?.listModels?.(signal)) ?? null;
      } catch (error) {
        throw toModelError(error, redact);
      }
    },
    async ask(request, options) {
      options.signal.throwIfAborted();
      const selected = selectTransport(transports, request);
      const transport = options.received === undefined ? selected : buildTransport(options.received, selected);
      const watch = watchAll(
        { observers, calls: options.observers ?? [], onFault: onObserverFault },
        { request, transport: transport.name, about: options.about ?? null },
      );
      const reducer = new AnswerReducer({
        ...buildRules(request, { options, family: familyOf(request.provider) }),
        decodeText: argumentDecoders[transport.provider] ?? null,
      });
      try {
        const received = await receive({ transport, request, options, reducer, watch });
        const answer = takeOutput(restoreCalls(received, withOutputTool(request).tools), request);
        watch.ended?.({ kind: 'answered', answer });
        return answer;
      } catch (error) {
        const thrown: unknown = options.signal.aborted
          ? options.signal.reason
          : nameRefusedTool(toModelError(error, redact), answerTools(request));
        watch.ended?.({ kind: 'failed', error: thrown });
        throw thrown;
      }
    },
    async close() {
      await Promise.all(observers.map(async (observer) => observer.close?.()));
    },
  };
}

/** A transport that has received its answer already. */
function buildTransport({ body, sha256 }: { body: unknown; sha256: string }, { name, provider }: Transport): Transport {
  return {
    name: `${name}-batch`,
    provider,
    async send({ onSent, onEvent }) {
      onSent('', sha256);
      eventsOfBody(body).some(onEvent);
    },
  };
}

interface Reception {
  transport: Transport;
  request: ModelRequest;
  options: AskOptions;
  reducer: AnswerReducer;
  watch: CallObserver;
}

async function receive({ transport, request, options, reducer, watch }: Reception): Promise<ModelAnswer> {
  const { signal, headers, about, onChunk, onReasoning, onUsage } = options;
  const bytesMax = answerBytesMax(request.maxTokens);
  const thoughts = createStorableFilter();
  let bytes = 0;
  await transport.send({
    request,
    ...given({ sessionKey: about?.sessionKey, newFrom: options.newFrom }),
    headers,
    signal,
    onSent(body, sha256) {
      options.beforeSend?.();
      watch.sent?.(body, sha256 ?? hash('sha256', body, 'hex'));
    },
    onWrite: () => options.beforeSend?.(),
    onRemaining: (remaining) => options.onRemaining?.(remaining),
    onBytes(count) {
      bytes += count;
      if (bytes > bytesMax) {
        const text = `The answer is longer than ${bytesMax} bytes, the limit for ${request.maxTokens} tokens.`;
        throw new StreamFault('malformed_stream', text);
      }
      watch.bytes?.(count);
      if (!signal.aborted) onChunk?.('');
    },
    onEvent(event) {
      const text = reducer.take(event);
      const { reported } = reducer;
      if (isReport(event) && reported !== null)
        onUsage?.({ ...reported, usage: believableUsage(reported.usage, request, []) });
      const thought = event.type === 'content_block_delta' ? event.delta?.thinking : undefined;
      if (typeof thought === 'string' && thought !== '' && !signal.aborted) onReasoning?.(thoughts.push(thought));
      if (!signal.aborted) onChunk?.(text);
      return reducer.answer !== null;
    },
  });
  if (reducer.answer === null) throw new StreamFault('cut_stream', 'The answer ended before it was complete.');
  return withBelievableUsage(reducer.answer, request);
}

function withBelievableUsage(answer: ModelAnswer, request: ModelRequest): ModelAnswer {
  const usage = believableUsage(answer.usage, request, answer.content);
  return usage === answer.usage ? answer : { ...answer, usage, impossibleUsage: answer.usage };
}

/** The events in which a provider reports tokens. */
function isReport({ type }: StreamEvent): boolean {
  return type === 'message_start' || type === 'message_delta';
}

/**
 * The largest number of bytes of one answer before it fails as malformed (G28): each token in an
 * event of its own, with the framing around them.
 */
function answerBytesMax(maxTokens: number): number {
  return Math.min(AROUND_BYTES + maxTokens * TOKEN_BYTES_MAX, ANSWER_BYTES_MAX);
}

function buildRules(
  request: ModelRequest,
  { options, family }: { options: AskOptions; family: ProviderFamily },
): Omit<AnswerRules, 'decodeText'> {
  const { provider = DEFAULT_PROVIDER, model } = request;
  return {
    author: { provider, model, callIds: FAMILY_POLICIES[family].callIds },
    tools: answerTools(request),
    messages: request.messages,
    callNo: options.callNo ?? 1,
    unknownToolThreshold: options.unknownToolThreshold ?? 0,
    replacements: options.replacements ?? [],
    repairArguments,
  };
}

/**
 * Every error of a call passes here: the answer of a provider or a transport may repeat the key of
 * the request.
 */
function toModelError(error: unknown, redact: Redact): unknown {
  if (error instanceof StreamFault) {
    const { type, errorCode, message } = error;
    return redacted(
      new ModelError({ type, status: null, retryAfterMs: null, errorCode, message, cause: error }),
      redact,
    );
  }
  return error instanceof ModelError ? redacted(error, redact) : error;
}

/**
 * The same error, or a copy without secrets: what caused it would still hold them, so the copy has
 * no cause.
 */
function redacted(error: ModelError, redact: Redact): ModelError {
  const { status, retryAfterMs } = error;
  const type = redact(error.type);
  const message = redact(error.message);
  const errorCode = error.errorCode === null ? null : redact(error.errorCode);
  const requestId = error.requestId === null ? null : redact(error.requestId);
  const isClean =
    type === error.type && message === error.message && errorCode === error.errorCode && requestId === error.requestId;
  return isClean ? error : new ModelError({ type, status, retryAfterMs, message, errorCode, requestId });
}

// Which tool a provider refuses: some count tools from 0 (`tools.3.custom.input_schema`), and no
// provider knows the MCP server of one.

const PLACES = [/\btools\.(\d+)\./, /function_?declarations\[(\d+)\]/i, /\btools\[(\d+)\]/];

/**
 * The error with the name of the tool that its request was refused for, and its MCP server; the
 * same where it is about no tool.
 */
export function nameRefusedTool(error: unknown, tools: readonly { name: string }[]): unknown {
  if (!(error instanceof ModelError) || (error.status !== 400 && error.status !== 422)) return error;
  const place = PLACES.flatMap((pattern) => pattern.exec(error.message)?.[1] ?? [])[0];
  const quoted = tools.find(({ name }) => new RegExp(`['"\`]${name}['"\`]`).test(error.message));
  const name = quoted?.name ?? tools[Number(place ?? Number.NaN)]?.name;
  if (name === undefined) return error;
  const server = serverOfMcpTool(name);
  const from =
    server === null
      ? ''
      : ` of the MCP server ${server}: deny it in mcp.servers.${server}.tools, or mend its schema there`;
  return error.saying(`${error.message} (the tool ${name}${from})`);
}
