// The transport to the models of every provider that has a package of the AI SDK. The package writes the request and reads the answer; the `fetch`
// that it is given is ours, so the bytes are seen, counted, bounded and hashed as Anthropic's are, and nothing is sent after the lease has ended.
// Retries belong to the turn's stored budget (G16): a package makes one request for a call.
import { AsyncLocalStorage } from 'node:async_hooks';
import { hash } from 'node:crypto';
import type { Readable } from 'node:stream';
import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { LRUCache } from 'lru-cache';
import type { Dispatcher } from 'undici';
import { given } from '../../core/given.ts';
import type { ModelRequest } from '../../core/model-request.ts';
import { FAMILY_POLICIES, type ProviderFamily } from '../../history/provider-family.ts';
import { accountOfKey } from '../account.ts';
import { createPool } from '../connections.ts';
import { listModels, type ListPlace } from '../list-models.ts';
import { ModelError } from '../model.ts';
import { cutAnswer, malformedAnswer, post, readRefusal as readRefusalText } from '../post.ts';
import { isForced, withOutputTool } from '../stream/output-tool.ts';
import { StreamFault } from '../stream/stream-event.ts';
import type { Transport, TransportCall } from '../transport.ts';
import { APIS, type AiSdkApi, type ServedApi, type MakeModel } from './apis.ts';
import { toModelError } from './to-model-error.ts';
import type { RefusedRequest } from './rules/read-refusal.ts';
import { findDroppedPrompt } from './rules/dropped-prompt.ts';
import { PartReader } from './to-events.ts';
import { toPrompt, toSettings } from './to-prompt.ts';

export interface AiSdkOptions {
  /** As in `provider/model`. */
  provider: string;
  api: AiSdkApi;
  /** The package of the API `package`: its name, or an absolute path. */
  package?: string;
  apiKey: string;
  /** Absent: the address that the package knows. */
  baseUrl?: string;
  headers?: Record<string, string>;
  /** In the words of the package: fields of each request, or the settings of a provider of the API `package`. */
  options?: Record<string, unknown>;
  /** Absent: that of the API. */
  family?: ProviderFamily;
}

/** What a package makes of a model is kept: making one costs a tenth of a call. */
const MODELS_MAX = 100;

/** A call that is under way. */
interface SentCall {
  call: TransportCall;
  /** The size of its request; null: nothing was sent yet. */
  bytes: number | null;
}

/** The statuses of answers that can have no body. */
const WITHOUT_BODY: readonly number[] = [204, 205, 304];

/** The transport to one provider. Cheap to make: nothing is loaded before the first call. */
export function createAiSdkTransport({
  provider,
  api: name,
  apiKey,
  baseUrl,
  headers,
  ...more
}: AiSdkOptions): Transport {
  const api = APIS[name];
  const { list } = api;
  const { options = {}, package: packageName = '', family = api.family } = more;
  let pool: Dispatcher | null = null;
  let loaded: Promise<MakeModel> | null = null;
  const models = new LRUCache<string, LanguageModelV4>({ max: MODELS_MAX });
  /** A package has one `fetch` for all calls of a model. */
  const calls = new AsyncLocalStorage<SentCall>();
  async function modelOf(id: string): Promise<LanguageModelV4> {
    const known = models.get(id);
    if (known !== undefined) return known;
    const make = await (loaded ??= api.load({ package: packageName, settings: options }));
    const fetch = createFetch((pool ??= createPool()), calls);
    const model = make({ name: provider, apiKey, fetch, ...given({ baseURL: baseUrl, headers }) }, id);
    models.set(id, model);
    return model;
  }
  async function doStream(sent: SentCall): Promise<ReadableStream<LanguageModelV4StreamPart>> {
    const { sessionKey = '', headers: audit, signal: abortSignal } = sent.call;
    const request = inForm(api, provider, sent.call.request);
    const model = await modelOf(request.model);
    const settings = toSettings(request);
    const isThinking = settings.reasoning !== undefined;
    const asked = {
      prompt: toPrompt(request, {
        resultImages: api.resultImages,
        foreignThoughts: family === 'google' ? 'text' : 'left-out',
        callIds: FAMILY_POLICIES[family].callIds,
        hasEmptyReasoning: api.takesReasoning === true && request.traits?.wantsReasoning === true,
      }),
      ...settings,
      providerOptions: api.options({
        name: provider,
        cacheKey: toCacheKey(sessionKey),
        isThinking,
        ...given({ format: request.responseFormat }),
        options,
      }),
      headers: audit,
      abortSignal,
    };
    return (await calls.run(sent, () => model.doStream(asked))).stream;
  }
  return {
    name: `ai-sdk-${name}`,
    provider,
    family,
    account: accountOfKey({ provider, api: name, baseUrl: baseUrl ?? null, key: apiKey }),
    writeBody: (call) => writeHeld(call, doStream),
    listModels:
      list && ((signal) => listModels((pool ??= createPool()), placeOf(list, { baseUrl, apiKey, headers }), signal)),
    async send(call) {
      const sent: SentCall = { call, bytes: null };
      try {
        await readParts(await doStream(sent), sent, { provider, mayDropPrompts: api.mayDropPrompts === true });
      } catch (error) {
        throw toModelError(error, toRefused(api, provider, call.request));
      }
    },
  };
}

