// Fires crons that leave a line for the next prompt of their session, and makes sure that a turn reads it. See cron-fires.ts.
import type { Committed } from '../../../kernel/queue/after-commit.ts';
import type { MessageId } from '../../../core/ids.ts';
import {
  ADVANCED_SQL,
  fittingSql,
  FIRING_SQL,
  firingValues,
  toFiringResult,
  type FireRow,
  type Firing,
  type FiringResult,
} from './cron-fires.ts';
import type { Database } from '../../../database/database.ts';
import { insertEventsSql } from '../../../kernel/events/events.ts';
import { transaction } from '../../../database/transaction.ts';
import { isoSql } from '../../../kernel/sessions/session-facts.ts';
import { ringSql } from '../../../kernel/sessions/session-locks.ts';
import { literal } from '../../../database/statement.ts';
import { dropOldestEventsSql } from '../../../kernel/inbox/system-events.ts';

/** A firing by a system event, with the poll that starts a turn for it. */
export interface EventFiring extends Firing {
  event: { id: string; text: string; contextKey: string; isTrusted: boolean };
  /** Null: the event waits for the next turn. */
  pollId: MessageId | null;
}

/** Why a slot that fired left no line: the same one waits already. */
const DUPLICATE = 'duplicate';

// The waiting events of the session are counted after its row is locked: a statement that waited for the row would count the rows of before.
export const LOCK_CRON_EVENT = literal({
  name: 'lock-cron-event',
  purpose: 'Lock a cron and the session in which it leaves a line.',
  locking: 'The cron, then the session row.',
  text: `with cron as materialized (select c.id from holdfast.crons c where c.id = $1 for no key update)
select s.id from holdfast.sessions s where s.id = $2 and exists (select from cron) for no key update`,
});

export const FIRE_CRON_EVENT = literal({
  name: 'fire-cron-event',
  purpose: 'Fire a cron that leaves a line for the next prompt. Answers a row when the plan fitted.',
  locking: 'None that `lock-cron-event` has not acquired.',
  text: `with ${FIRING_SQL},
${fittingSql('held')},
locked as materialized (select s.* from holdfast.sessions s where s.id in (select session_id from held)),
tick as materialized (
  select t.n, t.slot, t.status, t.reason, t.slots, held.cron_id, held.name, held.session_id,
    row_number() over (partition by t.status order by t.slot desc) = 1 and t.status = 'claimed' as is_latest
  from planned t join held on held.n = t.n
),
novelty as materialized (
  select s.id as session_id, s.last_event_text is distinct from $4 as is_new,
    $7::uuid is not null and s.waiting < held.waiting_max as is_polled
  from locked s join held on held.session_id = s.id where exists (select from tick where status = 'claimed')
),
fired as (
  insert into holdfast.cron_fires (cron_id, scheduled_for, status, message_id, reason, slots, fired_at, ended_at)
  select cron_id, slot,
    case when status <> 'claimed' then status when is_latest and is_new and is_polled then 'claimed' else 'completed' end,
    case when is_latest and is_new and is_polled then $7::uuid end,
    case when status <> 'claimed' then reason when not (is_latest and is_new) then '${DUPLICATE}' end, slots,
    case when status = 'claimed' then clock_timestamp() end,
    case when status <> 'claimed' or not (is_latest and is_new and is_polled) then clock_timestamp() end
  from tick left join novelty on novelty.session_id = tick.session_id
  on conflict (cron_id, scheduled_for) do nothing
  returning cron_id, scheduled_for, status, message_id, fired_at
),
waited as materialized (
  select novelty.session_id, novelty.is_polled from novelty
  where novelty.is_new and exists (select from fired join tick on tick.slot = fired.scheduled_for where tick.is_latest)
),
${dropOldestEventsSql('waited').join(',\n')},
noted as (
  insert into holdfast.system_events (id, session_id, text, context_key, is_trusted, cause_key)
  select $3::uuid, waited.session_id, $4, $5, $6, 'cron:' || tick.cron_id || ':' || extract(epoch from tick.slot)
  from waited join tick on tick.is_latest
  on conflict do nothing
  returning session_id
),
stored as (
  insert into holdfast.inbox (id, session_id, seq, kind, body, route, cause_key)
  select $7::uuid, s.id, s.inbox_seq + 1, 'heartbeat', held.body, held.route, 'cron:' || tick.cron_id || ':' || extract(epoch from tick.slot)
  from waited join locked s on s.id = waited.session_id join held on held.session_id = s.id join tick on tick.is_latest
  where waited.is_polled
  on conflict do nothing
  returning id, session_id, seq, kind
),
updated_sessions as (
  update holdfast.sessions s
  set last_event_text = $4, updated_at = clock_timestamp(),
    inbox_seq = s.inbox_seq + (select count(*) from stored), waiting = s.waiting + (select count(*) from stored)::int
  from waited where s.id = waited.session_id
  returning s.*
),
rung_doorbells as (
  ${ringSql('updated_sessions', { condition: 'exists (select from stored)' })}
),
${ADVANCED_SQL},
inserted_events as (
  ${insertEventsSql(`select tick.session_id, null::uuid as turn_id, 'cron.fired' as type,
      json_build_object('cronId', tick.cron_id, 'name', tick.name,
        'scheduledFor', ${isoSql('tick.slot')},
        'messageId', fired.message_id) as data, extract(epoch from tick.slot)::bigint as n
      from fired join tick on tick.slot = fired.scheduled_for where fired.fired_at is not null
    union all
    select session_id, null, 'message.accepted',
      json_build_object('messageId', id, 'seq', seq, 'kind', kind, 'disposition', 'queued'), 9e15::bigint from stored`)}
)
select held.cron_id, held.session_id, rung_doorbells.lane, rung_doorbells.rings,
  (select count(*)::int from fired where fired_at is not null) as fired
from held left join rung_doorbells on rung_doorbells.session_id = held.session_id`,
});

/** Fires a plan whose ticks leave a line for the next prompt; several that fire together leave one. Null: the plan was outdated. */
export async function fireCronEvent(database: Database, firing: EventFiring): Promise<Committed<FiringResult> | null> {
  const { event, pollId } = firing;
  const values = [...firingValues([firing]), event.id, event.text, event.contextKey, event.isTrusted, pollId];
  const [row] = await transaction(database.hot, async (tx) => {
    tx.write(LOCK_CRON_EVENT.prepared([firing.cronId, firing.sessionId]));
    return tx.query<FireRow>(FIRE_CRON_EVENT.prepared(values));
  });
  return row === undefined ? null : toFiringResult(row);
}
