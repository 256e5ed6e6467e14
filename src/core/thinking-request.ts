// What a request says about thinking and about the length of its answer: the thinking level of a
// turn in the form that its model takes.
import {
  catalogueRow,
  type ModelFacts,
  DEFAULT_PROVIDER,
  refOfModel,
  thinkingFormOf,
  type ThinkingForm,
  THINKING_LEVELS,
  type ThinkingLevel,
} from './models.ts';
import type { Effort, ModelRequest, ThinkingSetting } from './model-request.ts';

/** The most tokens of an answer, thinking not counted. */
const ANSWER_TOKENS_MAX = 16_384;

/**
 * How much a model that takes a budget may think, in tokens. Providers refuse budgets below 1,024.
 */
const BUDGETS: Record<Exclude<ThinkingLevel, 'off'>, number> = {
  minimal: 1_024,
  low: 4_096,
  medium: 8_192,
  high: 16_384,
  xhigh: 32_768,
  adaptive: 8_192,
};

/** The effort of a model that decides for itself how much it thinks; null: its own default. */
const EFFORTS: Record<Exclude<ThinkingLevel, 'off'>, Effort | null> = {
  minimal: 'low',
  low: 'low',
  medium: 'medium',
  high: 'high',
  xhigh: 'xhigh',
  adaptive: null,
};

/**
 * Room in `max_tokens` for what such a model thinks, by effort; `default` is for its own. No
 * provider reserves it.
 */
const THINKING_TOKENS: Record<Effort | 'default', number> = {
  low: 8_192,
  medium: 16_384,
  high: 32_768,
  xhigh: 49_152,
  default: 32_768,
};

/** The part of a request that follows from its model and its thinking level. */
export type ThinkingRequest = Pick<ModelRequest, 'maxTokens' | 'thinking' | 'effort'>;

export interface ThinkingChoice {
  level: ThinkingLevel;
  /** Absent: the default provider. */
  provider?: string | undefined;
  /** The provider's model id. */
  model: string;
  /** True when the thinking of the model is shown: newer models omit it unless it is requested. */
  isShown?: boolean;
  /** The most tokens of the answer itself; absent: that of turns. */
  answerTokensMax?: number;
  /** What is known of the model; null: nothing; absent: what the built-in list says. */
  facts?: ModelFacts | null;
}

/**
 * The limits and the thinking of a request: `maxTokens` covers thinking and answer together, within
 * the model's maximum.
 */
export function thinkingRequest(choice: ThinkingChoice): ThinkingRequest {
  const { provider = DEFAULT_PROVIDER, model, answerTokensMax = ANSWER_TOKENS_MAX } = choice;
  const { facts = catalogueRow({}, refOfModel({ provider, model })) } = choice;
  const form: ThinkingForm = provider === DEFAULT_PROVIDER ? thinkingFormOf(model) : { kind: 'budget' };
  const outputTokensMax = facts?.maxOutputTokens ?? Infinity;
  const level = boundLevel(choice.level, facts?.thinking ?? THINKING_LEVELS);
  const { thinkingTokens, ...asked } =
    form.kind === 'budget' ? withBudget(level, outputTokensMax) : withEffort({ ...choice, level }, form);
  return { maxTokens: Math.min(answerTokensMax + thinkingTokens, outputTokensMax), ...asked };
}

/**
 * The level that a model has in place of another: as much thinking at most, but some where it has
 * any. `off` asks for nothing.
 */
function boundLevel(level: ThinkingLevel, has: readonly ThinkingLevel[]): ThinkingLevel {
  if (level === 'off' || has.includes(level)) return level;
  const thinking = has.filter((each) => each !== 'off').toSorted((one, other) => rankOf(one) - rankOf(other));
  return thinking.findLast((each) => rankOf(each) <= rankOf(level)) ?? thinking[0] ?? 'off';
}

/** A model that chooses by itself thinks about as much as with `medium`. */
function rankOf(level: ThinkingLevel): number {
  return THINKING_LEVELS.indexOf(level === 'adaptive' ? 'medium' : level);
}

/** The least room for an answer, and how much of it a budget of thinking may take. */
const ANSWER_TOKENS_MIN = 256;

const THINKING_SHARE_MAX = 0.5;

/**
 * The limits of a request that is left so many tokens of the window; the same object where they
 * fit.
 */
export function fitLimits(limits: ThinkingRequest, roomTokens: number): ThinkingRequest {
  const maxTokens = Math.max(ANSWER_TOKENS_MIN, Math.floor(roomTokens));
  if (limits.maxTokens <= maxTokens) return limits;
  const { thinking, ...rest } = limits;
  if (thinking?.type !== 'enabled') return { ...limits, maxTokens };
  const budgetMax = Math.min(thinking.budget_tokens, maxTokens * THINKING_SHARE_MAX);
  const budget = Math.max(0, ...Object.values(BUDGETS).filter((tokens) => tokens <= budgetMax));
  return { ...rest, maxTokens, ...(budget === 0 ? {} : { thinking: { type: 'enabled', budget_tokens: budget } }) };
}

interface ThinkingFields extends Pick<ThinkingRequest, 'thinking' | 'effort'> {
  thinkingTokens: number;
}

/** A budget is less than the longest answer, which it is a part of. */
function withBudget(level: ThinkingLevel, outputTokensMax: number): ThinkingFields {
  if (level === 'off') return { thinkingTokens: 0 };
  const fitting = Object.values(BUDGETS).filter((tokens) => tokens <= BUDGETS[level] && tokens < outputTokensMax);
  if (fitting.length === 0) return { thinkingTokens: 0 };
  const budget = Math.max(...fitting);
  return { thinkingTokens: budget, thinking: { type: 'enabled', budget_tokens: budget } };
}

function withEffort(
  { level, isShown = false }: ThinkingChoice,
  form: Extract<ThinkingForm, { kind: 'adaptive' }>,
): ThinkingFields {
  const { whenOff, takesXhigh } = form;
  if (level === 'off' && whenOff !== 'least_effort') {
    return { thinkingTokens: 0, ...(whenOff === 'absent' ? undefined : { thinking: { type: whenOff } }) };
  }
  const wanted = level === 'off' ? 'low' : EFFORTS[level];
  const effort = wanted === 'xhigh' && !takesXhigh ? 'high' : wanted;
  const thinking: ThinkingSetting = { type: 'adaptive', ...(isShown ? { display: 'summarized' } : undefined) };
  return {
    thinkingTokens: THINKING_TOKENS[effort ?? 'default'],
    thinking,
    ...(effort === null ? undefined : { effort }),
  };
}
