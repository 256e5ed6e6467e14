// The Anthropic models that Holdfast knows, as data: how large they are, how they are made to
// think, and until when they are served. Names come from the `Model` type of the SDK and end dates
// from its list of deprecated models (a test compares both); the other figures come from
// https://platform.claude.com/docs/en/models/overview and
// .../build-with-claude/thinking-troubleshooting. A model that is not listed works as well:
// `thinkingFormOf` says what is assumed about it. The ids of the scripted model's answers begin
// with a mark of their own.
import type { ModelRequest, RequestTraits } from './model-request.ts';
import type { WrittenPriceRow } from './price-row.ts';
import listed from './catalogue/models.json' with { type: 'json' };

/**
 * How a model is made to think. `budget`: by a number of tokens, and not at all without one.
 * `adaptive`: the model decides, steered by an effort; `whenOff` is what is sent so that it thinks
 * least.
 */
export type ThinkingForm =
  | { kind: 'budget' }
  | {
      kind: 'adaptive';
      /** False: `xhigh` is refused, and `high` is sent in its place. */
      takesXhigh: boolean;
      /**
       * `absent`: no field, as it does not think unless asked to. `disabled` and `between_tools`:
       * that type of thinking. `least_effort`: thinking cannot be turned off, so the lowest effort
       * is sent.
       */
      whenOff: 'absent' | 'disabled' | 'between_tools' | 'least_effort';
    };

export interface KnownModel {
  /** The window and the longest answer (`max_tokens`), in tokens. */
  contextTokens: number;
  outputTokensMax: number;
  thinking: ThinkingForm;
  /**
   * Set when the provider has announced the end; days as YYYY-MM-DD. `deprecatedOn` is absent where
   * no source gives it.
   */
  end?: { deprecatedOn?: string; endsOn: string };
}

const BUDGET: ThinkingForm = { kind: 'budget' };

function adaptive(
  whenOff: Extract<ThinkingForm, { kind: 'adaptive' }>['whenOff'],
  { takesXhigh = true }: { takesXhigh?: boolean } = {},
): ThinkingForm {
  return { kind: 'adaptive', takesXhigh, whenOff };
}

const LARGE = { contextTokens: 1_000_000, outputTokensMax: 128_000 } as const;

const SMALL = { contextTokens: 200_000, outputTokensMax: 64_000 } as const;

const SONNET_4_5: KnownModel = {
  ...SMALL,
  thinking: BUDGET,
  end: { deprecatedOn: '2026-09-30', endsOn: '2026-11-30' },
};

/** By the model id of the provider, newest first. */
export const KNOWN_MODELS: Readonly<Record<string, KnownModel>> = {
  // Too new for the pages above: assumed to be like those of 5.1.
  'claude-fable-5-2': { ...LARGE, thinking: adaptive('least_effort') },
  'claude-mythos-5-2': { ...LARGE, thinking: adaptive('least_effort') },
  'claude-haiku-5-5': { ...LARGE, thinking: adaptive('disabled') },
  'claude-sonnet-5-5': { ...LARGE, thinking: adaptive('between_tools') },
  'claude-opus-5-5': { ...LARGE, thinking: adaptive('least_effort') },
  'claude-fable-5-1': { ...LARGE, thinking: adaptive('least_effort') },
  'claude-mythos-5-1': { ...LARGE, thinking: adaptive('least_effort') },
  'claude-sonnet-5': { ...LARGE, thinking: adaptive('disabled') },
  'claude-opus-5': { ...LARGE, thinking: adaptive('disabled') },
  'claude-fable-5': { ...LARGE, thinking: adaptive('least_effort') },
  'claude-mythos-5': { ...LARGE, thinking: adaptive('least_effort') },
  'claude-opus-4-8': { ...LARGE, thinking: adaptive('absent') },
  'claude-opus-4-7': { ...LARGE, thinking: adaptive('absent') },
  'claude-mythos-preview': {
    ...LARGE,
    thinking: adaptive('least_effort', { takesXhigh: false }),
    end: { endsOn: '2026-06-30' },
  },
  'claude-opus-4-6': { ...LARGE, thinking: adaptive('absent', { takesXhigh: false }) },
  'claude-sonnet-4-6': {
    ...LARGE,
    outputTokensMax: 64_000,
    thinking: adaptive('absent', { takesXhigh: false }),
  },
  'claude-haiku-4-5': { ...SMALL, thinking: BUDGET },
  'claude-haiku-4-5-20251001': { ...SMALL, thinking: BUDGET },
  'claude-opus-4-5': { ...SMALL, thinking: BUDGET },
  'claude-opus-4-5-20251101': { ...SMALL, thinking: BUDGET },
  'claude-sonnet-4-5': SONNET_4_5,
  'claude-sonnet-4-5-20250929': SONNET_4_5,
};

