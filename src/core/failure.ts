// Decides what a failed model call means for its turn: ask again, make the prompt smaller, or end.
// The only place that says what is retryable; it never waits and never counts, it only answers.
import type { ModelAnswer } from './model-request.ts';
import { classifyStopReason, stopMessage } from '../model/stream/stop-reasons.ts';
import { type Absence, CORRECT_ADDRESS, nextStep, type OutageCode, type Why } from '../kernel/rules/why.ts';

export interface ModelFault {
  /**
   * The HTTP status; null when no answer came, the stream was cut, or the error came inside a
   * stream.
   */
  status: number | null;
  /**
   * The provider's error type, or `network`, `wrong_address`, `cut_stream`, `malformed_stream`,
   * `idle_timeout`.
   */
  type: string;
  /** The provider's finer error code, where it gives one (`enforced_spend_limit_reached`). */
  errorCode?: string | null;
  /** How long the provider asks to wait at least, in milliseconds. */
  retryAfterMs: number | null;
  message: string;
}

/** The stable error codes of turns that failed because of a model call. */
type FailureCode =
  | 'model_rate_limited'
  | 'model_overloaded'
  | 'model_unavailable'
  | 'model_timeout'
  | 'model_conflict'
  | 'model_network'
  | 'model_wrong_address'
  | 'model_cut_stream'
  | 'model_malformed_stream'
  | 'model_context_overflow'
  | 'model_stopped_sensitive'
  | 'unhandled_stop_reason'
  | 'model_spend_limit'
  | 'model_invalid_request'
  | 'model_unauthorized'
  | 'model_billing'
  | 'model_forbidden'
  | 'model_not_found'
  | 'model_request_too_large'
  | 'model_unexpected_status'
  | 'model_failed';

/**
 * What a turn does about a failed call. `retry`: ask again, not before `notBeforeMs` milliseconds
 * from now (0: no minimum), as far as the turn's retry budget reaches. `overflow`: the prompt does
 * not fit; the same bytes will never do. `fatal`: end the turn.
 */
export type FailureVerdict =
  | { kind: 'retry'; code: FailureCode; notBeforeMs: number }
  | { kind: 'overflow'; code: FailureCode }
  | { kind: 'fatal'; code: FailureCode };

/** The longest wait that jitter alone may choose. */
export const RETRY_DELAY_MS_MAX = 30_000;
const RETRY_DELAY_MS_BASE = 500;

/** What the HTTP statuses mean. An error event inside a stream has only the provider's type. */
const STATUSES: Readonly<Record<number, { type?: string; code: FailureCode; isRetryable?: true }>> = {
  400: { type: 'invalid_request_error', code: 'model_invalid_request' },
  401: { type: 'authentication_error', code: 'model_unauthorized' },
  402: { type: 'billing_error', code: 'model_billing' },
  403: { type: 'permission_error', code: 'model_forbidden' },
  404: { type: 'not_found_error', code: 'model_not_found' },
  408: { code: 'model_timeout', isRetryable: true },
  409: { code: 'model_conflict', isRetryable: true },
  413: { type: 'request_too_large', code: 'model_request_too_large' },
  422: { code: 'model_invalid_request' },
  429: { type: 'rate_limit_error', code: 'model_rate_limited', isRetryable: true },
  500: { type: 'api_error', code: 'model_unavailable', isRetryable: true },
  504: { type: 'timeout_error', code: 'model_timeout', isRetryable: true },
  529: { type: 'overloaded_error', code: 'model_overloaded', isRetryable: true },
};

const RETRYABLE_TYPES: ReadonlyMap<string, FailureCode> = new Map<string, FailureCode>([
  ['network', 'model_network'],
  ['cut_stream', 'model_cut_stream'],
  ['malformed_stream', 'model_malformed_stream'],
  ['idle_timeout', 'model_timeout'],
]);

/**
 * The type of a refusal of a prompt that does not fit, and the reason of an answer that broke off
 * for it.
 */
