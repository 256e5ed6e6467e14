// The shape of `models`: the providers, what their models cost, and how fast they may be asked.
import { z } from 'zod';
import { ARGUMENT_ENCODINGS, PROVIDER_FAMILIES } from '../history/provider-family.ts';
import { MODEL_INPUTS, THINKING_LEVELS } from '../core/models.ts';
import { isWholePrice } from '../core/price-row.ts';
import {
  choice,
  count,
  distinct,
  flag,
  headerValue,
  httpUrl,
  optional,
  path,
  section,
  storedMs,
  text,
  timerMs,
  word,
} from './schema-scalars.ts';

/**
 * The APIs that Holdfast speaks. All but Anthropic's go through a provider package of the AI SDK;
 * `package` is any that is installed.
 */
export const PROVIDER_APIS = [
  'anthropic',
  'openai',
  'openai-chat',
  'google',
  'xai',
  'openai-compatible',
  'package',
] as const;
export type ProviderApi = (typeof PROVIDER_APIS)[number];

const headers = z.record(z.string().regex(/^[\w!#$%&'*+.^`|~-]+$/, 'an HTTP header name'), headerValue);
const maxRetries = count(0, 100);

const providerShape = {
  family: optional(z.enum(PROVIDER_FAMILIES)).describe(
    'the [format of the history](plugins.md#transports) in requests to it; none: that of its transport',
  ),
  toolCallArgumentsEncoding: optional(z.enum(ARGUMENT_ENCODINGS)).describe(
    'how it encodes tool arguments; none: as its transport declares',
  ),
};

const ONE_SOURCE_OF_KEY = 'exactly one of key, env (the name of a variable) and file (a path)';

const providerKey = z
  .strictObject({
    name: word.describe('its name, which calls and `holdfast providers list` show'),
    key: optional(headerValue).describe('the key itself'),
    env: optional(word).describe('the variable that holds it'),
    file: optional(path).describe('the file that holds it; relative to the configuration file'),
    scope: optional(word).describe(
      "keys of one scope can read each other's reasoning, such as those of one organisation; none: its name",
    ),
  })
  .refine(
    ({ key, env, file }) => [key, env, file].filter((source) => source !== undefined).length === 1,
    ONE_SOURCE_OF_KEY,
  );

/** The keys of a provider, in place of `apiKey`. */
const keys = optional(distinct(providerKey, { key: 'name', what: 'a name that no key before has' }).min(1)).describe(
  '[several keys](models.md#several-keys) in place of `apiKey`',
);

const anthropic = section({
  auditHeaders: flag(true).describe('sends `x-holdfast-session`, `-turn`, `-epoch` and `-call` with every model call'),
  streaming: flag(true).describe('`false`: answers arrive as one body, for gateways that cannot stream'),
  baseUrl: optional(httpUrl).describe("the address; `ANTHROPIC_BASE_URL` overrides it. None: the SDK's default"),
  apiKey: optional(headerValue).describe('the key; `ANTHROPIC_API_KEY` overrides it. None: the scripted model answers'),
  keys,
  headers: headers.default({}).describe('headers that are added to every model call'),
  maxRetries: maxRetries.default(5).describe('the retries of a turn: how many failed model calls it can repeat in all'),
  ...providerShape,
});

/**
 * A provider that Holdfast asks itself when it has an address or a key; else a plugin serves it.
 */
const otherProvider = z.strictObject({
  api: optional(z.enum(PROVIDER_APIS)).describe(
    'the [API](models.md) that it speaks. None: that of its name for `openai`, `google`, `xai`, `openrouter` and `ollama`, `anthropic` for any other',
  ),
  package: optional(path).describe(
    'with `api: "package"`: the name of an installed [package](models.md#any-other-provider) of the AI SDK, or the path of a file',
  ),
  baseUrl: optional(httpUrl).describe(
    'the address of its API; its models are `<name>/<model>`. None: that of its name or its package; with the API `anthropic`, a plugin serves it',
  ),
  apiKey: optional(headerValue).describe(
    'its key. `OPENAI_API_KEY`, `GEMINI_API_KEY`, `XAI_API_KEY` and `OPENROUTER_API_KEY` override those of their providers. None: the server takes any',
  ),
  keys,
  headers: optional(headers).describe('headers that are added to its model calls'),
  options: optional(z.record(z.string(), z.unknown())).describe(
    'fields that its package adds to each request, in the package\'s words; with `api: "package"`, the settings with which the package makes its provider',
  ),
  checkPrompt: optional(z.boolean()).describe(
    '`false`: its answers are taken also if they seem to be without the [front of the prompt](models.md#servers-of-your-own)',
  ),
  promptTokens: optional(z.enum(['all', 'uncached'])).describe(
    'what it counts as tokens of a prompt; `uncached`: without those from its cache, which are added. None: all, unless more are from its cache',
  ),
  maxRetries: optional(maxRetries).describe(
    'the retries of a turn while it calls this provider; none: those of `anthropic`',
  ),
  ...providerShape,
});
export type ProviderSettings = z.output<typeof otherProvider>;

const modelPattern = word.refine(
  (name) => /^[^/]+\/./.test(name),
  'a model as "provider/model", in which * stands for any text, such as "anthropic/claude-sonnet-*"',
);

const PRICE_MAX = 1_000_000;
const ALLOWED_PRICE = `dollars per million tokens from 0 to ${PRICE_MAX}, with at most three decimals`;

const price = z.number().refine((value) => value >= 0 && value <= PRICE_MAX && isWholePrice(value), ALLOWED_PRICE);

const day = z.string().refine(isDay, 'a day in UTC such as "2026-10-07"');

const prices = {
  inputPerMTok: price,
  outputPerMTok: price,
  cacheReadPerMTok: price.optional(),
  cacheWrite5mPerMTok: price.optional(),
  cacheWrite1hPerMTok: price.optional(),
};

const priceRow = z
  .strictObject({
    model: modelPattern,
    from: day.optional(),
    to: day.optional(),
    ...prices,
    longPrompt: z.strictObject({ overTokens: count(1, 100_000_000), ...prices }).optional(),
    batchPercent: count(0, 1000).optional(),
    source: text.optional(),
    checkedAt: day.optional(),
  })
  .refine(({ from, to }) => from === undefined || to === undefined || from <= to, {
    path: ['to'],
    error: 'a day that is not before `from`',
  });

/** Facts are of one model: a pattern would match nothing. */
const modelRef = word.refine(
  (name) => /^[^/*]+\/[^*]+$/.test(name),
  'one model as "provider/model", such as "ollama/qwen3", without *',
);
const tokenCount = count(1, 100_000_000);
const modelFacts = z.strictObject({
  contextTokens: optional(tokenCount).describe('the size of its window in tokens'),
  maxOutputTokens: optional(tokenCount).describe('its longest answer in tokens'),
  input: optional(z.array(z.enum(MODEL_INPUTS)).min(1)).describe('what a message to it may contain'),
  thinking: optional(z.array(z.enum(THINKING_LEVELS)).min(1)).describe('its thinking levels'),
  checkPrompt: optional(z.boolean()).describe('as `checkPrompt` of a provider. None: as its provider'),
  thinkTags: optional(z.boolean()).describe(
    "`false`: `<think>` at the beginning of its answers is [text](models.md#servers-of-your-own). None: the model's thoughts, with the API `openai-compatible`",
  ),
});

const PER_MINUTE_MAX = 1_000_000_000;
const perMinute = count(1, PER_MINUTE_MAX).exactOptional();

const rateLimit = z
  .strictObject({
    model: modelPattern,
    requestsPerMinute: perMinute,
    inputTokensPerMinute: perMinute,
    outputTokensPerMinute: perMinute,
    batchSharePercent: count(1, 100).default(100),
    counts: choice(['uncached', 'all'], 'uncached'),
  })
  .refine(
    ({ requestsPerMinute, inputTokensPerMinute, outputTokensPerMinute }) =>
      requestsPerMinute !== undefined || inputTokensPerMinute !== undefined || outputTokensPerMinute !== undefined,
    'at least one of requestsPerMinute, inputTokensPerMinute and outputTokensPerMinute',
  );

export const modelsSchema = section({
  providers: z.object({ anthropic }).catchall(otherProvider).prefault({}),
  outage: section({
    giveUpAfter: storedMs(1)
      .default(86_400_000)
      .describe('how long a turn waits for an unavailable model before it fails')
      .meta({ reload: 'used by turns that start to wait later' }),
    probeMs: section({
      min: timerMs(1).default(5_000).describe('the shortest time between two probes of an unavailable model'),
      max: timerMs(1).default(30_000).describe('the longest'),
    }),
  }),
  prices: distinct(priceRow, {
    key: 'model',
    of: ({ model, from }) => `${model} ${from ?? ''}`,
    what: 'a model and a first day (`from`) that no row before has together',
  })
    .default([])
    .describe('[rows](costs.md#prices) that add to the built-in price table or replace rows of it')
    .meta({ reload: 'used by calls that end later' }),
  catalogue: z
    .record(modelRef, modelFacts)
    .default({})
    .describe('[facts of models](models.md#the-catalogue) that add to the built-in catalogue or replace facts of it'),
  limits: distinct(rateLimit, {
    key: 'model',
    what: 'a model that no limit before has; put all figures of a model into one limit',
  })
    .default([])
    .describe('[rate limits](operations.md#rate-limits) of all workers together')
    .meta({ reload: 'used by calls that start later' }),
});

function isDay(value: string): boolean {
  return /^\d{4}-\d\d-\d\d$/.test(value) && new Date(`${value}T00:00:00Z`).toJSON()?.slice(0, 10) === value;
}
