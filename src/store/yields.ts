// Waiting without a slot: a session that has ended its turn to wait holds no lock and no lane, and any input wakes it. The row here
// makes sure that every wait ends (G19): when its time has passed and the session has not been claimed since, an input says so.
import type { Committed } from '../after-commit.ts';
import type { Lane } from '../config.ts';
import type { SessionId } from '../core/ids.ts';
import { chargedBodySql, chargeOfTurnSql } from './charged-inputs.ts';
import type { Database } from './database.ts';
import { insertEventsSql } from './events.ts';
import { announcementBodySql, ARRIVED_SQL, NEW_ID_SQL, PUT_PARTS, PUT_EVENTS_SQL, rungForPart } from './put-inputs.ts';
import { sendQuery } from './send-query.ts';
import { afterOf } from './rings.ts';
import { literal } from './statement.ts';

const DUE_MAX = 100;

export const NOTE_YIELD = literal({
  name: 'yield',
  purpose: 'Note until when a session waits whose turn is about to end.',
  locking: 'The session row, then that of the wait.',
  text: `with locked as materialized (
  select s.id, s.epoch from holdfast.sessions s where s.key = $1 and s.turn_id = $2::uuid for no key update
)
insert into holdfast.yields as y (session_id, turn_id, epoch, seconds, due_at)
select id, $2::uuid, epoch, $3::int, clock_timestamp() + $3::int * interval '1 second' from locked
on conflict (session_id) do update
set turn_id = excluded.turn_id, epoch = excluded.epoch, seconds = excluded.seconds, due_at = excluded.due_at,
  created_at = clock_timestamp()
returning y.session_id`,
});

/** Notes until when a session waits that is about to end this turn. False: it is not the session's turn any more. */
export async function noteYield(
  database: Database,
  wait: { sessionKey: string; turnId: string; seconds: number },
): Promise<boolean> {
  const values = [wait.sessionKey, wait.turnId, wait.seconds];
  return (await sendQuery(database.hot, NOTE_YIELD.prepared(values))).length > 0;
}

// A wait that has ended otherwise leaves a row of an older epoch, which is deleted here. One whose turn is still ending is checked again later.
export const WAKE_YIELDS = literal({
  name: 'wake-yields',
  purpose: 'Wake the sessions whose time has passed. Answers the rings that this needs.',
  locking: 'The session rows in the order of their ids; the waits after them, as in `yield`.',
  text: `with due as materialized (
  select y.session_id from holdfast.yields y where y.due_at <= clock_timestamp() order by y.due_at limit ${DUE_MAX}
),
locked as materialized (
  select s.* from holdfast.sessions s where s.id = any (array(select session_id from due)) order by s.id for no key update
),
over as (
  delete from holdfast.yields y using locked l
  where y.session_id = l.id and y.due_at <= clock_timestamp() and (y.epoch <> l.epoch or l.turn_id is null and l.owner is null)
  returning y.session_id, y.turn_id, y.epoch, y.seconds
),
incoming as materialized (
  select ${NEW_ID_SQL} as id, l.id as session_id, 'announcement' as kind,
    ${chargedBodySql(announcementBodySql("json_build_object('kind', 'wait-over', 'seconds', over.seconds)", 'origin'), 'charge.charged_to')} as body,
    coalesce(origin.route, '') as route, null::text as mode, 'yield:' || over.turn_id as cause_key, 'waiting' as status,
    'queued' as disposition, null::json as error
  from over join locked l on l.id = over.session_id
  left join lateral (
    select i.route, i.body -> 'deliver' as deliver, i.body -> 'options' as options from holdfast.inbox i where i.turn_id = over.turn_id order by i.seq desc limit 1
  ) as origin on true
  cross join lateral (select ${chargeOfTurnSql('over.turn_id')} as charged_to) as charge
  where over.epoch = l.epoch and l.waiting = 0 and l.archived_at is null
),
${PUT_PARTS.join(',\n')},
updated_sessions as (
  update holdfast.sessions s set waiting = s.waiting + arrived.waiting, ${ARRIVED_SQL}, updated_at = clock_timestamp()
  from arrived where s.id = arrived.session_id
  returning s.*
),
${rungForPart('updated_sessions', 'true')},
inserted_events as (${insertEventsSql(PUT_EVENTS_SQL)})
select session_id as "sessionId", lane, rings as "ringNo" from arrival_doorbells`,
});

/** Ends the waits whose time is over; resolves with an item for each session that has to be rung for. */
export async function wakeOverdue(database: Database): Promise<Committed<object>[]> {
  const result = await database.hot.query(WAKE_YIELDS.prepared([]));
  return result.rows.map(({ sessionId, lane, ringNo }: { sessionId: SessionId; lane: Lane; ringNo: string }) => ({
    after: afterOf('announce', sessionId, { lane, rings: ringNo }),
  }));
}
