// What an answer says at its end: why it ended, and how many tokens it has used. Of both only what
// can be believed is kept.
import { cutHead } from '../../core/text.ts';
import type { ModelStopReason, Usage, ModelRequest } from '../../core/model-request.ts';
import { endWithNote, listCalls, noteRepair, type DraftAnswer } from './draft-answer.ts';
import { isObject } from '../../core/json.ts';
import type { ContentBlock } from '../../core/content.ts';
import { CHARS_PER_TOKEN, estimateTokens } from '../../core/content-size.ts';

// Why an answer ended, in the words of all servers. Words that end an answer early because of its
// content end the turn with a text for people; tool calls of such an answer are not run. A word
// that is not known ends an answer that is whole. The times after which a call ends that receives
// nothing are here, too.

/** `interrupted`: the server ended the answer before it was complete, so the call is made again. */
type Meaning = ModelStopReason | 'interrupted';

/**
 * What the words mean, in lower case without separators: `STOP`, `eos_token` and `end-turn` are
 * found as `stop`, `eostoken` and `endturn`.
 */
const MEANINGS: ReadonlyMap<string, Meaning> = new Map<string, Meaning>([
  ...wordsOf(
    'end_turn',
    'end_turn stop eos eos_token eos_found end complete completed done finish finished normal success',
  ),
  ...wordsOf('tool_use', 'tool_use tool_uses tool_call tool_calls function_call function_calls'),
  ...wordsOf(
    'max_tokens',
    'max_tokens max_output_tokens max_new_tokens max_length length length_limit limit token_limit',
  ),
  ...wordsOf('max_tokens', 'model_length context_length truncated incomplete continuation'),
  ...wordsOf('stop_sequence', 'stop_sequence stop_word stop_words stop_token stop_string word'),
  ...wordsOf('pause_turn', 'pause_turn'),
  ...wordsOf('refusal', 'refusal'),
  ...wordsOf('model_context_window_exceeded', 'model_context_window_exceeded'),
  ...wordsOf(
    'sensitive',
    'sensitive content_filter content_filtered content_policy content_blocked safety image_safety',
  ),
  ...wordsOf('sensitive', 'blocklist prohibited_content recitation spii guardrail_intervened error_toxic'),
  ...wordsOf(
    'interrupted',
    'abort aborted cancel canceled cancelled user_cancel interrupt interrupted disconnect disconnected',
  ),
  ...wordsOf(
    'interrupted',
    'insufficient_system_resource insufficient_system_resources overloaded unload timeout timed_out',
  ),
  ...wordsOf('interrupted', 'error failed failure internal_error server_error network_error connection_error'),
]);

function wordsOf(meaning: Meaning, words: string): [string, Meaning][] {
  return words.split(' ').map((word) => [plain(word), meaning]);
}

function plain(word: string): string {
  return word.toLowerCase().replace(/[^a-z]/g, '');
}

/** What a word means; null: it is not known. */
export function readStopReason(wire: string): Meaning | null {
  return MEANINGS.get(plain(wire)) ?? null;
}

/** The reasons with which a model ends an answer itself, after whole blocks. */
const WHOLE: ReadonlySet<string> = new Set<Meaning>(['end_turn', 'tool_use', 'pause_turn']);

/**
 * Step: an answer that was stopped for what it says ends with a note that says so. A reason that is
 * not known ends an answer like any other, unless the arguments of a call are not whole.
 */
export function takeStopReason(answer: DraftAnswer): DraftAnswer {
  const wire = answer.wireStopReason;
  const known = readStopReason(wire);
  if (known !== null && known !== 'sensitive' && known !== 'interrupted') return { ...answer, stopReason: known };
  const noted = noteRepair(answer, { step: 'stop-reason', callId: null, was: wire });
  if (known === null && hasWholeCalls(answer))
    return { ...noted, stopReason: listCalls(answer).length > 0 ? 'tool_use' : 'end_turn' };
  const stopReason = classifyStopReason(wire);
  return endWithNote(noted, `[${stopMessage(stopReason, wire)}]`, stopReason);
}

/** True when the arguments of all calls were whole JSON as they came. */
function hasWholeCalls({ malformedInputs, repairs }: DraftAnswer): boolean {
  return Object.keys(malformedInputs).length === 0 && !repairs.some(({ step }) => step === 'repair-arguments');
}

/** True for a reason that may end an answer within a call. */
export function isCut(wire: string): boolean {
  return !WHOLE.has(readStopReason(wire) ?? '');
}

/** The stop reason for a word that ends an answer early. */
export function classifyStopReason(wire: string): 'sensitive' | 'unhandled' {
  return readStopReason(wire) === 'sensitive' ? 'sensitive' : 'unhandled';
}

/** What happened, for a person. */
export function stopMessage(stopReason: 'sensitive' | 'unhandled', wire: string): string {
  const reason = JSON.stringify(cutHead(wire, 100));
  return stopReason === 'sensitive'
    ? `The provider stopped this answer because of its content (stop reason ${reason}).`
    : `The provider stopped this answer for a reason that Holdfast does not know (stop reason ${reason}).`;
}

// How long a model may send nothing before a call times out, by what started the turn. Every
// received byte restarts the limit; a long answer that keeps arriving is never cut.

