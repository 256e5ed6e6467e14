// Why something waits: every reason with its code, its text, its order among the others, and what a
// person can do about it. Features that hold calls say the texts of their waits (`explain` in
// src/kernel/turn/hold-kind.ts), as do budgets, and batches for their items
// (src/features/batches/rules/batch.ts).
import type { HoldCode } from '../../core/statuses.ts';
import { isUuid } from '../../core/ids.ts';
import { providerOf, refOfModel, type NamedModel } from '../../core/models.ts';

export interface Reason {
  code: string;
  /** For people. */
  text: string;
  /**
   * The object for which it waits: the provider of a model, a turn, a worker, a lane; null: it has
   * no name.
   */
  by: string | null;
}

/**
 * Why a message, a turn or an item of a batch waits, as docs/api.md describes it. Times are ISO
 * 8601.
 */
export interface Why extends Reason {
  since: string;
  /** When it is checked again at the latest; null: not known. */
  until: string | null;
}

/** The number of waiting messages at which a count stops. */
export const WAITING_COUNT_MAX = 10_000;

/** What a turn waits for when its model cannot answer. */
export type OutageCode = 'model_away' | 'model_wrong_address' | 'rate_limited';

/** What to do about an address at which a provider's API is not. */
export const CORRECT_ADDRESS =
  'Correct the address of the provider (models.providers.<name>.baseUrl); "holdfast models probe <provider>" tests it.';

const BY_ITSELF = 'It continues by itself.';

/** What to do next, by the code. */
const STEPS = {
  model_away: `${BY_ITSELF} If the provider stays away, name other models in agents.defaults.fallbacks.`,
  model_wrong_address: `${CORRECT_ADDRESS} The turns that wait for it then continue by themselves.`,
  rate_limited: `${BY_ITSELF} If this is frequent, set models.limits below what the provider allows.`,
  model_blocked: `${BY_ITSELF} "holdfast models unblock" calls the model now.`,
  retry_wait: BY_ITSELF,
  budget_reached:
    'Raise the limit of the budget, or wait for its next window if the call fits into a whole window: "holdfast budgets list" shows both.',
  provider_batch: `${BY_ITSELF} The provider may take a day.`,
  caller: 'The program that sent the message has to send the results of its tools.',
  approval: '"holdfast approvals list" shows what would run; approve or deny it.',
  external_tool:
    'The program that runs the tool has to send the result: POST /v1/tool-calls/{id}/result. "holdfast tool-calls list" shows the calls that wait.',
  task: `${BY_ITSELF} The server of the tool says when the task has ended.`,
  session_busy: 'It is taken up after that turn, which "holdfast turns list" shows.',
  lock_of_lost_worker: `${BY_ITSELF} "holdfast workers list" shows which workers run.`,
  gathering: BY_ITSELF,
  yielded: `${BY_ITSELF} "holdfast subagents list <session>" shows the subagents.`,
  delivery_retried: 'It is tried again by itself. Check the receiver; "holdfast deliveries send <id>" tries it now.',
  delayed: BY_ITSELF,
  // The text of these two says what to do.
  paused: '',
  no_worker: '"holdfast workers list" shows which processes run.',
  storage_unavailable:
    'Free space on the disk of the database, or repair the disk; the service then continues without a restart.',
  lane_full: 'Start more workers, or give the lane more slots (HOLDFAST_CONCURRENCY).',
  queue_unreachable: 'Start the queue again: "holdfast doctor" says what is wrong with it.',
  ring_lost: `${BY_ITSELF} If it stays longer than a minute, run "holdfast doctor".`,
} satisfies Record<HoldCode, string> & Record<string, string>;
type Code = keyof typeof STEPS;

/** The codes that have a step. */
// The keys are those of the type.
export const NEXT_STEP_CODES = Object.keys(STEPS) as readonly Code[];

/**
 * What to do next, as sentences; empty: the text of the reason says it, or its code is not known.
 */
export function nextStep({ code, by }: Pick<Why, 'code' | 'by'>): string {
  if (code === 'session_busy' && by !== null && isUuid(by))
    return `It is taken up after that turn: "holdfast turns watch ${by}" follows it, and "holdfast turns abort ${by}" stops it.`;
  const steps: Readonly<Record<string, string>> = STEPS;
  return steps[code] ?? '';
}

// The reasons that are stored, with the turn that is parked for them: only its worker knows them.
const reason = (code: Code, text: string, by: string | null): Reason => ({ code, text, by });

/** Why calls of a model have failed: its outage in the words of its server. */
export type Absence = Pick<Reason, 'text'> & { code: OutageCode };