const ANTHROPIC = 'anthropic/';

/** The default model, and the one that messages recommend in place of another. */
export const CURRENT_MODEL = 'anthropic/claude-sonnet-5-5';

/** Models before the first of the list: they take a budget. */
const OLDER_MODEL = /^claude-(?:[0-9]|instant|(?:opus|sonnet|haiku)-4(?:-[01])?(?:-[0-9]{8})?$)/;

/** The facts of an Anthropic model; undefined for one that is not listed. */
export function knownModel(model: string): KnownModel | undefined {
  return Object.hasOwn(KNOWN_MODELS, model) ? KNOWN_MODELS[model] : undefined;
}

/**
 * How a model is made to think. Of those that are not listed, a newer Claude is assumed to decide
 * for itself and gets no field when thinking is off, because no model refuses a request without the
 * field; every other model takes a budget.
 */
export function thinkingFormOf(model: string): ThinkingForm {
  const known = knownModel(model);
  if (known !== undefined) return known.thinking;
  return model.startsWith('claude-') && !OLDER_MODEL.test(model) ? adaptive('absent', { takesXhigh: false }) : BUDGET;
}

/** True for a Claude that writes its answer in a form that it is given: Claude 4.5 and later. */
export function takesOutputFormat(model: string): boolean {
  return model.startsWith('claude-') && !OLDER_MODEL.test(model);
}

/**
 * What to say about the end of a model, given as `provider/model`: null when it has none, or is not
 * one of Anthropic's. `today` is a day as YYYY-MM-DD.
 */
export function endOfModel(ref: string, today: string): string | null {
  const end = ref.startsWith(ANTHROPIC) ? knownModel(ref.slice(ANTHROPIC.length))?.end : undefined;
  if (end === undefined) return null;
  const what = today < end.endsOn ? 'is deprecated and ends on' : 'has ended: its provider announced the end for';
  return `${ref} ${what} ${end.endsOn}. Use another model, such as ${CURRENT_MODEL}.`;
}

// The mark of the scripted model's answers. The server of the demo and the tests answers like a
// provider, and its answers are priced like those of the model that was asked; by the ids of its
// messages, every sum says that no money was spent.

/** The prefix of the ids of its messages. */
export const SCRIPTED_ID_START = 'msg_scripted_';

/** True for the id of a message that the scripted model has written. */
export function isScriptedId(id: string | null): boolean {
  return id?.startsWith(SCRIPTED_ID_START) ?? false;
}

// Names of models. People write `provider/model`; a request has the two apart, and names only a
// provider that is not the default one.
//
// A turn may ask several models, in order: the one that it was opened with, then its agent's
// fallbacks. A turn that steps down continues with the next one after its last committed step, and
// stays there; the next turn begins with the first again.

/** The provider of requests that name none. */
export const DEFAULT_PROVIDER = 'anthropic';

export type NamedModel = Pick<ModelRequest, 'provider' | 'model' | 'key'>;

/** The model that a request names, whatever key it uses. */
export function namedModel({ provider, model }: NamedModel): NamedModel {
  return provider === undefined ? { model } : { provider, model };
}

export function modelOfRef(ref: string): NamedModel {
  const slash = ref.indexOf('/');
  const provider = ref.slice(0, slash);
  const model = ref.slice(slash + 1);
  return provider === DEFAULT_PROVIDER ? { model } : { provider, model };
}

export function providerOf({ provider = DEFAULT_PROVIDER }: Pick<NamedModel, 'provider'>): string {
  return provider;
}

/** `provider/model` of the model that a request names. */
export function refOfModel({ provider = DEFAULT_PROVIDER, model }: NamedModel): string {
  return `${provider}/${model}`;
}

/**
 * The name that identifies a model in a transcript: without its provider if that is the default
 * one.
 */
export function modelName(named: NamedModel): string {
  return named.provider === undefined ? named.model : refOfModel(named);
}

/** Faults by which a model refuses what another model may answer. */
const REFUSALS_OF_A_MODEL: ReadonlySet<string> = new Set(['model_not_found', 'model_billing', 'model_spend_limit']);

