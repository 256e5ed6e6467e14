// Bulk actions as rows: submitted with their fixed list of ids, cancelled, and judged by their
// canary. Items are leased to a scheduler, carried out one by one, and settled together. Each has
// an effect that is stored with a key of its own (`buildBulkKey`), so an item whose scheduler was
// killed is done once.
import type { BulkItemStatus, BulkTarget, BulkVerb } from './rules.ts';
import { insertServiceEventsSql } from '../../kernel/events/events.ts';
import { keyedSql, type KeyedRequest } from '../../database/idempotency.ts';
import { literalQuery } from '../../database/literal-query.ts';
import { toRecords, selectRecordsSql, type SqlColumns } from '../../database/statement.ts';

/** An action to be stored. */
export interface NewBulkAction {
  id: string;
  action: BulkVerb;
  target: BulkTarget;
  /** A description of the request for people; the ids are what counts. */
  filter: object;
  reason: string | null;
  perSecond: number | null;
  isCanary: boolean;
  createdBy: string;
  /** In the order in which they are worked off. */
  ids: readonly string[];
}

/** SQL of an event `bulk.progress` for each row of a CTE with the columns of an action. */
const progressEventSql = (rows: string): string =>
  insertServiceEventsSql(
    rows,
    'bulk.progress',
    `'bulkActionId', id, 'status', status, 'total', total, 'done', done, 'skipped', skipped, 'failed', failed`,
  );

/**
 * Stores an action. Rejects with a violated primary key when another request has stored the key;
 * see `isKeyTaken`.
 */
export const createBulkAction = literalQuery({
  name: 'create-bulk-action',
  purpose: 'Store an action with its list of ids. One without ids has ended at once.',
  text: `with listed as materialized (
  select subject, n from unnest($ids::uuid[]) with ordinality as list (subject, n)
),
made as (
  insert into holdfast.bulk_actions (id, action, target, filter, reason, per_second, is_canary, created_by, total, status, ended_at)
  select $id::uuid, $action::text, $target::text, $filter::json, $reason::text, $perSecond::int, $isCanary::boolean, $createdBy::text, counted.total,
    case when counted.total = 0 then 'completed' else 'running' end, case when counted.total = 0 then clock_timestamp() end
  from (select count(*)::int as total from listed) as counted
  on conflict (id) do nothing
  returning *
),
items as (
  insert into holdfast.bulk_action_items (action_id, n, subject) select made.id, listed.n, listed.subject from made cross join listed
),
inserted_events as (
  ${progressEventSql('made')}
),
${keyedSql(`select json_build_object('id', id) from made`)}
select id from made`,
  pool: 'views',
  values: (bulk: NewBulkAction, idempotency: KeyedRequest | null) => ({
    ...bulk,
    filter: JSON.stringify(bulk.filter),
    ...idempotency,
  }),
});

/** Cancels an action; false: it does not exist. An action that has ended is unchanged. */
export const cancelBulkAction = literalQuery({
  name: 'cancel-bulk-action',
  purpose:
    'Begin nothing more of an action; what schedulers work on finishes. No row: there is no such action. `isOpen`: it had not ended.',
  locking: 'The action, then its items.',
  text: `with held as materialized (
  select * from holdfast.bulk_actions where id = $id for no key update
),
skipped as (
  update holdfast.bulk_action_items i set status = 'skipped', reason = 'The action was cancelled.', settled_at = clock_timestamp()
  from held where i.action_id = held.id and held.ended_at is null and i.status = 'pending'
    and (i.leased_until is null or i.leased_until <= clock_timestamp())
  returning i.n
),
counted as materialized (select count(*)::int as n from skipped),
changed as (
  update holdfast.bulk_actions a
  set skipped = a.skipped + counted.n,
    status = case when a.done + a.skipped + a.failed + counted.n = a.total then 'cancelled' else 'cancelling' end,
    ended_at = case when a.done + a.skipped + a.failed + counted.n = a.total then clock_timestamp() end
  from held cross join counted where a.id = held.id and held.ended_at is null
  returning a.*
),
inserted_events as (
  ${progressEventSql('changed')}
),
${keyedSql(`select json_build_object('id', id) from held`)}
select held.ended_at is null as "isOpen" from held`,
  pool: 'views',
  values: (id: string, idempotency: KeyedRequest | null) => ({ id, ...idempotency }),
  answer: (rows) => rows.length > 0,
});