/** `absence`: null if it is not known. */
export function modelAway(model: NamedModel, absence: Absence | null): Reason {
  const { code, text } = absence ?? { code: 'model_away', text: '' };
  const what = code === 'model_wrong_address' ? 'is not at its address' : 'does not answer';
  return reason(code, `The model ${refOfModel(model)} ${what}. ${text}`.trim(), providerOf(model));
}

export function modelBlocked(model: NamedModel, leftMs: number): Reason {
  const by = refOfModel(model);
  const text = `The provider has asked for no calls of ${by} for ${Math.ceil(leftMs / 1000)} s.`;
  return reason('model_blocked', text, by);
}

export const keysHeld = (model: NamedModel, leftMs: number): Reason =>
  reason(
    'model_blocked',
    `No key may be used for ${refOfModel(model)} now; the next one in ${Math.ceil(leftMs / 1000)} s.`,
    providerOf(model),
  );

/** The text of a turn that no key is left for. */
export const keysRefused = (model: NamedModel): string =>
  `The provider ${providerOf(model)} has refused all keys; "holdfast providers list" says why. Change models.providers.${providerOf(model)}.keys, or lift it with "holdfast models unblock".`;

export function rateLimited(model: NamedModel): Reason {
  const by = refOfModel(model);
  return reason('rate_limited', `The rate limits of ${by} (models.limits) have no room for the call yet.`, by);
}

export const retryWait = (model: NamedModel, fault: string): Reason =>
  reason('retry_wait', `The model call is retried later: ${fault}`, providerOf(model));

export const providerBatch = (model: NamedModel): Reason =>
  reason('provider_batch', 'The request waits for a batch of the provider.', providerOf(model));

/** A reason with times, in milliseconds since the epoch. */
type Wait = Reason & { since: number; until: number | null };

/**
 * What is stored of a message that waits and of its session. Times are milliseconds since the
 * epoch.
 */
export interface WaitFacts {
  receivedAt: number;
  /** When the message is delivered, also as it is shown; null: it has been. */
  delivery: { at: number; iso: string } | null;
  lane: string;
  /** The open turn of the session; null: it has none. */
  turn: { id: string; claimedAt: number; park: Wait | null } | null;
  /**
   * The lock of the session; `seenAt`: when its worker reported last, null if there is no row of
   * it.
   */
  lock: { owner: string; expiresAt: number; seenAt: number | null } | null;
  /** The time from which a worker can run the session; null: an event has to happen first. */
  dueAt: number | null;
  /** When a job was last enqueued for it. */
  rungAt: number | null;
  /** Until when messages are gathered for its next turn. */
  gatherUntil: number | null;
  /** The pause that holds the session; null: none. */
  pause: PauseFacts | null;
  /** The wait that its last turn asked for. */
  yielded: { since: number; until: number } | null;
}

/** A pause; a null scope matches any. */
type PauseFacts = Record<'lane' | 'agent' | 'session' | 'reason', string | null> & { pausedBy: string; since: number };

/** The workers of a lane. */
export interface ServedLane {
  /** Workers that report, do not drain and have slots for it. */
  workers: number;
  slots: number;
  /** Turns of these workers in the lane. */
  inUse: number;
  /**
   * Sessions of the lane that only a slot keeps from running; counted up to one more than the
   * slots.
   */
  due: number;
  /** Since when none of them can reach the queue; null: one can. */
  queueAwaySince: number | null;
  /** When a worker with slots for it reported last; null: none is known. */
  lastSeenAt: number | null;
}

/** What holds for all that waits. */
interface ServiceFacts {
  /** The lanes that a worker serves or has served. */
  lanes: Readonly<Record<string, ServedLane>>;
  /** Why the disk of the database refuses writes, and since when; null: it accepts them. */
  storage: { code: string; since: number } | null;
}

const NO_WORKERS: ServedLane = { workers: 0, slots: 0, inUse: 0, due: 0, queueAwaySince: null, lastSeenAt: null };

/**
 * While turns of a lane run, a job counts as queued for this long before it counts as lost, in
 * milliseconds.
 */
const QUEUED_MS = 5_000;

/**
 * Why a message waits. The reasons are asked in the order in which they would have to end: what
 * keeps its session from being claimed, the disk of the database, the lock of the session, and then
 * what keeps a worker from claiming it.
 */
