// Settles an input that needs no turn, for the worker that has claimed its session. Fenced like every write of a turn: if this worker no
// longer holds the session, nothing is written.
import type { Committed } from '../queue/after-commit.ts';
import type { MessageId, SessionId } from '../../core/ids.ts';
import type { Database } from '../../database/database.ts';
import { insertEventsSql } from '../events/events.ts';
import { settledIn } from '../queue/rings.ts';
import { sendQuery } from '../../database/send-query.ts';
import { literal } from '../../database/statement.ts';

export const SETTLE_WITHOUT_TURN = literal({
  name: 'settle-without-turn',
  purpose: 'Settle a waiting input as silent, if the session still has the epoch.',
  locking: 'The session row.',
  text: `with locked as materialized (
  select s.id from holdfast.sessions s where s.id = $1 and s.epoch = $2 and s.turn_id is null for no key update
),
settled as (
  update holdfast.inbox i set status = 'silent', settled_at = clock_timestamp()
  from locked where i.id = $3 and i.session_id = locked.id and i.status = 'waiting'
  returning i.id, i.seq, i.session_id
),
updated_sessions as (
  update holdfast.sessions s set waiting = s.waiting - 1 from settled where s.id = settled.session_id
),
inserted_events as (
  ${insertEventsSql(`select session_id, null::uuid as turn_id, 'message.settled' as type,
    json_build_object('messageId', id, 'status', 'silent') as data, seq as n from settled`)}
)
select id from locked`,
});

/** Settles a waiting input as silent, if this worker still holds the session. Doing it twice changes nothing. */
export async function settleWithoutTurn(
  database: Database,
  { sessionId, epoch, messageId }: { sessionId: SessionId; epoch: number; messageId: MessageId },
): Promise<Committed<{ isHeld: boolean }>> {
  const rows = await sendQuery(database.hot, SETTLE_WITHOUT_TURN.prepared([sessionId, epoch, messageId]));
  if (rows.length === 0) return { isHeld: false };
  return { isHeld: true, after: { changed: [], settled: settledIn([sessionId]), rings: [] } };
}
