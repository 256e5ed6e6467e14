// `park-turn`: an open turn waits for something outside. Its reason is stored with it, and its lock
// and its slot are free. When the time is known, its session's doorbell says when a worker has to
// check it; otherwise the doorbell is deleted, and what ends the wait inserts one. The same
// statement stores the model call that has failed, so it is counted once. See journal.ts and
// docs/decisions/0048.
import type { AfterCommit } from '../../queue/after-commit.ts';
import { storableText } from '../../../core/text.ts';
import { shareStatement, type RowSubmitter, cte, optional, rows, statement } from '../../../database/statement.ts';
import type { Database } from '../../../database/database.ts';
import { insertedEvents } from '../../events/events.ts';
import type { Reason } from '../../rules/why.ts';
import type { JournalWrite } from './journal.ts';
import { buildAfter, firstRingSql } from '../../queue/rings.ts';
import {
  fence,
  head,
  locked,
  PROGRESS_SQL,
  verdict,
  VIEW_SQL,
  haveEvents,
  JOURNAL_EVENTS_SQL,
  newEvents,
  storedSteps,
} from './write-parts.ts';

export interface TurnPark extends JournalWrite {
  reason: Reason;
  /**
   * How long it waits, in milliseconds; a stop of the turn ends the wait. Null: until the event for
   * which it waits.
   */
  delayMs: number | null;
  /** How long it waits at least, also when it is woken, in milliseconds. */
  notBeforeMs: number;
  /**
   * The number of answers that its claim knew (`held_seq`): with another number now, one has come
   * meanwhile, and the turn is due immediately.
   */
  heldSeq: number;
  /**
   * How often it has been parked since the model answered last, with this time; 1: the wait begins
   * now.
   */
  parks: number;
}

/**
 * `parked`: it is rung for when the turn was stopped meanwhile; else the reconciler rings when the
 * wait is over. `fenced`: this worker no longer holds the session.
 */
export type Parking = { kind: 'parked'; after: AfterCommit } | { kind: 'fenced' };

/** Makes the function that parks turns; turns of different sessions share statements. */
export function createParkTurn(database: Database): RowSubmitter<TurnPark, Parking> {
  return shareStatement('park-turn', (parks) => parkTurns(database, parks));
}

const newParks = rows('new_parks', (parks: readonly TurnPark[]) => parks, {
  n: ['int', (_, index) => index + 1],
  code: ['text', ({ reason }) => reason.code],
  text: ['text', ({ reason }) => storableText(reason.text)],
  by: ['text', ({ reason }) => reason.by],
  delay_ms: ['bigint', (park) => (park.delayMs === null ? null : Math.ceil(park.delayMs))],
  not_before_ms: ['bigint', (park) => Math.ceil(park.notBeforeMs)],
  parks: ['int', (park) => park.parks],
  held_seq: ['bigint', (park) => park.heldSeq],
});

// A write that is sent again finds its turn parked and writes nothing.
const tail = cte(`tail as materialized (
  select new_parks.*, fence.session_id, fence.turn_id, fence.calls from new_parks join fence on fence.n = new_parks.n
  join holdfast.turns t on t.id = fence.turn_id and t.status <> 'parked'
)`);

// A scheduler of version 0.1.0 stores what a batch of the provider says without raising `held_seq`.
// The rows are locked, so each is seen as it is now: a result that was stored while this statement
// waited for the session is not overlooked. The next version needs this beside 0.1.0; the one after
// it can delete it.
const waitingRequests = cte(
  `waiting_requests as materialized (
  select r.turn_id from holdfast.provider_requests r
  where (r.turn_id, r.call_no) in (select tail.turn_id, tail.calls from tail where tail.code = 'provider_batch') and r.status in ('queued', 'assigned')
  for update of r
)`,
  { absent: 'waiting_requests as (select null::uuid as turn_id where false)' },
);

const waitForRequests = (parks: readonly TurnPark[]): boolean =>
  parks.some(({ reason }) => reason.code === 'provider_batch');

const parkedTurns = cte(`parked_turns as (
  update holdfast.turns t
  set status = 'parked', park_code = tail.code, park_text = tail.text, park_by = tail.by, parks = tail.parks,
    park_since = case when tail.parks = 1 then clock_timestamp() else coalesce(t.park_since, clock_timestamp()) end,
    park_not_before = clock_timestamp() + tail.not_before_ms * interval '1 millisecond', ${PROGRESS_SQL}
  from fence join tail on tail.n = fence.n where t.id = fence.turn_id
)`);

const releasedSessions = cte(`released_sessions as (
  update holdfast.sessions s
  set owner = null, lease_expires_at = null, updated_at = clock_timestamp(), ${VIEW_SQL}
  from fence join tail on tail.n = fence.n where s.id = fence.session_id
  returning s.id, s.lane, s.inbox_seq, s.epoch, case
      when s.stop_reason is not null or s.held_seq <> tail.held_seq
        or tail.code = 'provider_batch' and tail.turn_id not in (select turn_id from waiting_requests) then 0
      else tail.delay_ms
    end as delay_ms
)`);

// It is inserted when it is missing: without it no process would resume the turn.
const rungDoorbells = cte(`rung_doorbells as (
  insert into holdfast.doorbells as d (session_id, lane, rings, due_at)
  select s.id, s.lane, ${firstRingSql('s')}, clock_timestamp() + s.delay_ms * interval '1 millisecond'
  from released_sessions s where s.delay_ms is not null order by s.id
  on conflict (session_id) do update set rings = d.rings + 1, rung_at = clock_timestamp(), woken_at = null, due_at = excluded.due_at
  returning d.session_id, d.lane, d.rings
)`);

const deletedDoorbells = cte(`deleted_doorbells as (
  delete from holdfast.doorbells d using released_sessions where d.session_id = released_sessions.id and released_sessions.delay_ms is null
)`);

const parkEvents = cte(`park_events as (
  ${JOURNAL_EVENTS_SQL} join tail on tail.n = fence.n
)`);

export const PARK_TURN = statement<readonly TurnPark[]>({
  name: 'park-turn',
  purpose: 'Park each turn. Answers a row per write, with the ring of its session.',
  locking: 'The session rows in the order of their ids, then rows that belong to them.',
  ctes: [
    head,
    locked,
    verdict,
    fence,
    ...storedSteps,
    newParks,
    tail,
    ...optional('requests', waitForRequests)(waitingRequests),
    parkedTurns,
    releasedSessions,
    rungDoorbells,
    deletedDoorbells,
    ...optional('events', haveEvents)(newEvents, parkEvents, insertedEvents('park_events')),
  ],
  select: `select head.n, verdict.is_ok, head.session_id, rung_doorbells.lane, rung_doorbells.rings, released_sessions.delay_ms
from head left join verdict on verdict.n = head.n left join released_sessions on released_sessions.id = head.session_id
left join rung_doorbells on rung_doorbells.session_id = head.session_id`,
});

async function parkTurns(database: Database, parks: TurnPark[]): Promise<Parking[]> {
  const result = await database.hot.query(PARK_TURN.prepared(parks));
  const answers = new Map(result.rows.map((row) => [Number(row.n), row]));
  return parks.map((_, index) => {
    const row = answers.get(index + 1);
    if (row === undefined || row.is_ok !== true) return { kind: 'fenced' };
    const after = buildAfter('inbound', row.session_id, row);
    return { kind: 'parked', after: row.delay_ms === '0' ? after : { ...after, rings: [] } };
  });
}