export const CONTEXT_OVERFLOW = 'model_context_window_exceeded';

/**
 * The type of a refusal of what an earlier answer of the model has to come back with: reasoning, a
 * signature.
 */
export const REFUSED_ORIGIN = 'refused_origin';

/**
 * The type of a refusal because a tool was forced that an answer of a form needs, and of one
 * because answers came back without reasoning.
 */
export const REFUSED_FORCING = 'refused_forcing';
export const MISSING_REASONING = 'missing_reasoning';

/** The type of an answer that does not come from the provider's API (src/model/rules/address.ts). */
export const WRONG_ADDRESS = 'wrong_address';

/** The type of a refusal for what a prompt says. */
const CONTENT_FILTER = 'content_filter';

/** How a turn ends whose answer ended for such a reason. */
const CODE_OF_STOP = {
  sensitive: 'model_stopped_sensitive',
  unhandled: 'unhandled_stop_reason',
} as const satisfies Record<string, FailureCode>;

/**
 * The fault of an answer that was stopped for what it says, or for a reason that is not known;
 * null: it was not.
 */
export function faultOfStop({
  stopReason,
  wireStopReason = stopReason,
}: Pick<ModelAnswer, 'stopReason' | 'wireStopReason'>): { code: string; message: string } | null {
  if (stopReason !== 'sensitive' && stopReason !== 'unhandled') return null;
  return { code: CODE_OF_STOP[stopReason], message: stopMessage(stopReason, wireStopReason) };
}

/**
 * Says what a failed model call means. 400, 401, 403, 404 and 413 of the provider are never retried
 * (G16); 408, 409, 429, every 5xx, the network, an address at which something else answers, a cut
 * and a malformed stream are. A 429 that names a spend
 * limit and no time to wait is fatal: it lasts until the limit is raised.
 */
export function classifyFailure(fault: ModelFault): FailureVerdict {
  const status = statusOf(fault);
  if (isContextOverflow(fault, status)) return { kind: 'overflow', code: 'model_context_overflow' };
  if (fault.type === WRONG_ADDRESS) return { kind: 'retry', code: 'model_wrong_address', notBeforeMs: 0 };
  const stopReason = fault.type === CONTENT_FILTER ? CONTENT_FILTER : parseUnhandledStopReason(fault.message);
  if (stopReason !== null) return { kind: 'fatal', code: CODE_OF_STOP[classifyStopReason(stopReason)] };
  if (isSpendLimit(fault, status)) return { kind: 'fatal', code: 'model_spend_limit' };
  const retryCode = classifyRetry(fault.type, status);
  if (retryCode) return { kind: 'retry', code: retryCode, notBeforeMs: boundWaitMs(fault.retryAfterMs) };
  return { kind: 'fatal', code: STATUSES[status ?? 0]?.code ?? 'model_unexpected_status' };
}

/**
 * True when a shorter request may be taken: the prompt does not fit into the window, or the request
 * not through the server. Never asked again as it is.
 */
export function isTooLong(fault: ModelFault): boolean {
  const { kind, code } = classifyFailure(fault);
  return kind === 'overflow' || code === 'model_request_too_large';
}

/**
 * How long to wait before the next call, in milliseconds. `attempt` counts from 1 for the first
 * retry, `random` is in [0, 1). Full jitter over a ceiling that doubles from 500 ms up to 30 s, on
 * top of the time that the provider requested: never below `retryAfterMs`, and callers with the
 * same `retryAfterMs` do not return at the same time.
 */
export function retryDelayMs(wait: { attempt: number; random: number; retryAfterMs: number | null }): number {
  // 2 ** 6 * 500 ms is past the cap already; a greater exponent would only risk Infinity.
  const doublings = Math.min(Math.max(wait.attempt - 1, 0), 6);
  const ceilingMs = Math.min(RETRY_DELAY_MS_MAX, RETRY_DELAY_MS_BASE * 2 ** doublings);
  return boundWaitMs(wait.retryAfterMs) + Math.floor(wait.random * ceilingMs);
}

