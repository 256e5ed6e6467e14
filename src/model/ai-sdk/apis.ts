// The APIs that are spoken through the AI SDK's provider packages, as data: which package, which of
// its models, and what each request says beside the conversation. A package is loaded with the
// first call of a model that needs it.
import { pathToFileURL } from 'node:url';
import { isAbsolute } from 'node:path';
import type { LanguageModelV4, SharedV4ProviderOptions } from '@ai-sdk/provider';
import { isObject } from '../../core/json.ts';
import { NO_KEY } from '../../kernel/rules/provider-keys.ts';
import type { ResponseFormat } from '../../core/response-format.ts';
import type { ProviderFamily } from '../../history/provider-family.ts';
import { ModelError } from '../model.ts';
import { ChatTidier } from '../stream/tidy/tidy-chat.ts';
import { GeminiTidier } from '../stream/tidy/tidy-gemini.ts';
import { ResponsesTidier } from '../stream/tidy/tidy-responses.ts';
import type { Tidier } from '../stream/tidy/tidier.ts';
import { isStrict } from './rules/strict-schema.ts';
import type { PromptForm } from './to-prompt.ts';

/** The APIs beside Anthropic's. */
export type AiSdkApi = 'openai' | 'openai-chat' | 'google' | 'xai' | 'openai-compatible' | 'package';

/** What the models of a provider are made with. */
export interface MakeOptions {
  name: string;
  apiKey: string;
  baseURL?: string;
  headers?: Record<string, string>;
  fetch: typeof globalThis.fetch;
}

/** Makes the model of a call: with the `fetch` of the call, so that its bytes are seen. */
export type MakeModel = (options: MakeOptions, model: string) => LanguageModelV4;

interface OptionsSource {
  /** The name of the provider. */
  name: string;
  /** All requests of a session have the same key. */
  cacheKey: string;
  /** True when the model is asked to think. */
  isThinking: boolean;
  /** The form of the answer, if the API has a mode of its own for it. */
  format?: ResponseFormat;
  /** The options of the configuration, which take precedence. */
  options: Record<string, unknown>;
}

/** Where an API has its list of models. */
interface ListAddress {
  /** Before `/models`, where the configuration says no other. */
  address: string;
  headersOf(this: void, apiKey: string): Record<string, string>;
}

/** How the answers of a model are read. */
export interface StreamSettings {
  /** False: `<think>` at the beginning of an answer is text. */
  hasThinkTags: boolean;
}

const asBearer = (apiKey: string) => ({ authorization: `Bearer ${apiKey}` });

export interface ServedApi {
  family: ProviderFamily;
  resultImages: PromptForm['resultImages'];
  /**
   * True when its servers may drop the front of a prompt that does not fit; the others refuse it.
   */
  mayDropPrompts?: true;
  /** True when an answer can come back with reasoning of ours: an empty one. */
  takesReasoning?: true;
  /**
   * True when it has a mode of its own for the form of such an answer; else a tool stands for it.
   */
  takesFormat(format: ResponseFormat, of: { name: string; hasTools: boolean }): boolean;
  /**
   * `settings`: what the configuration has for the create function of the package, where requests
   * have no options of their own.
   */
  load(from: { package: string; settings: Record<string, unknown> }): Promise<MakeModel>;
  /** Absent: its events are read as they come. */
  tidier?(settings: StreamSettings): Tidier;
  /** Absent: it has no list of models that is known. */
  list?: ListAddress;
  /** What goes with each request, under the name by which the package looks for it. */
  options(from: OptionsSource): SharedV4ProviderOptions;
}

/**
 * OpenAI keeps nothing, so reasoning comes encrypted and goes back; the session is the key of its
 * cache.
 */
const WITHOUT_STORE = ({ cacheKey }: { cacheKey: string }) => ({ store: false, promptCacheKey: cacheKey });

/** Other schemas are taken as advice. */
const strictness = ({ format }: { format?: ResponseFormat }) =>
  format === undefined ? {} : { strictJsonSchema: isStrict(format.schema) };

