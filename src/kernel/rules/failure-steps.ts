// What a person can do about failed work, by its error code: the one place that says it. The dashboard, the command line, dead letters and
// docs/how-to/troubleshooting.md show these texts. What waits has its steps beside its reasons (why.ts).
import { nextStep, type Why } from './why.ts';

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
  turn_timeout: 'Look at what took the time, then retry, or raise `agents.defaults.timeoutSeconds`.',
  max_steps: 'Look at its last steps before you raise `maxSteps`: the agent kept calling tools until the limit.',
  poison: 'Check the logs of its workers at the times of its attempts: often a tool used up the memory. Then retry.',
  budget_exceeded: 'Raise the budget, or wait for its next window, then retry.',
  caller_timeout:
    'Your program did not send the result of its tool in time: correct that, then send the message again.',
  expired: 'Send the message again if it still matters: its `expiresAt` passed before it was answered.',
  unknown_agent: CHANGED,
  harness_missing: CHANGED,
  harness_failed: 'Read the message of the plugin that answers instead of a model, correct the cause, then retry.',
  calls_lost: NOT_STORED,
  commit_failed: NOT_STORED,
  internal_error: FAULT,
  malformed_history: FAULT,
  delivery_failed: 'Fix the receiver, then redrive the delivery.',
  delivery_expired: 'Fix the receiver, then redrive the delivery if its reply still matters.',
  parent_gone:
    'No session is left to receive the result: read it in the turns of the subagent, then discard the letter.',
};

/** The codes that have a step. */
export const FAILURE_CODES: readonly string[] = Object.keys(STEPS);

/** What to do about failed work; null: the code is not known, or nothing is to be done. */
export function failureStep(code: string): string | null {
  return STEPS[code] ?? null;
}

/** What to do about a turn: about its error, or about what it waits for. */
export function turnStep({ error, why }: { error: { code: string } | null; why: Why | null }): string | null {
  if (error !== null) return failureStep(error.code);
  return why === null ? null : nextStep(why) || null;
}
