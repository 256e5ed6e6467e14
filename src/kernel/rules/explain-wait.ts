// Why a message waits, from the rows of its session and of the workers. The reasons are asked in the order in which they would have to end:
// what keeps the session from being claimed first, then what keeps a worker from claiming it.
//
//   parked turn ▶ paused ▶ gathering ▶ yielded ▶ delayed ▶ disk of the database ▶ lock ▶ no worker ▶ lane full ▶ queue away ▶ ring lost
import { WORKER_LOST_MS } from './worker-state.ts';

/** The reasons of a message that no parked turn and no batch gives. */
type WaitCode =
  | 'paused'
  | 'gathering'
  | 'session_busy'
  | 'lock_of_lost_worker'
  | 'yielded'
  | 'delayed'
  | 'storage_unavailable'
  | 'queue_unreachable'
  | 'no_worker'
  | 'lane_full'
  | 'ring_lost';

/** Why something waits, as `Why` in why.ts, with times in milliseconds since the epoch. */
export interface WaitReason {
  code: string;
  text: string;
  since: number;
  until: number | null;
  by: string | null;
}

/** A message that waits and its session. Times are milliseconds since the epoch. */
export interface WaitFacts {
  receivedAt: number;
  lane: string;
  /** The open turn of the session; null: it has none. */
  turn: { id: string; claimedAt: number; park: WaitReason | null } | null;
  /** The lock of the session; `seenAt`: when its worker reported last, null if there is no row of it. */
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
export interface PauseFacts {
  lane: string | null;
  agent: string | null;
  session: string | null;
  reason: string | null;
  pausedBy: string;
  since: number;
}

/** The workers of a lane. */
export interface ServedLane {
  /** Workers that report, do not drain and have slots for it. */
  workers: number;
  slots: number;
  /** Turns of these workers in the lane. */
  inUse: number;
  /** Sessions of the lane that only a slot keeps from running; counted up to one more than the slots. */
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

/** While turns of a lane run, a job counts as queued for this long before it counts as lost, in milliseconds. */
const QUEUED_MS = 5_000;

export function explainWait(facts: WaitFacts, { lanes, storage }: ServiceFacts, now: number): WaitReason {
  const lane = lanes[facts.lane] ?? NO_WORKERS;
  const held = ofSession(facts, lane, now);
  if (storage !== null && (held === null || STORED_CODES.includes(held.code))) return ofStorage(facts, storage);
  return held ?? ofLane(facts, lane, now);
}

/** Reasons that end with a write, and that misjudge a worker whose reports are refused. */
const STORED_CODES: readonly string[] = ['session_busy', 'lock_of_lost_worker'] satisfies WaitCode[];

/** Without writes, no turn is claimed or ends, and no worker can report that it runs. */
function ofStorage({ receivedAt }: WaitFacts, { code, since }: NonNullable<ServiceFacts['storage']>): WaitReason {
  const cause = code === '53100' ? 'its disk is full' : 'its disk has an error';
  return why('storage_unavailable', `The database refuses writes, because ${cause} (${code}).`, {
    since: Math.max(receivedAt, since),
    by: 'storage',
  });
}

/** What keeps the session from being claimed; null: it may be claimed. */
function ofSession(facts: WaitFacts, lane: ServedLane, now: number): WaitReason | null {
  const { receivedAt, turn, lock, pause, dueAt, gatherUntil, yielded } = facts;
  if (turn?.park) return turn.park;
  const locked = lock === null ? null : ofLock(facts, lock, lane, now);
  // A running turn finishes; one whose worker is lost is not taken over.
  if (pause !== null && locked?.code !== 'session_busy') return ofPause(pause, receivedAt);
  if (locked !== null) return locked;
  if (turn !== null) return null;
  if (gatherUntil !== null && gatherUntil > now)
    return why('gathering', 'Waiting for more messages for the same turn.', { since: receivedAt, until: gatherUntil });
  if (dueAt === null || dueAt <= now) return null;
  if (yielded !== null)
    return why('yielded', 'The session waits for its subagents.', { since: yielded.since, until: yielded.until });
  return why('delayed', 'The session is not due yet.', { since: receivedAt, until: dueAt });
}

function ofPause({ reason, pausedBy, since, ...scope }: PauseFacts, receivedAt: number): WaitReason {
  const named = Object.entries(scope).filter((entry): entry is [string, string] => entry[1] !== null);
  const what = named.length === 0 ? 'everything' : named.map(([kind, name]) => `the ${kind} ${name}`).join(', ');
  const flags = named.map(([kind, name]) => ` --${kind} ${name}`).join('');
  const because = reason === null ? '' : `: ${reason}`;
  return why('paused', `${pausedBy} has paused ${what}${because}. End it with holdfast resume${flags}`, {
    since: Math.max(receivedAt, since),
    by: pausedBy,
  });
}

function ofLock(
  { receivedAt, turn }: WaitFacts,
  { owner, expiresAt, seenAt }: NonNullable<WaitFacts['lock']>,
  lane: ServedLane,
  now: number,
): WaitReason | null {
  const isHeld = expiresAt > now;
  const isLost = seenAt !== null && now - seenAt > WORKER_LOST_MS;
  if (isHeld && !isLost) {
    const since = Math.max(receivedAt, turn?.claimedAt ?? receivedAt);
    const text = turn === null ? 'A worker is starting a turn of this session.' : 'The session is running a turn.';
    return why('session_busy', text, { since, by: turn?.id ?? owner });
  }
  // Without another worker, the end of the lease changes nothing.
  if (lane.workers === 0) return null;
  return why(
    'lock_of_lost_worker',
    'The worker that holds the session is lost; another worker takes over the session when its lease has expired.',
    {
      since: Math.max(receivedAt, seenAt ?? expiresAt),
      until: isHeld ? expiresAt : null,
      by: owner,
    },
  );
}

/** What keeps a worker from claiming a session that may be claimed. */
function ofLane({ receivedAt, lane: name, dueAt, rungAt }: WaitFacts, lane: ServedLane, now: number): WaitReason {
  const since = Math.max(receivedAt, dueAt ?? receivedAt);
  if (lane.workers === 0)
    return why('no_worker', `No worker serves the lane ${name}. Start a process with the role worker.`, {
      since: Math.max(since, lane.lastSeenAt ?? since),
      by: name,
    });
  if (lane.inUse >= lane.slots)
    return why('lane_full', `All ${lane.slots} slots of the lane ${name} are in use.`, { since, by: name });
  if (lane.queueAwaySince !== null)
    return why(
      'queue_unreachable',
      'No worker of the lane can reach the queue; workers look for due sessions in the database.',
      {
        since: Math.max(since, lane.queueAwaySince),
        by: name,
      },
    );
  // Slots become free and are taken between two reports of a worker, and jobs of one lane are fetched in their order.
  const isQueued = lane.inUse > 0 && now - Math.max(rungAt ?? 0, dueAt ?? 0) < QUEUED_MS;
  if (lane.due > lane.slots - lane.inUse || isQueued)
    return why('lane_full', `The workers of the lane ${name} run its due sessions in order, ${lane.slots} at a time.`, {
      since,
      by: name,
    });
  return why('ring_lost', 'No worker has fetched the job of the session yet; a lost job is enqueued again.', {
    since: Math.max(since, rungAt ?? since),
  });
}

function why(
  code: WaitCode,
  text: string,
  { since, until = null, by = null }: { since: number; until?: number | null; by?: string | null },
): WaitReason {
  return { code, text, since, until, by };
}
