// The Anthropic models that Holdfast knows, as data: how large they are, how they are made to think, and until when they are served.
// Names come from the `Model` type of the SDK and end dates from its list of deprecated models (a test compares both); the other figures
// come from https://platform.claude.com/docs/en/models/overview and .../build-with-claude/thinking-troubleshooting. A model that
// is not listed works as well: `thinkingFormOf` says what is assumed about it.
// The ids of the scripted model's answers begin with a mark of their own.

/** How much work a model puts into an answer, thinking included: `output_config.effort`. `max` is never sent: it knows no bound. */
export type Effort = 'low' | 'medium' | 'high' | 'xhigh';

/**
 * How a model is made to think. `budget`: by a number of tokens, and not at all without one. `adaptive`: the model decides, steered by an
 * effort; `whenOff` is what is sent so that it thinks least.
 */
export type ThinkingForm =
  | { kind: 'budget' }
  | {
      kind: 'adaptive';
      /** False: `xhigh` is refused, and `high` is sent in its place. */
      takesXhigh: boolean;
      /**
       * `absent`: no field, as it does not think unless asked to. `disabled` and `between_tools`: that type of thinking.
       * `least_effort`: thinking cannot be turned off, so the lowest effort is sent.
       */
      whenOff: 'absent' | 'disabled' | 'between_tools' | 'least_effort';
    };

export interface KnownModel {
  /** The window and the longest answer (`max_tokens`), in tokens. */
  contextTokens: number;
  outputTokensMax: number;
  thinking: ThinkingForm;
  /** Set when the provider has announced the end; days as YYYY-MM-DD. `deprecatedOn` is absent where no source gives it. */
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
 * How a model is made to think. Of those that are not listed, a newer Claude is assumed to decide for itself and gets no field when
 * thinking is off, because no model refuses a request without the field; every other model takes a budget.
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
 * What to say about the end of a model, given as `provider/model`: null when it has none, or is not one of Anthropic's. `today` is a day as
 * YYYY-MM-DD.
 */
export function endOfModel(ref: string, today: string): string | null {
  const end = ref.startsWith(ANTHROPIC) ? knownModel(ref.slice(ANTHROPIC.length))?.end : undefined;
  if (end === undefined) return null;
  const what = today < end.endsOn ? 'is deprecated and ends on' : 'has ended: its provider announced the end for';
  return `${ref} ${what} ${end.endsOn}. Use another model, such as ${CURRENT_MODEL}.`;
}

// The mark of the scripted model's answers. The server of the demo and the tests answers like a provider, and its answers are priced like
// those of the model that was asked; by the ids of its messages, every sum says that no money was spent.

/** The prefix of the ids of its messages. */
export const SCRIPTED_ID_START = 'msg_scripted_';

/** True for the id of a message that the scripted model has written. */
export function isScriptedId(id: string | null): boolean {
  return id?.startsWith(SCRIPTED_ID_START) ?? false;
}
