// The purpose of a round trip, derived from the comment that begins its SQL, or from its first
// words. A turn's own statements are distinguished from what a worker does periodically, whether or
// not there is work.
import type { RoundTrip } from '../../servers/round-trips.ts';

/**
 * Statements that a worker repeats periodically or for a new connection: they occur at no fixed
 * point of a turn. `renew` belongs to a turn.
 */
const polls = new Set([
  'watch',
  'who-has-work',
  'reconcile',
  'count-rings',
  'due-deliveries',
  'next-deadlines',
  'left-effects',
  'deltas',
  'lost-processes',
  'process-wishes',
  'claim-due-mcp-servers',
  'claim-channel-account',
  'renew-channel-account',
  'renew-processes',
  'trim-process-inputs',
  'event-ids',
  'event-ids-server',
  'event-ids-raise',
  'read-budgets',
  'report-worker',
  'service-health',
  'trim-workers',
  'queue: ping',
  'queue: other',
]);

/**
 * Commits of a turn: the first of them after a fault shows that another worker has resumed the
 * session.
 */
const journal = new Set([
  'open-turn',
  'commit-step',
  'finish-turn',
  'begin-compaction',
  'compaction-answered',
  'compaction-completed',
  'compaction-failed',
]);

/**
 * The purposes of BullMQ's statements, by the function that they call; all others only look for
 * jobs.
 */
const queueFunctions: Record<string, string> = {
  add_job: 'queue: add',
  add_jobs_bulk: 'queue: add',
  move_to_active: 'queue: take',
  move_to_completed: 'queue: finish',
  move_to_completed_fetch: 'queue: finish',
};

/** The name under which round trips of the same purpose are counted. */
export function kindOf(trip: RoundTrip): string {
  if (trip.tag !== null) return trip.tag;
  if (trip.label === 'holdfast:queue') {
    const called = /\b(\w+)\(\s*\$1\b/.exec(trip.sql[0] ?? '')?.[1] ?? '';
    return queueFunctions[called] ?? 'queue: other';
  }
  const words = (trip.sql[0] ?? '').replaceAll(/\s+/g, ' ').trim();
  return words.slice(0, 60);
}

/** True for a round trip that a turn needs, of the journal or of the queue. */
export function isOfTurn(trip: RoundTrip): boolean {
  return trip.label.startsWith('holdfast:') && !polls.has(kindOf(trip));
}

/** True for a commit of a turn. */
export function isJournal(trip: RoundTrip): boolean {
  return isJournalKind(kindOf(trip));
}

export function isJournalKind(kind: string): boolean {
  return journal.has(kind);
}
