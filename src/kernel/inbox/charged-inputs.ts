// What the costs of a turn count for: the API key, the item of a batch and the tick of a cron that
// caused its first input. Whatever a turn starts counts for the same: the input that it makes
// contains `chargedTo`, by which budgets match (`toBudgetFacts` in check-budgets.ts). Inputs that
// count for an item or a tick also have a row of `charged_inputs`: the sums of batches and crons,
// and the end of a batch, follow from these rows.

/**
 * SQL of what the first input of a turn counts for: `{sentBy, batchId, item, messageId}` without
 * what does not apply; null: there is no such turn.
 */
export function chargeOfTurnSql(turnId: string): string {
  return `(select coalesce(i.body -> 'chargedTo', json_strip_nulls(json_build_object('sentBy', i.body -> 'sentBy', 'batchId', i.body -> 'batchId',
      'item', case when i.cause_key like 'batch:%' then split_part(i.cause_key, ':', 3)::int end,
      'messageId', case when i.cause_key like 'batch:%' or i.cause_key like 'cron:%' then i.id end)))
    from holdfast.inbox i where i.turn_id = ${turnId} order by i.seq limit 1)`;
}

/** A CTE that stores the rows of the inputs of `source` (id, charged_to). */
export function chargedPart(source: string): string {
  return `charged as (
  insert into holdfast.charged_inputs (message_id, root_id, batch_id, batch_n)
  select id, (charged_to ->> 'messageId')::uuid, (charged_to ->> 'batchId')::uuid, (charged_to ->> 'item')::int
  from ${source} where charged_to ->> 'messageId' is not null
  on conflict do nothing
)`;
}

/**
 * SQL of whether an input `x` is the first one of its turn, which the costs of the turn count for.
 */
export const IS_FIRST_SQL = `not exists (select from holdfast.inbox earlier where earlier.turn_id = x.turn_id and earlier.seq < x.seq)`;

/**
 * SQL of how much of what counts for the batch `b` has not ended: runs, or inputs where those are
 * more; and messages that are not inputs yet.
 */
export const FOLLOW_UPS_SQL = `greatest((select count(*) from holdfast.charged_inputs c where c.batch_id = b.id and not c.is_counted),
    (select count(*) from holdfast.subagent_runs r where r.charged_to ->> 'batchId' = b.id::text and r.status = 'running'
      and r.charged_to is not null))::int
    + (select count(*) from holdfast.effects e where e.kind = 'message-sent'
      and ${chargeOfTurnSql("(e.payload ->> 'turnId')::uuid")} ->> 'batchId' = b.id::text)::int`;