/**
 * True when another model may answer a request that was refused with this code. Outages are judged
 * by `classifyOutage`.
 */
export function mayAnotherAnswer(code: string): boolean {
  return REFUSALS_OF_A_MODEL.has(code);
}

/**
 * The models of a turn as `provider/model`, each once, the one that it was opened with first; those
 * that no provider serves are left out.
 */
export function modelChain(
  opened: NamedModel,
  { fallbacks, providers }: { fallbacks: readonly (string | null)[]; providers: readonly string[] },
): string[] {
  const served = fallbacks.filter(
    (ref): ref is string => ref !== null && providers.some((provider) => ref.startsWith(`${provider}/`)),
  );
  return [...new Set([refOfModel(opened), ...served])];
}

/**
 * The models that come after the one that is asked now; all of them when that is no longer in the
 * chain.
 */
export function modelsAfter(chain: readonly string[], current: NamedModel): readonly string[] {
  return chain.slice(chain.indexOf(refOfModel(current)) + 1);
}

/** All that is remembered about a model. */
export interface ModelTraits extends RequestTraits {
  /**
   * The window of its server in tokens. It counts only where it is smaller than what is known
   * otherwise.
   */
  contextTokens?: number;
}

/** A smaller number is not a window, or of no use. */
const WINDOW_TOKENS_MIN = 500;

/**
 * How servers name their window when they refuse a prompt that is too long; a test has the words of
 * each.
 */
