// Waiting without a slot: a session that has ended its turn to wait holds no lock and no lane, and any input wakes it. The row here
// makes sure that every wait ends (G19): when its time has passed and the session has not been claimed since, an input says so.
import type { AfterCommit } from '../../../kernel/queue/after-commit.ts';
import type { MessageId, SessionId } from '../../../core/ids.ts';
import { newId } from '../../../ids.ts';
import { chargeOfTurnSql } from '../../../kernel/inbox/charged-inputs.ts';
import type { Database } from '../../../database/database.ts';
import { announcementBody, putInputs, type PutInput } from '../../../kernel/inbox/put-inputs.ts';
import { REQUEST_RETRY_MS } from '../../../database/retry-passing-faults.ts';
import { sendQuery } from '../../../database/send-query.ts';
import { literal } from '../../../database/statement.ts';
import { inPipeline } from '../../../database/transaction.ts';

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
export const TAKE_YIELDS = literal({
  name: 'take-yields',
  purpose:
    'Take the waits whose time has passed. Answers those that an input has to end, with what it takes over from the last input of their turn.',
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
)
select over.session_id as "sessionId", over.turn_id as "turnId", over.seconds, coalesce(origin.route, '') as route, origin.deliver, origin.options,
  ${chargeOfTurnSql('over.turn_id')}::text as "chargedTo"
from over join locked l on l.id = over.session_id
left join lateral (
  select i.route, (i.body -> 'deliver')::text as deliver, (i.body -> 'options')::text as options from holdfast.inbox i
  where i.turn_id = over.turn_id order by i.seq desc limit 1
) as origin on true
where over.epoch = l.epoch and l.waiting = 0 and l.archived_at is null`,
});

interface EndedWait {
  sessionId: SessionId;
  turnId: string;
  seconds: number;
  route: string;
  deliver: string | null;
  options: string | null;
  chargedTo: string | null;
}

/** Ends the waits whose time is over. */
export async function wakeOverdue(database: Database): Promise<AfterCommit> {
  return inPipeline(database.hot, REQUEST_RETRY_MS, async (tx) => {
    const ended = await tx.query<EndedWait & Record<string, unknown>>(TAKE_YIELDS.prepared([]));
    const inputs = ended.map(({ sessionId, turnId, seconds, route, ...origin }): PutInput => ({
      id: newId<MessageId>(),
      sessionId,
      kind: 'announcement',
      body: announcementBody({ kind: 'wait-over', seconds }, origin),
      route,
      causeKey: `yield:${turnId}`,
    }));
    return { last: putInputs(tx, { inputs }) };
  });
}
