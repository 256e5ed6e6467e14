// What a request says about thinking and about the length of its answer: the thinking level of a turn in the form that its model takes.
import { catalogueRow } from './catalogue/catalogue.ts';
import { DEFAULT_PROVIDER } from './model-ref.ts';
import type { ModelRequest, ThinkingSetting } from './model-request.ts';
import { knownModel, thinkingFormOf, type Effort, type ThinkingForm } from './models.ts';
import type { ThinkingLevel } from '../prompt/thinking-directive.ts';

/** The most tokens of an answer, thinking not counted. */
const ANSWER_TOKENS_MAX = 16_384;

/** How much a model that takes a budget may think, in tokens. Providers refuse budgets below 1,024. */
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

/** Room in `max_tokens` for what such a model thinks, by effort; `default` is for its own. No provider reserves it. */
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
}

/** The limits and the thinking of a request: `maxTokens` covers thinking and answer together, within the model's maximum. */
export function thinkingRequest(choice: ThinkingChoice): ThinkingRequest {
  const { provider = DEFAULT_PROVIDER, model, answerTokensMax = ANSWER_TOKENS_MAX } = choice;
  const isAnthropic = provider === DEFAULT_PROVIDER;
  const form: ThinkingForm = isAnthropic ? thinkingFormOf(model) : { kind: 'budget' };
  const { thinking = null, maxOutputTokens = null } =
    (isAnthropic ? null : catalogueRow({}, `${provider}/${model}`)) ?? {};
  // A model that does not think refuses to be asked how much.
  const level = thinking?.every((each) => each === 'off') === true ? 'off' : choice.level;
  const { thinkingTokens, ...asked } = form.kind === 'budget' ? withBudget(level) : withEffort(choice, form);
  const outputTokensMax = (isAnthropic ? knownModel(model)?.outputTokensMax : maxOutputTokens) ?? Infinity;
  return { maxTokens: Math.min(answerTokensMax + thinkingTokens, outputTokensMax), ...asked };
}

interface ThinkingFields extends Pick<ThinkingRequest, 'thinking' | 'effort'> {
  thinkingTokens: number;
}

function withBudget(level: ThinkingLevel): ThinkingFields {
  if (level === 'off') return { thinkingTokens: 0 };
  const budget = BUDGETS[level];
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