const WINDOWS = [
  // OpenAI, DeepSeek, vLLM, OpenRouter; xAI
  /maximum (?:context|model|prompt) length (?:is|of) (\d{3,9})\b/i,
  // llama.cpp; TabbyAPI; both call it `n_ctx` in other places, as LM Studio does
  /available context size (?:of |\()(\d{3,9})\b/i,
  /\bn_ctx\W{1,4}(\d{3,9})\b/i,
  // LM Studio
  /context length of (?:only )?(\d{3,9})\b/i,
  // TabbyAPI; ExLlama
  /max_seq_len (\d{3,9})\b/i,
  /cache allocated is [^=]{1,40}= (\d{3,9}) tokens/i,
  // SGLang; Mistral
  /context length \((\d{3,9}) tokens/i,
  /model with (\d{3,9}) maximum context/i,
  // Anthropic
  /tokens > (\d{3,9}) maximum/i,
  /context limit: [\d +]{1,40}> (\d{3,9})\b/i,
  // Gemini; Kimi; GitHub; Cohere; Text Generation Inference; Qwen
  /maximum number of tokens allowed \((\d{3,9})\)/i,
  /model token limit: (\d{3,9})\b/i,
  /prompt token count .{0,40}exceeds the limit of (\d{3,9})\b/i,
  /tokens in the prompt cannot exceed (\d{3,9})\b/i,
  /must be <= (\d{3,9})\b/i,
  /range of input length should be \[\d{1,3}, (\d{3,9})\]/i,
];

/** The window that a server names in a refusal for the length, in tokens; null: it names none. */
export function findNamedWindow(message: string): number | null {
  for (const pattern of WINDOWS) {
    const tokens = Number(pattern.exec(message)?.[1] ?? 0);
    if (tokens >= WINDOW_TOKENS_MIN) return tokens;
  }
  return null;
}

// The thinking level that a message asks for with its first word. Only the word itself is cut;
// everything after it stays as it was written, line breaks included.

/** All levels, from none to the model's own choice. */
export const THINKING_LEVELS = ['off', 'minimal', 'low', 'medium', 'high', 'xhigh', 'adaptive'] as const;

export type ThinkingLevel = (typeof THINKING_LEVELS)[number];

/** The level that a word names, in any case; null when it is none. */
export function parseThinkingLevel(word: string): ThinkingLevel | null {
  return THINKING_LEVELS.find((level) => level === word.trim().toLowerCase()) ?? null;
}

const DIRECTIVE = /^\s*(low|medium|high|xhigh)(?:[^\S\n]+\n?|\n)(?=[^])/i;

/**
 * The level named by the first word of a body, and the body without that word and the spaces after
 * it. `level` is null, and the body unchanged, when the first word is none of the four levels or
 * when nothing follows it: a body that is only such a word is an answer.
 */
export function takeThinkingDirective(body: string): { level: ThinkingLevel | null; body: string } {
  const match = DIRECTIVE.exec(body);
  const rest = match === null ? '' : body.slice(match[0].length);
  if (match === null || rest.trim() === '') return { level: null, body };
  // The pattern matches only these four words.
  return { level: match[1]?.toLowerCase() as ThinkingLevel, body: rest };
}

// What is known of the models of all providers: how much they take, what they take, and how they
// can be made to think. Anthropic's are above, the others come from a list that
// scripts/write-catalogue.ts writes; `models.catalogue` of the configuration adds to both. A model
// that is not listed works as well.

export const MODEL_INPUTS = ['text', 'image'] as const;

/** What a model is; null: not known. */
export interface ModelFacts {
  /** The window and the longest answer, in tokens. */
  contextTokens: number | null;
  maxOutputTokens: number | null;
  input: readonly (typeof MODEL_INPUTS)[number][] | null;
  thinking: readonly ThinkingLevel[] | null;
}

export interface CatalogueRow extends ModelFacts {
  /** `provider/model`. */
  model: string;
  /** Where the facts are from. */
  source: string;
  /** The day on which they were compared with the source last, as YYYY-MM-DD; null: not known. */
  checkedAt: string | null;
}

/** A row of `models.catalogue`: what it leaves out is what the built-in row says. */
export type WrittenFacts = { [Fact in keyof ModelFacts]?: NonNullable<ModelFacts[Fact]> | undefined };

const UNKNOWN: ModelFacts = { contextTokens: null, maxOutputTokens: null, input: null, thinking: null };

const ANTHROPIC_MODELS: readonly CatalogueRow[] = Object.entries(KNOWN_MODELS).map(
  ([model, { contextTokens, outputTokensMax }]) => ({
    model: `anthropic/${model}`,
    contextTokens,
    maxOutputTokens: outputTokensMax,
    input: MODEL_INPUTS,
    thinking: THINKING_LEVELS,
    source: 'https://platform.claude.com/docs/en/models/overview',
    checkedAt: '2026-10-31',
  }),
);

const OTHERS = listed.models.map(({ model, contextTokens, maxOutputTokens, input, thinking }) => ({
  model,
  contextTokens,
  maxOutputTokens,
  // Texts in JSON have no narrower type; a test holds that they are these.
  input: input as ModelFacts['input'],
  thinking: thinking as ModelFacts['thinking'],
  source: listed.source,
  checkedAt: listed.checkedAt,
}));

const BUILT_IN: ReadonlyMap<string, CatalogueRow> = new Map(
  [...ANTHROPIC_MODELS, ...OTHERS].map((row) => [row.model, row]),
);

/**
 * The prices of the list, as rows of the price table; a model whose price is not known has none.
 */
export const LISTED_PRICES: readonly WrittenPriceRow[] = listed.models.flatMap(
  ({ model, inputPerMTok, outputPerMTok, cacheReadPerMTok, longPrompt }) =>
    inputPerMTok === undefined
      ? []
      : [
          {
            model,
            inputPerMTok,
            outputPerMTok,
            ...(cacheReadPerMTok === undefined ? {} : { cacheReadPerMTok }),
            ...(longPrompt === undefined ? {} : { longPrompt }),
            source: listed.source,
            checkedAt: listed.checkedAt,
          },
        ],
);

/** The row of a model, given as `provider/model`; null: nothing is known of it. */
export function catalogueRow(configured: Readonly<Record<string, WrittenFacts>>, ref: string): CatalogueRow | null {
  const builtIn = BUILT_IN.get(ref) ?? null;
  const written = Object.hasOwn(configured, ref) ? configured[ref] : undefined;
  if (written === undefined) return builtIn;
  const { contextTokens, maxOutputTokens, input, thinking } = builtIn ?? UNKNOWN;
  return {
    model: ref,
    contextTokens: written.contextTokens ?? contextTokens,
    maxOutputTokens: written.maxOutputTokens ?? maxOutputTokens,
    input: written.input ?? input,
    thinking: written.thinking ?? thinking,
    source: 'models.catalogue',
    checkedAt: null,
  };
}

/**
 * All rows: those of the configuration first, then the built-in ones in the order of their lists.
 */
export function listCatalogue(configured: Readonly<Record<string, WrittenFacts>>): CatalogueRow[] {
  const refs = new Set([...Object.keys(configured), ...BUILT_IN.keys()]);
  return [...refs].flatMap((ref) => catalogueRow(configured, ref) ?? []);
}
