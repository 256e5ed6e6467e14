// The transport to the models of every provider that has a package of the AI SDK. The package
// writes the request and reads the answer; the `fetch` that it is given is ours, so the bytes are
// seen, counted, bounded and hashed as Anthropic's are, and nothing is sent after the lease has
// ended. Retries belong to the turn's stored budget (G16): a package makes one request for a call.
import { AsyncLocalStorage } from 'node:async_hooks';
import { hash } from 'node:crypto';
import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { LRUCache } from 'lru-cache';
import type { Dispatcher } from 'undici';
import { given } from '../../core/json.ts';
import type { ModelRequest } from '../../core/model-request.ts';
import { FAMILY_POLICIES, type ProviderFamily } from '../../history/provider-family.ts';
import { accountOfKey } from '../account.ts';
import { createPool } from '../connections.ts';
import { listModels, type ListPlace } from '../list-models.ts';
import { ModelError } from '../model.ts';
import { fitTools, isForced, withOutputTool } from '../stream/fit-tools.ts';
import type { Transport, TransportCall } from '../transport.ts';
import { APIS, type AiSdkApi, type ServedApi, type MakeModel } from './apis.ts';
import { createFetch, type SentCall } from './create-fetch.ts';
import { toModelError } from './to-model-error.ts';
import type { RefusedRequest } from './rules/read-refusal.ts';
import { findDroppedPrompt } from './rules/dropped-prompt.ts';
import { PartReader, readPromptTokens } from './to-events.ts';
import { toPrompt, toSettings } from './to-prompt.ts';

export interface AiSdkOptions {
  /** The provider's name, as in `provider/model`. */
  provider: string;
  api: AiSdkApi;
  /** The package of the API `package`: its name, or an absolute path. */
  package?: string;
  apiKey: string;
  /** Absent: the address that the package knows. */
  baseUrl?: string;
  headers?: Record<string, string>;
  /**
   * In the words of the package: fields of each request, or the settings of a provider of the API
   * `package`.
   */
  options?: Record<string, unknown>;
  /** Absent: that of the API. */
  family?: ProviderFamily;
  /**
   * False: an answer is taken also if the server seems to have dropped the front of the prompt.
   * Absent: true.
   */
  checkPrompt?: boolean;
  /** What the server counts as tokens of the prompt. Absent: all, unless that cannot be. */
  promptTokens?: 'all' | 'uncached';
  /** The switches of single models, by their names. */
  models?: Readonly<Record<string, ModelSwitches>>;
}

/** What is switched for one model. */
export interface ModelSwitches {
  /** Absent: as for its provider. */
  checkPrompt?: boolean | undefined;
  /** False: `<think>` at the beginning of an answer is text. Absent: true. */
  thinkTags?: boolean | undefined;
}

/** What a package makes of a model is kept: making one costs a tenth of a call. */
const MODELS_MAX = 100;

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
    const { thinkTags: hasThinkTags = true } = switchesOf(more, id);
    const fetch = createFetch((pool ??= createPool()), calls, () => api.tidier?.({ hasThinkTags }));
    const model = make({ name: provider, apiKey, fetch, ...given({ baseURL: baseUrl, headers }) }, id);
    models.set(id, model);
    return model;
  }
  async function doStream(sent: SentCall): Promise<ReadableStream<LanguageModelV4StreamPart>> {
    const { sessionKey = '', headers: audit, signal: abortSignal } = sent.call;
    const request = fitTools(inForm(api, provider, sent.call.request), family);
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
        await readParts(await doStream(sent), sent, { provider, ...readingOf(api, more, call.request.model) });
      } catch (error) {
        throw toModelError(error, toRefused(api, provider, call.request));
      }
    },
  };
}

/** What is switched for a model. */
function switchesOf({ models = {} }: Pick<AiSdkOptions, 'models'>, model: string): ModelSwitches {
  return (Object.hasOwn(models, model) ? models[model] : undefined) ?? {};
}

/** How the figures of a model's answer are read. */
interface FigureReading {
  isUncached: boolean;
  mayDropPrompts: boolean;
}

function readingOf(
  { mayDropPrompts }: ServedApi,
  options: Pick<AiSdkOptions, 'checkPrompt' | 'promptTokens' | 'models'>,
  model: string,
): FigureReading {
  const { checkPrompt: isChecked = options.checkPrompt ?? true } = switchesOf(options, model);
  return { isUncached: options.promptTokens === 'uncached', mayDropPrompts: mayDropPrompts === true && isChecked };
}

/**
 * The request with the form of its answer where the API has a mode for it, else with a tool that
 * stands for it.
 */
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

/**
 * Providers take 64 characters at most, and the key of a session may have the number of a phone in
 * it.
 */
function toCacheKey(sessionKey: string): string {
  return hash('sha256', sessionKey, 'hex').slice(0, 32);
}

async function readParts(
  stream: ReadableStream<LanguageModelV4StreamPart>,
  { call, bytes }: SentCall,
  { provider, isUncached, mayDropPrompts }: FigureReading & { provider: string },
): Promise<void> {
  const reader = new PartReader({ provider, model: call.request.model }, { isUncached });
  for await (const part of stream) {
    if (part.type === 'error') throw part.error;
    if (part.type === 'finish' && mayDropPrompts) {
      const { total } = readPromptTokens(part.usage, isUncached);
      checkPrompt(call, { provider, sentBytes: bytes ?? Number.POSITIVE_INFINITY, readTokens: total });
    }
    for (const event of reader.read(part)) if (call.onEvent(event)) return;
  }
}

/**
 * Throws when the server answered without the front of the prompt: the turn then makes the prompt
 * smaller.
 */
function checkPrompt(
  { request, newFrom }: TransportCall,
  { provider, ...read }: { provider: string; sentBytes: number; readTokens: number | undefined },
): void {
  const tokens = findDroppedPrompt(request, { ...read, ...given({ newFrom }) });
  if (tokens === null) return;
  const message =
    `The server read ${read.readTokens} tokens of a prompt of about ${tokens}: it drops the front of a prompt that does not fit into its window. ` +
    'Give the model a larger window (num_ctx of Ollama), or lower contextTokens of the agent. ' +
    `If the server read all of it and counts only a part, set models.providers.${provider}.checkPrompt to false, or checkPrompt of the model in models.catalogue.`;
  throw new ModelError({ type: 'model_context_window_exceeded', status: null, retryAfterMs: null, message });
}
