// Why something waits, as docs/api.md describes it.
import { isUuid } from '../../core/ids.ts';

/** Why a message, a turn or an item of a batch waits. Times are ISO 8601. */
export interface Why {
  code: string;
  /** For people. */
  text: string;
  since: string;
  /** When it is checked again at the latest; null: not known. */
  until: string | null;
  /** The object for which it waits: the provider of a model, a turn, a worker, a lane; null: it has no name. */
  by: string | null;
}

/** The number of waiting messages at which a count stops. */
export const WAITING_COUNT_MAX = 10_000;

const BY_ITSELF = 'It continues by itself.';

const STEPS: Readonly<Record<string, string>> = {
  model_away: `${BY_ITSELF} If the provider stays away, name other models in agents.defaults.fallbacks.`,
  rate_limited: `${BY_ITSELF} If this is frequent, set models.limits below what the provider allows.`,
  model_blocked: `${BY_ITSELF} "holdfast models unblock" calls the model now.`,
  retry_wait: BY_ITSELF,
  budget_reached:
    'Raise the limit of the budget, or wait for its next window if the call fits into a whole window: "holdfast budgets list" shows both.',
  provider_batch: `${BY_ITSELF} The provider may take a day.`,
  caller: 'The program that sent the message has to send the results of its tools.',
  session_busy: 'It is taken up after that turn, which "holdfast turns list" shows.',
  lock_of_lost_worker: `${BY_ITSELF} "holdfast workers list" shows which workers run.`,
  gathering: BY_ITSELF,
  yielded: `${BY_ITSELF} "holdfast subagents list <session>" shows the subagents.`,
  delivery_retried: 'It is tried again by itself. Check the receiver.',
  delayed: BY_ITSELF,
  // The text of these two says what to do.
  paused: '',
  no_worker: '"holdfast workers list" shows which processes run.',
  storage_unavailable:
    'Free space on the disk of the database, or repair the disk; the service then continues without a restart.',
  lane_full: 'Start more workers, or give the lane more slots (HOLDFAST_CONCURRENCY).',
  queue_unreachable: 'Start the queue again: "holdfast doctor" says what is wrong with it.',
  ring_lost: `${BY_ITSELF} If it stays longer than a minute, run "holdfast doctor".`,
};

/** The codes that have a step. */
export const NEXT_STEP_CODES: readonly string[] = Object.keys(STEPS);

/** What to do next, as sentences; empty: the text of the reason says it, or its code is not known. */
export function nextStep({ code, by }: Pick<Why, 'code' | 'by'>): string {
  if (code === 'session_busy' && by !== null && isUuid(by))
    return `It is taken up after that turn: "holdfast turns watch ${by}" follows it, and "holdfast turns abort ${by}" stops it.`;
  return STEPS[code] ?? '';
}

/** A delivery as far as it matters here. */
export interface RetriedDelivery {
  status: string;
  lastError: string | null;
  attempts: number;
  createdAt: string;
  dueAt: string;
  channel: string;
}

/** Null: it is not retried. */
export function whyRetried({ status, lastError, attempts, createdAt, dueAt, channel }: RetriedDelivery): Why | null {
  if ((status !== 'pending' && status !== 'sending') || lastError === null) return null;
  const text = `The receiver has not accepted its delivery in ${attempts === 1 ? '1 attempt' : `${attempts} attempts`}. Last: ${lastError}`;
  return { code: 'delivery_retried', text, since: createdAt, until: dueAt, by: channel };
}