/**
 * The codes of faults that are not caused by the request: there was no answer, and nothing is
 * billed.
 */
const OUTAGE_CODES: ReadonlySet<FailureCode> = new Set<FailureCode>([
  'model_network',
  'model_overloaded',
  'model_unavailable',
]);

/**
 * What a turn waits for after such a fault (G33): `model_away` after connection errors, 5xx and
 * 529, `model_wrong_address` while something else answers, `rate_limited` after 429. Null: the fault may be the request's own, or was paid for; the
 * turn's retry budget decides.
 */
export function classifyOutage(fault: ModelFault): OutageCode | null {
  const verdict = classifyFailure(fault);
  if (verdict.kind !== 'retry') return null;
  if (verdict.code === 'model_rate_limited') return 'rate_limited';
  if (verdict.code === 'model_wrong_address') return verdict.code;
  // A gateway answers 504 when the model did not answer it in time. Our own idle limit has the same
  // code without a status.
  const isGatewayTimeout = fault.status === 504 || fault.type === 'timeout_error';
  return OUTAGE_CODES.has(verdict.code) || isGatewayTimeout ? 'model_away' : null;
}

/** Why calls of a model are held back after such a fault: what the provider said. */
export function absenceOf(fault: ModelFault): Absence {
  return { code: classifyOutage(fault) ?? 'model_away', text: fault.message };
}

/**
 * The status that a fault is judged by. A type that names the account, the key or the model counts
 * more than the status, with which some servers say less: a used-up quota is a 429 of OpenAI's, a
 * bad key a 400 of Google's.
 */
function statusOf({ type, status }: ModelFault): number | null {
  const named = statusOfType(type);
  return named !== null && named >= 401 && named <= 404 ? named : (status ?? named);
}

function statusOfType(type: string): number | null {
  const found = Object.entries(STATUSES).find(([, known]) => known.type === type);
  return found === undefined ? null : Number(found[0]);
}

function classifyRetry(type: string, status: number | null): FailureCode | null {
  if (status === null) return RETRYABLE_TYPES.get(type) ?? 'model_failed';
  const known = STATUSES[status];
  if (known !== undefined) return known.isRetryable === true ? known.code : null;
  return status >= 500 && status <= 599 ? 'model_unavailable' : null;
}

/**
 * The provider's two ways to say that a prompt does not fit, and the stop reason that says the
 * same.
 */
function isContextOverflow(fault: ModelFault, status: number | null): boolean {
  if (fault.type === CONTEXT_OVERFLOW) return true;
  return status === 400 && /prompt is too long|exceed(s|ed)? (the )?context (limit|window)/i.test(fault.message);
}

/**
 * Some gateways do not end an answer with a reason that they do not know, but fail with this text.
 * A retry fails again.
 */
function parseUnhandledStopReason(message: string): string | null {
  return /^unhandled stop reason:\s*"?([\w-]{1,100})/i.exec(message)?.[1] ?? null;
}

function isSpendLimit(fault: ModelFault, status: number | null): boolean {
  if (status !== 429 || fault.retryAfterMs !== null) return false;
  return /spend_limit/.test(fault.errorCode ?? '') || /spend(ing)?[ _]limit/i.test(`${fault.type} ${fault.message}`);
}

function boundWaitMs(retryAfterMs: number | null): number {
  return retryAfterMs !== null && retryAfterMs > 0 ? Math.ceil(retryAfterMs) : 0;
}

// What a person can do about failed work, by its error code: the one place that says it. The
// dashboard, the command line, dead letters and docs/how-to/troubleshooting.md show these texts.
// What waits has its steps beside its reasons (why.ts).

const ACCOUNT = 'Correct the key or the account at the provider, then retry.';
const LENGTH =
  'Reset the session, send a shorter message, or retry with a model that has a larger context window. The message says if a summary could not be made.';
const OUTAGE =
  'Retry when the provider answers again, or retry on another model. If other programs can reach the provider, check the proxies in between.';