export const APIS: Readonly<Record<AiSdkApi, ServedApi>> = {
  openai: {
    list: { address: 'https://api.openai.com/v1', headersOf: asBearer },
    family: 'openai',
    resultImages: 'inside',
    takesFormat: () => true,
    tidier: () => new ResponsesTidier({ isXai: false }),
    async load() {
      const { createOpenAI } = await import('@ai-sdk/openai');
      return (options, model) => createOpenAI(options).responses(model);
    },
    options: (from) =>
      ({
        openai: { ...WITHOUT_STORE(from), ...strictness(from), reasoningSummary: 'auto', ...from.options },
      }) as SharedV4ProviderOptions,
  },
  'openai-chat': {
    list: { address: 'https://api.openai.com/v1', headersOf: asBearer },
    family: 'openai',
    resultImages: 'after',
    takesFormat: () => true,
    tidier: () => new ChatTidier({ hasThinkTags: false }),
    async load() {
      const { createOpenAI } = await import('@ai-sdk/openai');
      return (options, model) => createOpenAI(options).chat(model);
    },
    options: (from) =>
      ({ openai: { ...WITHOUT_STORE(from), ...strictness(from), ...from.options } }) as SharedV4ProviderOptions,
  },
  google: {
    list: {
      address: 'https://generativelanguage.googleapis.com/v1beta',
      headersOf: (apiKey) => ({ 'x-goog-api-key': apiKey }),
    },
    family: 'google',
    resultImages: 'behind-text',
    // Not every model takes both.
    takesFormat: (_format, { hasTools }) => !hasTools,
    tidier: () => new GeminiTidier(),
    async load() {
      const { createGoogle } = await import('@ai-sdk/google');
      return (options, model) => createGoogle(options)(model);
    },
    options({ isThinking, options }) {
      // Otherwise it thinks without saying what.
      const shown = isThinking ? { thinkingConfig: { includeThoughts: true } } : {};
      return { google: { ...shown, ...options } } as SharedV4ProviderOptions;
    },
  },
  xai: {
    list: { address: 'https://api.x.ai/v1', headersOf: asBearer },
    family: 'openai',
    resultImages: 'inside',
    // The package always asks for the strict form.
    takesFormat: ({ schema }) => isStrict(schema),
    tidier: () => new ResponsesTidier({ isXai: true }),
    async load() {
      const { createXai } = await import('@ai-sdk/xai');
      return (options, model) => createXai(options).responses(model);
    },
    options: (from) => ({ xai: { ...WITHOUT_STORE(from), ...from.options } }) as SharedV4ProviderOptions,
  },
  'openai-compatible': {
    list: { address: '', headersOf: asBearer },
    family: 'openai',
    resultImages: 'after',
    mayDropPrompts: true,
    takesReasoning: true,
    // Some of these servers refuse the field; Ollama holds any model to it, but cannot force a
    // tool.
    takesFormat: (_format, { name }) => name === 'ollama',
    tidier: (settings) => new ChatTidier(settings),
    async load() {
      const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
      return ({ baseURL = '', ...options }, model) =>
        createOpenAICompatible({ ...options, baseURL, includeUsage: true, supportsStructuredOutputs: true }).chatModel(
          model,
        );
    },
    options: ({ name, options, ...from }) =>
      ({ [name]: { ...strictness(from), ...options } }) as SharedV4ProviderOptions,
  },
  package: {
    family: 'openai',
    resultImages: 'after',
    mayDropPrompts: true,
    takesFormat: () => false,
    load: (from) => loadPackage(from),
    options: () => ({}),
  },
};

/**
 * Any provider package of the AI SDK: it exports a function `create...` that returns a function
 * from the id of a model to the model.
 */
async function loadPackage({ package: name, settings }: { package: string; settings: object }): Promise<MakeModel> {
  const make = await loadProvider({ package: name, settings });
  return (options, model) => {
    const made = toModel(make(options), model);
    if (made?.specificationVersion === 'v4') return made;
    const actual = made?.specificationVersion ?? 'none';
    throw unusable(
      `The package ${name} has models of the specification ${actual}; Holdfast needs v4. Install its newest version.`,
    );
  };
}

/** What makes the provider of such a package. */
export async function loadProvider({
  package: name,
  settings,
}: {
  package: string;
  settings: object;
}): Promise<(options: MakeOptions) => unknown> {
  const loaded = await importPackage(name);
  const create = isObject(loaded) ? findCreate(loaded) : undefined;
  if (create === undefined)
    throw unusable(`The package ${name} exports no function create... of a provider of the AI SDK.`);
  // Without a key, the package has it from its settings or from the environment, or signs requests
  // in another way.
  return ({ apiKey, ...options }) => create({ ...settings, ...options, ...(apiKey === NO_KEY ? {} : { apiKey }) });
}

async function importPackage(name: string): Promise<unknown> {
  try {
    return await import(isAbsolute(name) ? pathToFileURL(name).href : name);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw unusable(
      `The package ${name} cannot be loaded. Install it where Holdfast is: npm install ${name}. ${reason}`,
    );
  }
}

type Create = (settings: object) => unknown;

function findCreate(loaded: Record<string, unknown>): Create | undefined {
  const name = Object.keys(loaded).find((each) => /^create[A-Z]/.test(each) && typeof loaded[each] === 'function');
  return name === undefined ? undefined : (loaded[name] as Create);
}

function toModel(provider: unknown, model: string): LanguageModelV4 | undefined {
  const byMethod = (provider as { languageModel?: (id: string) => LanguageModelV4 } | undefined)?.languageModel;
  if (typeof byMethod === 'function') return byMethod(model);
  return typeof provider === 'function' ? (provider as (id: string) => LanguageModelV4)(model) : undefined;
}

/** The request itself is refused: nothing was sent, and nothing would help. */
export function unusable(message: string, type = 'invalid_request_error'): ModelError {
  return new ModelError({ type, status: null, retryAfterMs: null, message });
}
