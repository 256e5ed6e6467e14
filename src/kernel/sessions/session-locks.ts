// The session lock: the exclusive, expiring right to run a session. It is a lease in a row with a
// fencing number, not a database lock: no lock is held between two statements.
//
//        free ──claim──▶ held(owner, epoch+1, expiry) ──finish / release──▶ free
//                          │      ▲                                           ▲
//                          │      └── renew, at a third of the lease          │
//                          └── owner crashes or stalls past the expiry ──▶ claimable by any worker (epoch+1)
//
// The row is authoritative, by the database's clock (G8). Every write of a turn carries the epoch
// of its claim and locks the row in the same statement, so an owner that was paused past its lease
// writes nothing (G7). The owner itself must also start nothing: it measures the lease with its
// monotonic clock, from before the claim was sent, and stops trusting it a margin before the row
// expires.
import type { AfterCommit } from '../queue/after-commit.ts';
import type { SessionId } from '../../core/ids.ts';
import type { SessionStop } from '../../core/statuses.ts';
import { buildRings, wakeSql, type RungColumns } from '../queue/rings.ts';
import { literalQuery } from '../../database/literal-query.ts';
import { shareStatement, type RowSubmitter } from '../../database/statement.ts';
import type { Database } from '../../database/database.ts';
import { BLOCKS_SQL, type ModelBlock } from '../queue/model-blocks.ts';

export interface HeldLock {
  sessionId: SessionId;
  epoch: number;
}

export const renewLocks = literalQuery({
  name: 'renew',
  purpose: 'Renew the leases of one owner. Answers the sessions that it still holds; a missing one is lost for good.',
  locking: 'The session rows in the order of their ids.',
  // The keeper sends the next one after a third of the lease.
  retryMs: 0,
  text: `with input as (select * from unnest($1::uuid[], $2::bigint[]) as input (session_id, epoch)),
locked as materialized (
  select s.id from holdfast.sessions s join input on input.session_id = s.id
  where s.epoch = input.epoch and s.owner = $3 order by s.id for no key update of s
)
update holdfast.sessions s set lease_expires_at = clock_timestamp() + $4 * interval '1 millisecond'
from locked where s.id = locked.id
returning s.id`,
  values: (owner: string, leaseMs: number, held: readonly HeldLock[]) => [
    held.map((lock) => lock.sessionId),
    held.map((lock) => lock.epoch),
    owner,
    leaseMs,
  ],
  answer: (rows: { id: SessionId }[]) => new Set(rows.map(({ id }) => id)),
});

/** The facts that a worker polls while its turns run. */
export interface Watch {
  stops: Map<SessionId, SessionStop>;
  blocks: ModelBlock[];
}

export const readWatch = literalQuery({
  name: 'watch',
  purpose: 'Read which of the held sessions are asked to stop, and why, and which models are blocked.',
  // The keeper looks again soon.
  retryMs: 0,
  text: `select (
    select json_agg(json_build_object('id', s.id, 'stop', ${stopSql('s')}))
    from holdfast.sessions s where s.id = any ($1::uuid[]) and s.stop_reason is not null
  ) as stops, ${BLOCKS_SQL} as blocks`,
  values: (sessionIds: readonly SessionId[]) => [sessionIds],
  answer: ([row]: { stops: { id: SessionId; stop: SessionStop }[] | null; blocks: ModelBlock[] | null }[]): Watch => ({
    stops: new Map(row?.stops?.map(({ id, stop }) => [id, stop])),
    blocks: row?.blocks ?? [],
  }),
});

/**
 * SQL of the stop that the open turn of the session `alias` is asked for; null: none. A kind counts
 * only with a reason (migration 0014).
 */
export function stopSql(alias: string): string {
  return `case when ${alias}.stop_reason is not null
    then json_build_object('kind', coalesce(${alias}.stop_kind, 'stopped'), 'message', ${alias}.stop_reason) end`;
}

/** The consequence of a release. */
export interface Release {
  after: AfterCommit;
}

/**
 * Releases the lock and leaves the turn open for the next claim. Resolves with the ring that starts
 * it; there is none when nothing is left to do, or when this worker no longer held the lock.
 */
export function createRelease(database: Database): RowSubmitter<HeldLock, Release> {
  return shareStatement('release', (releases) => releaseLocks(database, releases));
}

// A session that was stopped before its turn was open has nothing left to be stopped.
export const releaseLocks = literalQuery({
  name: 'release',
  purpose: 'Release locks and leave the turns open. Answers the rings that start them again.',
  locking: 'The session rows in the order of their ids, then rows that belong to them.',
  // `shareStatement` sends it again.
  retryMs: 0,
  text: `with input as materialized (select * from unnest($1::uuid[], $2::bigint[]) as input (session_id, epoch)),
locked as materialized (
  select s.id, s.lane, s.inbox_seq, s.epoch, s.turn_id, s.turn_id is not null or s.waiting > 0 as has_work
  from holdfast.sessions s join input on input.session_id = s.id
  where s.epoch = input.epoch and s.owner is not null order by s.id for no key update of s
),
released_sessions as (
  update holdfast.sessions s
  set owner = null, lease_expires_at = null, stop_kind = case when s.turn_id is not null then s.stop_kind end,
    stop_reason = case when s.turn_id is not null then s.stop_reason end
  from locked where s.id = locked.id
),
interrupted_turns as (
  update holdfast.turns t set status = 'interrupted' from locked where t.id = locked.turn_id
),
deleted_doorbells as (
  delete from holdfast.doorbells d using locked where d.session_id = locked.id and not locked.has_work
)
${wakeSql('locked', 's.has_work')}`,
  values: (releases: readonly HeldLock[]) => [
    releases.map(({ sessionId }) => sessionId),
    releases.map(({ epoch }) => epoch),
  ],
  answer(rung: (RungColumns & { session_id: SessionId })[], releases): Release[] {
    const rows = new Map(rung.map((row) => [row.session_id, row]));
    return releases.map(({ sessionId }) => {
      const row = rows.get(sessionId);
      return { after: { changed: [], rings: row === undefined ? [] : buildRings('inbound', sessionId, row) } };
    });
  },
});