const STOPPED =
  'Change the prompt, or retry on another model: the provider stopped the answer, and the message has its reason.';
const MODEL_NAME = "Correct the model's name in the configuration, or retry on another model.";
const CHANGED =
  'The configuration or a plugin changed after the message was sent: restore what is missing, then retry.';
const NOT_STORED = 'Check the log and the disk of the database, then retry.';
const FAULT = 'The log has the fault with the id of the turn. Please report it; a retry may succeed.';

const STEPS: Readonly<Record<string, string>> = {
  model_unauthorized: ACCOUNT,
  model_forbidden: ACCOUNT,
  model_billing: ACCOUNT,
  model_spend_limit: ACCOUNT,
  model_not_found: MODEL_NAME,
  unknown_model: MODEL_NAME,
  model_invalid_request:
    'Read the message: it says what the provider rejected. "holdfast turns request <id> <n>" prints the request. Correct the cause, then retry.',
  blocked: LENGTH,
  model_context_overflow: LENGTH,
  model_request_too_large: LENGTH,
  model_overloaded: OUTAGE,
  model_unavailable: OUTAGE,
  model_network: OUTAGE,
  model_wrong_address: `${CORRECT_ADDRESS} Then retry.`,
  model_timeout: OUTAGE,
  model_rate_limited: OUTAGE,
  model_conflict: OUTAGE,
  model_cut_stream: OUTAGE,
  model_malformed_stream: OUTAGE,
  model_unexpected_status: OUTAGE,
  model_failed: OUTAGE,
  model_stopped_sensitive: STOPPED,
  unhandled_stop_reason: STOPPED,
  output_invalid:
    'Read the message: it says where the answer differs from the schema. Make the schema or the prompt clearer, or retry on another model.',
  turn_timeout: 'Look at what took the time, then retry, or raise agents.defaults.timeoutSeconds.',
  max_steps: 'Look at its last steps before you raise maxSteps: the agent kept calling tools until the limit.',
  poison: 'Check the logs of its workers at the times of its attempts: often a tool used up the memory. Then retry.',
  budget_exceeded: 'Raise the budget, or wait for its next window, then retry.',
  caller_timeout:
    'Your program did not send the result of its tool in time: correct that, then send the message again.',
  expired: 'Send the message again if it still matters: its expiresAt passed before it was answered.',
  unknown_agent: CHANGED,
  harness_missing: CHANGED,
  harness_failed: 'Read the message of the plugin that answers instead of a model, correct the cause, then retry.',
  calls_lost: NOT_STORED,
  commit_failed: NOT_STORED,
  internal_error: FAULT,
  malformed_history: FAULT,
  delivery_failed: 'Fix the receiver, then redrive the delivery.',
  delivery_expired: 'Fix the receiver, then redrive the delivery if its reply still matters.',
  item_gone: 'Nothing is left to do: the item that this run of an evaluation asks was erased or deleted.',
  parent_gone:
    'No session is left to receive the result: read it in the turns of the subagent, then discard the letter.',
};

/** The codes that have a step. */
export const FAILURE_CODES: readonly string[] = Object.keys(STEPS);

/** What to do about failed work; null: the code is not known, or nothing is to be done. */
export function failureStep(code: string): string | null {
  return STEPS[code] ?? null;
}

/**
 * What to do about a turn: about calls with an unknown outcome, then about its error, or about what
 * it waits for.
 */
export function turnStep({
  error,
  why,
  unknownCalls,
}: {
  error: { code: string } | null;
  why: Why | null;
  unknownCalls: number;
}): string | null {
  const steps = [
    unknownCalls === 0 ? null : UNKNOWN_STEP,
    error !== null ? failureStep(error.code) : why === null ? null : nextStep(why) || null,
  ].filter((step) => step !== null);
  return steps.length === 0 ? null : steps.join(' ');
}

const UNKNOWN_STEP = 'Check what the calls with an unknown outcome have done: each may or may not have taken effect.';