/** The request with the form of its answer where the API has a mode for it, else with a tool that stands for it. */
function inForm(api: ServedApi, provider: string, request: ModelRequest): ModelRequest {
  const { responseFormat, tools } = request;
  const isTaken = responseFormat && api.takesFormat(responseFormat, { name: provider, hasTools: tools.length > 0 });
  return isTaken ? request : withOutputTool(request);
}

/** What of a request could be written in another way if it is refused. */
function toRefused(api: ServedApi, provider: string, request: ModelRequest): RefusedRequest {
  const { sampling } = inForm(api, provider, request);
  return { isForced: isForced(request, sampling?.tool_choice), takesReasoning: api.takesReasoning === true };
}

function placeOf(
  { address, headersOf }: NonNullable<ServedApi['list']>,
  {
    baseUrl = address,
    apiKey,
    headers,
  }: { baseUrl: string | undefined; apiKey: string; headers: AiSdkOptions['headers'] | undefined },
): ListPlace {
  return { url: `${baseUrl}/models`, headers: { ...headersOf(apiKey), ...headers } };
}

async function writeHeld(
  call: Pick<TransportCall, 'request' | 'sessionKey'>,
  send: (sent: SentCall) => Promise<unknown>,
): Promise<Uint8Array> {
  const held = holdBack(call);
  await send({ call: held, bytes: null }).catch((error: unknown) => {
    if (held.body === null) throw error;
  });
  return held.body ?? Buffer.of();
}

/** A call of which nothing is sent: it has the body of its request instead. */
function holdBack(call: Pick<TransportCall, 'request' | 'sessionKey'>): TransportCall & { body: Uint8Array | null } {
  const hold = () => {
    throw new Error('Nothing is sent.');
  };
  return {
    ...call,
    body: null,
    headers: {},
    signal: new AbortController().signal,
    onSent(body) {
      this.body = Buffer.from(body);
      hold();
    },
    onWrite: hold,
    onBytes: hold,
    onEvent: hold,
  };
}

/** Providers take 64 characters at most, and the key of a session may have the number of a phone in it. */
function toCacheKey(sessionKey: string): string {
  return hash('sha256', sessionKey, 'hex').slice(0, 32);
}

async function readParts(
  stream: ReadableStream<LanguageModelV4StreamPart>,
  { call, bytes }: SentCall,
  { provider, mayDropPrompts }: { provider: string; mayDropPrompts: boolean },
): Promise<void> {
  const { request } = call;
  const reader = new PartReader({ provider, model: request.model });
  for await (const part of stream) {
    if (part.type === 'error') throw part.error;
    if (part.type === 'finish' && mayDropPrompts)
      checkPrompt(request, bytes ?? Number.POSITIVE_INFINITY, part.usage.inputTokens.total);
    for (const event of reader.read(part)) if (call.onEvent(event)) return;
  }
}

/** Throws when the server answered without the front of the prompt: the turn then makes the prompt smaller. */
function checkPrompt(request: ModelRequest, sentBytes: number, readTokens: number | undefined): void {
  const tokens = findDroppedPrompt(request, { sentBytes, readTokens });
  if (tokens === null) return;
  const message = `The server read ${readTokens} tokens of a prompt of about ${tokens}: it drops the front of a prompt that does not fit into its window. Give the model a larger window (num_ctx of Ollama), or lower contextTokens of the agent.`;
  throw new ModelError({ type: 'model_context_window_exceeded', status: null, retryAfterMs: null, message });
}

/** The `fetch` of a model. The first request of a call is the one that is recorded; others (for a token of access) are sent like it. */
function createFetch(pool: Dispatcher, calls: AsyncLocalStorage<SentCall>): typeof globalThis.fetch {
  return async (input, init = {}) => {
    const under = calls.getStore();
    if (under === undefined) throw new Error('The package sends a request outside of a call.');
    const { call } = under;
    const url = input instanceof Request ? input.url : String(input);
    const { body } = init;
    const bytes = typeof body === 'string' || body instanceof Uint8Array ? Buffer.from(body) : undefined;
    if (under.bytes === null && bytes !== undefined) {
      under.bytes = bytes.length;
      call.onSent(bytes);
    }
    const sent = Object.fromEntries(new Headers(init.headers));
    const method = (init.method ?? 'GET') as Dispatcher.HttpMethod;
    const reply = await post(pool, { url, method, headers: sent, ...given({ body: bytes }) }, call);
    const { status, headers } = reply;
    // They are of the body as it was sent; this one is decoded.
    for (const name of ['content-encoding', 'content-length']) headers.delete(name);
    const isEmpty = WITHOUT_BODY.includes(status);
    if (isEmpty || status < 200 || status >= 300) {
      const text = await readRefusalText(reply.bytes);
      return new Response(isEmpty ? null : text, { status, headers });
    }
    if (/^text\/html/i.test(headers.get('content-type') ?? '')) {
      reply.bytes.destroy();
      throw malformedAnswer(`The answer of ${new URL(url).origin} is a page of HTML: is it the address of the API?`);
    }
    return new Response(ReadableStream.from(counted(reply.bytes, call)), { status, headers });
  };
}

async function* counted(bytes: Readable, { onBytes }: TransportCall): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of bytes as AsyncIterable<Buffer>) {
      onBytes(chunk.length);
      yield chunk;
    }
  } catch (error) {
    throw error instanceof StreamFault ? error : cutAnswer(error);
  }
}