/** The limits of an agent, in seconds; 0: off. */
export interface IdleLimits {
  idleTimeoutSeconds: number;
  /** In cron jobs. */
  cronIdleTimeoutSeconds: number;
}

/**
 * Where the configuration sets none. In a cron job it is short enough that another try still fits
 * into its time.
 */
export const IDLE_LIMITS_DEFAULT: Readonly<IdleLimits> = { idleTimeoutSeconds: 120, cronIdleTimeoutSeconds: 60 };

/**
 * This many consecutive calls that timed out, without an answer in between, end a turn, even with
 * retry budget left.
 */
export const IDLE_TIMEOUTS_IN_A_ROW_MAX = 5;

/**
 * How long a model can be silent, in milliseconds; 0: as long as the turn can take. Never longer
 * than the turn itself. No person waits for a cron job, but it holds one of few slots.
 */
export function idleTimeoutMs(turn: { limits: IdleLimits; isCron: boolean; turnTimeoutSeconds: number }): number {
  const { limits, isCron, turnTimeoutSeconds } = turn;
  const seconds = isCron ? limits.cronIdleTimeoutSeconds : limits.idleTimeoutSeconds;
  return Math.min(seconds, turnTimeoutSeconds) * 1000;
}

// Reads the usage figures of a provider. They are foreign data on their way into integer columns
// and into the estimate of how full the context is, so each becomes a whole number within a bound
// here, and nowhere later.

/**
 * The largest figure that is believed: far above every context window, and so small that sums of
 * many stay exact.
 */
export const TOKENS_MAX = 2 ** 40;

const WIRE_NAMES = {
  inputTokens: 'input_tokens',
  outputTokens: 'output_tokens',
  cacheReadTokens: 'cache_read_input_tokens',
  cacheWriteTokens: 'cache_creation_input_tokens',
} as const satisfies Record<Exclude<keyof Usage, 'cacheWrite1hTokens'>, string>;

/**
 * The figures after an event that brings `wire`. They are running totals: a later one replaces an
 * earlier one. What is no finite number leaves the figure as it was; a fraction is rounded up, and
 * the result is kept between 0 and 2^40.
 */
export function usageAfter(before: Usage, wire: unknown): Usage {
  if (!isObject(wire)) return before;
  const figure = (name: keyof typeof WIRE_NAMES): number => readTokenCount(wire[WIRE_NAMES[name]]) ?? before[name];
  const cacheWriteTokens = figure('cacheWriteTokens');
  const cacheWrite1hTokens = Math.min(readHourTokens(wire) ?? before.cacheWrite1hTokens ?? 0, cacheWriteTokens);
  return {
    inputTokens: figure('inputTokens'),
    outputTokens: figure('outputTokens'),
    cacheReadTokens: figure('cacheReadTokens'),
    cacheWriteTokens,
    ...(cacheWrite1hTokens === 0 ? {} : { cacheWrite1hTokens }),
  };
}

/**
 * The tokens that were written into the cache for an hour; null when the provider does not report
 * it.
 */
function readHourTokens({ cache_creation: written }: Record<string, unknown>): number | null {
  return isObject(written) ? readTokenCount(written['ephemeral_1h_input_tokens']) : null;
}

/** A figure as a whole number from 0 to 2^40; null when it is no finite number. */
function readTokenCount(figure: unknown): number | null {
  if (typeof figure !== 'number' || !Number.isFinite(figure)) return null;
  return Math.min(TOKENS_MAX, Math.max(0, Math.ceil(figure)));
}

/**
 * No model takes a longer prompt, in tokens. Windows of single models change, and the figures of an
 * unknown one may be right.
 */
const WINDOW_TOKENS_MAX = 1_000_000;

/** Providers count a little more than they bound: their own instructions, the end of an answer. */
const SLACK = 2;

/** No figure of any call is greater. */
export const CALL_TOKENS_MAX = SLACK * WINDOW_TOKENS_MAX;

type AskedRequest = Pick<ModelRequest, 'system' | 'tools' | 'messages' | 'maxTokens'>;

/**
 * The usage, with an estimate in place of each part that the request cannot have: a prompt beyond
 * every window, an answer beyond what was asked for. The same object when all of it is possible.
 */
export function believableUsage(usage: Usage, request: AskedRequest, content: readonly ContentBlock[]): Usage {
  const { outputTokens, ...prompt } = usage;
  const promptTokens = usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;
  const isPromptOdd = promptTokens > CALL_TOKENS_MAX;
  const isOutputOdd = outputTokens > SLACK * request.maxTokens;
  if (!isPromptOdd && !isOutputOdd) return usage;
  const { system, tools, messages } = request;
  const fixedTokens = (): number => JSON.stringify({ system, tools }).length / CHARS_PER_TOKEN;
  return {
    ...(isPromptOdd
      ? { inputTokens: Math.ceil(fixedTokens() + estimateTokens(messages)), cacheReadTokens: 0, cacheWriteTokens: 0 }
      : prompt),
    outputTokens: isOutputOdd ? Math.min(request.maxTokens, estimateTokens([{ content: [...content] }])) : outputTokens,
  };
}