export function explainWait(facts: WaitFacts, { lanes, storage }: ServiceFacts, now: number): Wait {
  const { receivedAt, delivery, turn, lock, pause, dueAt, gatherUntil, yielded } = facts;
  const lane = lanes[facts.lane] ?? NO_WORKERS;
  const wait = (
    code: Code,
    text: string,
    by: string | null,
    since = receivedAt,
    until: number | null = null,
  ): Wait => ({
    ...reason(code, text, by),
    since: Math.max(receivedAt, since),
    until,
  });
  if (delivery !== null)
    return wait('delayed', `The message is delivered at ${delivery.iso} (deliverAt).`, null, receivedAt, delivery.at);
  if (turn?.park) return turn.park;
  const isSilent = lock !== null && lock.seenAt !== null && now - lock.seenAt > WORKER_LOST_MS;
  const isRunning = lock !== null && lock.expiresAt > now && !isSilent;
  // Without another worker, the end of the lease changes nothing.
  const isOrphaned = lock !== null && !isRunning && lane.workers > 0;
  // A running turn finishes; one whose worker is lost is not taken over.
  if (pause !== null && !isRunning) return wait('paused', describePause(pause), pause.pausedBy, pause.since);
  if (turn === null && !isRunning && !isOrphaned) {
    if (gatherUntil !== null && gatherUntil > now)
      return wait('gathering', 'Waiting for more messages for the same turn.', null, receivedAt, gatherUntil);
    const isDue = dueAt === null || dueAt <= now;
    if (!isDue && yielded !== null)
      return { ...reason('yielded', 'The session waits for its subagents.', null), ...yielded };
    if (!isDue) return wait('delayed', 'The session is not due yet.', null, receivedAt, dueAt);
  }
  // Without writes, no turn is claimed or ends, and no worker can report that it runs.
  if (storage !== null) {
    const cause = storage.code === '53100' ? 'its disk is full' : 'its disk has an error';
    const text = `The database refuses writes, because ${cause} (${storage.code}).`;
    return wait('storage_unavailable', text, 'storage', storage.since);
  }
  if (isRunning && turn !== null)
    return wait('session_busy', 'The session is running a turn.', turn.id, turn.claimedAt);
  if (isRunning) return wait('session_busy', 'A worker is starting a turn of this session.', lock.owner);
  if (isOrphaned) {
    const text =
      'The worker that holds the session is lost; another worker takes over the session when its lease has expired.';
    const until = lock.expiresAt > now ? lock.expiresAt : null;
    return wait('lock_of_lost_worker', text, lock.owner, lock.seenAt ?? lock.expiresAt, until);
  }
  const [code, text, since] = whyUnclaimed(facts, lane, now);
  return wait(code, text, code === 'ring_lost' ? null : facts.lane, Math.max(dueAt ?? 0, since));
}

function describePause({ reason: because, lane, agent, session, pausedBy }: PauseFacts): string {
  const named = Object.entries({ lane, agent, session }).filter(([, name]) => name !== null);
  const what = named.length === 0 ? 'everything' : named.map(([kind, name]) => `the ${kind} ${name}`).join(', ');
  const flags = named.map(([kind, name]) => ` --${kind} ${name}`).join('');
  return `${pausedBy} has paused ${what}${because === null ? '' : `: ${because}`}. End it with "holdfast resume${flags}"`;
}

/**
 * What keeps a worker from claiming a session that may be claimed, and since when at the earliest.
 */
function whyUnclaimed(
  { lane, dueAt, rungAt }: WaitFacts,
  { workers, slots, inUse, due, queueAwaySince, lastSeenAt }: ServedLane,
  now: number,
): [Code, string, number] {
  if (workers === 0)
    return ['no_worker', `No worker serves the lane ${lane}. Start a process with the role worker.`, lastSeenAt ?? 0];
  if (inUse >= slots) return ['lane_full', `All ${slots} slots of the lane ${lane} are in use.`, 0];
  if (queueAwaySince !== null) {
    const text = 'No worker of the lane can reach the queue; workers look for due sessions in the database.';
    return ['queue_unreachable', text, queueAwaySince];
  }
  // Slots become free and are taken between two reports of a worker, and jobs of one lane are
  // fetched in their order.
  const isQueued = inUse > 0 && now - Math.max(rungAt ?? 0, dueAt ?? 0) < QUEUED_MS;
  if (due > slots - inUse || isQueued)
    return ['lane_full', `The workers of the lane ${lane} run its due sessions in order, ${slots} at a time.`, 0];
  return ['ring_lost', 'No worker has fetched the job of the session yet; a lost job is enqueued again.', rungAt ?? 0];
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
  return { ...reason('delivery_retried', text, channel), since: createdAt, until: dueAt };
}

// The state of a process, from the row that it renews.

/** How often a process renews its row, in milliseconds. */
export const WORKER_REPORT_MS = 3_000;

/** A process that has missed three reports counts as lost, in milliseconds. */
export const WORKER_LOST_MS = 9_000;

export const WORKER_STATES = ['running', 'draining', 'lost'] as const;
export type WorkerState = (typeof WORKER_STATES)[number];

/** The state of a process that reported so long ago. */
export function workerState({ silentMs, isDraining }: { silentMs: number; isDraining: boolean }): WorkerState {
  if (silentMs > WORKER_LOST_MS) return 'lost';
  return isDraining ? 'draining' : 'running';
}