// The first item that was not skipped is the canary. Its messages have to be answered, or its
// delivery sent.
export const judgeCanaries = literalQuery({
  name: 'judge-canaries',
  purpose:
    'Let the actions continue whose canary went well, and end those whose canary did not. Answers how many have changed.',
  locking: 'The actions, one by one; those that others hold are left to them.',
  text: `with waiting as materialized (
  select a.* from holdfast.bulk_actions a
  where a.ended_at is null and a.status = 'running' and a.is_canary and a.canary_passed_at is null
  for no key update skip locked
),
canary as materialized (
  select waiting.id, waiting.target, first.status, first.subject, first.message_ids
  from waiting cross join lateral (
    select i.* from holdfast.bulk_action_items i where i.action_id = waiting.id and i.status <> 'skipped' order by i.n limit 1
  ) as first
  where first.status in ('done', 'failed')
),
delivery as materialized (
  select canary.id, d.status from canary
  join holdfast.deliveries d on canary.message_ids is null
    and d.id = coalesce((select l.delivery_id from holdfast.dead_letters l where l.id = canary.subject), canary.subject)
),
message as materialized (
  select canary.id, bool_and(i.status in ('answered', 'silent')) as is_good, bool_or(i.status in ('failed', 'cancelled', 'dropped')) as is_bad
  from canary join holdfast.inbox i on i.id = any (canary.message_ids) group by canary.id
),
verdict as materialized (
  select canary.id, case
      when canary.status = 'failed' or message.is_bad or delivery.status in ('failed', 'expired', 'discarded', 'unknown') then 'bad'
      when message.is_good or delivery.status = 'sent' then 'good'
    end as verdict
  from canary left join message on message.id = canary.id left join delivery on delivery.id = canary.id
),
skipped as (
  update holdfast.bulk_action_items i set status = 'skipped', reason = 'The first one did not end well.', settled_at = clock_timestamp()
  from verdict where verdict.verdict = 'bad' and i.action_id = verdict.id and i.status = 'pending'
  returning i.action_id
),
changed as (
  update holdfast.bulk_actions a
  set canary_passed_at = case when verdict.verdict = 'good' then clock_timestamp() end, due_at = clock_timestamp(),
    status = case when verdict.verdict = 'bad' then 'canary_failed' else a.status end,
    skipped = a.skipped + (select count(*) from skipped where skipped.action_id = a.id)::int,
    ended_at = case when verdict.verdict = 'bad' then clock_timestamp() end
  from verdict where a.id = verdict.id and verdict.verdict is not null
  returning a.*
),
inserted_events as (
  ${progressEventSql('changed')}
)
select count(*)::int as count from changed`,
  answer: ([row]: { count: number }[]) => row?.count ?? 0,
});

export const trimBulkActions = literalQuery({
  name: 'trim-bulk-actions',
  purpose:
    'Delete the oldest action that ended longer ago than $1 milliseconds, with its items. Answers a row when there was one.',
  locking: 'The action, then its items.',
  text: `with old as materialized (
  select id from holdfast.bulk_actions where ended_at < clock_timestamp() - $1::float8 * interval '1 millisecond'
  order by id limit 1 for update skip locked
),
items as (delete from holdfast.bulk_action_items i using old where i.action_id = old.id)
delete from holdfast.bulk_actions a using old where a.id = old.id returning 1`,
  values: (retentionMs: number) => [retentionMs],
  answer: (rows) => rows.length > 0,
});

/** An item that this scheduler works on. */
export interface LeasedItem {
  actionId: string;
  n: number;
  subject: string;
  action: BulkVerb;
  target: BulkTarget;
}

/** How an item has ended. */
export interface SettledItem {
  actionId: string;
  n: number;
  status: Exclude<BulkItemStatus, 'pending'>;
  reason: string | null;
  messageIds: readonly string[] | null;
}

/** The key of the effect of an item. */
export function buildBulkKey({ actionId, n }: Pick<LeasedItem, 'actionId' | 'n'>): KeyedRequest {
  return { scope: 'bulk action', key: `${actionId} ${n}`, sha256: '' };
}

