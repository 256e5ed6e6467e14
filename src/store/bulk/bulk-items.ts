// The items of bulk actions: leased to a scheduler, carried out one by one, and settled together. Each has an effect that is stored with a
// key of its own (`bulkKeyOf`), so an item whose scheduler was killed is done once.
import type { BulkItemStatus, BulkTarget, BulkVerb } from '../../core/bulk/bulk-action.ts';
import type { KeyedRequest } from '../idempotency.ts';
import { literalQuery } from '../literal-query.ts';
import { recordsOf, selectRecordsSql, type SqlColumns } from '../record-set.ts';
import { progressEventSql } from './bulk-actions.ts';

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
export function bulkKeyOf({ actionId, n }: Pick<LeasedItem, 'actionId' | 'n'>): KeyedRequest {
  return { scope: 'bulk action', key: `${actionId} ${n}`, sha256: '' };
}

/** Takes items to work on; none: nothing is due. */
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
  values: (items: readonly SettledItem[]) => [recordsOf(items, SETTLED)],
});
