// Deletes old turns with what only explains them. Conversations stay: the entries are not touched, and a message keeps the reply or the error that
// it had from its turn. Sums stay: a turn goes only when the roll-ups have counted its end, and sessions, runs and batches have sums of their own.
import { CUTOFF_SQL, passStatement, WALK_END_SQL, WALK_ID_SQL } from './retention-sql.ts';

/** Turns that one statement deletes at most: with their calls, it takes some tens of milliseconds. */
const TURNS_MAX = 500;

/** The tables whose rows belong to a turn and are deleted with it; earlier costs go by their foreign key. */
const PARTS = ['model_calls', 'tool_calls', 'turn_attempts', 'provider_requests'];

// Rows that still need an ended turn: waiting decisions, unsettled work, and parents that wait for children.
const NEEDED_SQL = `exists (select from holdfast.sessions s where s.id = t.session_id and s.turn_id = t.id)
    or exists (select from holdfast.cost_reservations c where c.turn_id = t.id)
    or exists (select from holdfast.provider_requests p where p.turn_id = t.id and p.status in ('queued', 'assigned'))
    or exists (select from holdfast.compactions c where c.turn_id = t.id and c.status = 'running')
    or exists (select from holdfast.dead_letters l where l.turn_id = t.id and l.state = 'open')
    or exists (select from holdfast.yields y where y.session_id = t.session_id and y.turn_id = t.id)
    or exists (select from holdfast.processes p where p.session_id = t.session_id and p.turn_id = t.id and p.status = 'running')
    or exists (select from holdfast.deliveries d where d.session_id = t.session_id and d.turn_id = t.id and d.status in ('pending', 'sending'))
    or exists (select from holdfast.inbox i where i.turn_id = t.id and (i.status in ('delayed', 'waiting', 'claimed')
      or i.id in (select b.message_id from fed_items b)
      or exists (select from holdfast.cron_fires f where f.message_id = i.id and f.status = 'claimed')
      or exists (select from holdfast.heartbeats h where h.message_id = i.id and h.result is null)))`;

export const DELETE_OLD_TURNS = passStatement({
  kind: 'turns',
  name: 'delete-old-turns',
  purpose: 'Delete turns that ended long ago, with their calls and attempts; their messages keep the reply.',
  locking: 'the turns, skipping those that are locked, their messages and their calls.',
  chunk: `select t.id from holdfast.turns t where t.id > ${WALK_ID_SQL} and t.id < ${WALK_END_SQL} order by t.id`,
  size: TURNS_MAX,
  place: 'c.id::text',
  order: 'c.id desc',
  deletes: `fed_items as materialized (
  select i.message_id from holdfast.batches b join holdfast.batch_items i on i.batch_id = b.id where b.status <> 'ended' and i.status = 'fed'
),
rolled_up as materialized (
  select coalesce((select e.created_at from holdfast.events e where e.id > c.after_id order by e.id limit 1), clock_timestamp()) as up_to
  from holdfast.roll_up_cursor c where c.singleton and c.counted_at is not null
),
gone as materialized (
  select t.id, t.reply, t.error from holdfast.turns t
  where t.id = any (array(select id from chunk)) and t.ended_at < ${CUTOFF_SQL} and t.ended_at < (select up_to from rolled_up)
    and not (${NEEDED_SQL})
  for update of t skip locked
),
kept_replies as (
  update holdfast.inbox i set reply = case when i.status = 'answered' then coalesce(i.reply, gone.reply) else i.reply end,
    error = case when i.status in ('failed', 'cancelled') then coalesce(i.error, gone.error) else i.error end
  from gone where i.turn_id = gone.id and i.turn_id = any (array(select id from gone))
    and (i.status = 'answered' and i.reply is null and gone.reply is not null
      or i.status in ('failed', 'cancelled') and i.error is null and gone.error is not null)
),
${PARTS.map((table) => `deleted_${table} as (delete from holdfast.${table} part where part.turn_id = any (array(select id from gone)))`).join(',\n')},
deleted_turns as (delete from holdfast.turns t where t.id = any (array(select id from gone)))`,
});