export const leaseBulkItems = literalQuery({
  name: 'lease-bulk-items',
  purpose:
    'Take the next items of the action that is due first: at most $1, at most as many as it may begin in a second, and one while its canary has not passed. $2: for how long, in milliseconds.',
  locking: 'The action, then its items; what others hold is left to them.',
  text: `with action as materialized (
  select a.* from holdfast.bulk_actions a where a.ended_at is null and a.due_at <= clock_timestamp()
  order by a.due_at limit 1 for no key update skip locked
),
free as materialized (
  select i.action_id, i.n, i.subject from holdfast.bulk_action_items i join action on i.action_id = action.id
  where i.status = 'pending' and (i.leased_until is null or i.leased_until <= clock_timestamp())
    and (not action.is_canary or action.canary_passed_at is not null
      or i.n = (select min(first.n) from holdfast.bulk_action_items first where first.action_id = action.id and first.status <> 'skipped'))
  order by i.n limit (select least($1::int, action.per_second) from action) for update of i skip locked
),
leased as (
  update holdfast.bulk_action_items i set leased_until = clock_timestamp() + $2::float8 * interval '1 millisecond'
  from free where i.action_id = free.action_id and i.n = free.n
),
moved as (
  update holdfast.bulk_actions a
  set due_at = clock_timestamp() + interval '1 second' * case
      when counted.n = 0 then 1 when a.per_second is null then 0 else counted.n::float8 / a.per_second end
  from action cross join (select count(*) as n from free) as counted where a.id = action.id
)
select free.action_id as "actionId", free.n, free.subject, action.action, action.target
from free join action on action.id = free.action_id order by free.n`,
  values: ({ itemsMax, leaseMs }: { itemsMax: number; leaseMs: number }) => [itemsMax, leaseMs],
  answer: (rows: LeasedItem[]) => rows,
});

const SETTLED: SqlColumns<SettledItem> = {
  action_id: ['uuid', ({ actionId }) => actionId],
  n: ['int', ({ n }) => n],
  status: ['text', ({ status }) => status],
  reason: ['text', ({ reason }) => reason],
  message_ids: ['json', ({ messageIds }) => messageIds],
};

export const settleBulkItems = literalQuery({
  name: 'settle-bulk-items',
  purpose:
    'Write down how items ended, count them, and end actions that have no more. Items that were settled before stay.',
  locking: 'The actions in the order of their ids, then the items.',
  text: `with settled as materialized (${selectRecordsSql('$1', SETTLED)}),
held as materialized (
  select a.id from holdfast.bulk_actions a where a.id in (select action_id from settled) order by a.id for no key update
),
written as (
  update holdfast.bulk_action_items i
  set status = settled.status, reason = settled.reason, settled_at = clock_timestamp(), leased_until = null,
    message_ids = (select array_agg(value::uuid) from json_array_elements_text(settled.message_ids) as each (value))
  from settled join held on held.id = settled.action_id
  where i.action_id = settled.action_id and i.n = settled.n and i.status = 'pending'
  returning i.action_id, i.status
),
counted as materialized (
  select action_id, count(*) filter (where status = 'done')::int as done, count(*) filter (where status = 'skipped')::int as skipped,
    count(*) filter (where status = 'failed')::int as failed, count(*)::int as all
  from written group by action_id
),
changed as (
  update holdfast.bulk_actions a
  set done = a.done + counted.done, skipped = a.skipped + counted.skipped, failed = a.failed + counted.failed,
    status = case when a.done + a.skipped + a.failed + counted.all < a.total then a.status
      when a.status = 'cancelling' then 'cancelled' else 'completed' end,
    ended_at = case when a.done + a.skipped + a.failed + counted.all = a.total then clock_timestamp() end,
    reported_at = case when a.reported_at is null or a.reported_at < clock_timestamp() - interval '1 second'
      or a.done + a.skipped + a.failed + counted.all = a.total then clock_timestamp() else a.reported_at end
  from counted where a.id = counted.action_id and a.ended_at is null
  returning a.*
),
reported as (select * from changed where reported_at >= statement_timestamp()),
inserted_events as (
  ${progressEventSql('reported')}
)
select count(*)::int as count from changed`,
  values: (items: readonly SettledItem[]) => [toRecords(items, SETTLED)],
});
