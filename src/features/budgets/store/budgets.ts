// The budgets that hold: those of the configuration, those that requests have made, and the cost
// caps of batches.
import { BUDGET_REACHED, type BudgetAction, type BudgetOrigin, type BudgetSettings } from '../rules/budget.ts';
import type { Database } from '../../../database/database.ts';
import { keyedSql, type KeyedRequest } from '../../../database/idempotency.ts';
import { literalQuery } from '../../../database/literal-query.ts';
import { toRecords, selectRecordsSql, type SqlColumns } from '../../../database/statement.ts';
import { isoSql } from '../../../kernel/sessions/session-facts.ts';
import { transaction } from '../../../database/transaction.ts';
import { afterOfRings, RINGS_SQL, type NeededRing } from '../../../kernel/queue/rings.ts';
import { isReachedSql, windowBoundsSql } from './budgets-sql.ts';
import { wokenSql } from '../../../kernel/queue/wake-parked.ts';
import type { Committed } from '../../../kernel/queue/after-commit.ts';

/** A budget with its present window. */
export interface Budget extends BudgetSettings {
  id: string;
  origin: BudgetOrigin;
  spentMicros: number;
  reservedMicros: number;
  /** True when a call was refused, and there is still no room for it. */
  isReached: boolean;
  startsAt: string;
  /** Null: it has no end. */
  endsAt: string | null;
}

const BUDGET_SQL = `b.id, b.origin, b.scope, b.per, b.zone, b.limit_micros::float8 as "limitMicros", b.warn_percent as "warnPercent", b.action,
  b.is_strict as strict, coalesce(w.spent_micros, 0)::float8 as "spentMicros", coalesce(w.reserved_micros, 0)::float8 as "reservedMicros",
  coalesce(${isReachedSql('b', 'w')}, false) as "isReached",
  ${isoSql('bounds.starts_at')} as "startsAt",
  ${isoSql('bounds.ends_at')} as "endsAt"
from holdfast.budgets b cross join ${windowBoundsSql('b', 'clock_timestamp()')} as bounds left join holdfast.budget_windows w
  on w.budget_id = b.id and w.starts_at <= clock_timestamp() and (w.ends_at is null or w.ends_at > clock_timestamp())`;

const BUDGETS_SQL = `(select coalesce(json_agg(budget)::text, '[]') from (
  select ${BUDGET_SQL} where b.removed_at is null order by b.id
) as budget)`;

/**
 * SQL of whether the budgets that hold, or what is known of their windows, have changed since the
 * text with this hash was read.
 */
export const HAVE_CHANGED_SQL = `encode(sha256(convert_to(${BUDGETS_SQL}, 'UTF8')), 'hex') is distinct from $budgetsHash::text`;

export const readBudgets = literalQuery({
  name: 'read-budgets',
  purpose: 'Read the budgets that hold, with their present windows, oldest first, as one text.',
  text: `select ${BUDGETS_SQL} as budgets`,
  // One row.
  answer: ([row]: { budgets: string }[]) => row!.budgets,
});

const SETTINGS: SqlColumns<BudgetSettings & { id: string }> = {
  id: ['uuid', ({ id }) => id],
  scope: ['text', ({ scope }) => scope],
  per: ['text', ({ per }) => per],
  zone: ['text', ({ zone }) => zone],
  limit_micros: ['bigint', ({ limitMicros }) => limitMicros],
  warn_percent: ['int', ({ warnPercent }) => warnPercent],
  action: ['text', ({ action }) => action],
  is_strict: ['boolean', ({ strict }) => strict],
};

const NAMES = 'scope, per, zone, limit_micros, warn_percent, action, is_strict';

export const lockBudgets = literalQuery({
  name: 'lock-budgets',
  purpose: 'Make processes bring the budgets of the configuration up to date one after the other.',
  locking: 'An advisory lock of its own; requests that change a budget do not wait for it.',
  text: "select pg_advisory_xact_lock(hashtextextended('holdfast.budgets', 0))",
});

export const replaceBudgets = literalQuery({
  name: 'sync-budgets',
  purpose:
    'Bring the budgets of the configuration up to date, by scope, period and zone. Those that it no longer has are removed; one that it has again continues with its sums. Answers the rings of turns that wait for one that has changed.',
  locking: 'The budgets, then the session rows in the order of their ids.',
  text: `with wanted as materialized (${selectRecordsSql('$1', SETTINGS)}),
removed as (
  update holdfast.budgets b set removed_at = clock_timestamp()
  where b.origin = 'config' and b.removed_at is null
    and not exists (select from wanted w where w.scope = b.scope and w.per = b.per and w.zone = b.zone)
  returning b.id
),
changed as (
  update holdfast.budgets b
  set changed_at = clock_timestamp(), limit_micros = w.limit_micros, warn_percent = w.warn_percent, action = w.action, is_strict = w.is_strict
  from wanted w
  where b.origin = 'config' and b.removed_at is null and w.scope = b.scope and w.per = b.per and w.zone = b.zone
    and (b.limit_micros, b.warn_percent, b.action, b.is_strict) is distinct from (w.limit_micros, w.warn_percent, w.action, w.is_strict)
  returning b.id
),
earlier as materialized (
  select distinct on (b.scope, b.per, b.zone) b.id from holdfast.budgets b
  join wanted w on w.scope = b.scope and w.per = b.per and w.zone = b.zone
  where b.origin = 'config' and b.removed_at is not null
    and not exists (select from holdfast.budgets held where held.origin = 'config' and held.removed_at is null
      and held.scope = b.scope and held.per = b.per and held.zone = b.zone)
  order by b.scope, b.per, b.zone, b.removed_at desc
),
revived as (
  update holdfast.budgets b set removed_at = null, changed_at = clock_timestamp(), limit_micros = w.limit_micros, warn_percent = w.warn_percent,
    action = w.action, is_strict = w.is_strict
  from earlier, wanted w
  where b.id = earlier.id and b.removed_at is not null and w.scope = b.scope and w.per = b.per and w.zone = b.zone
  returning b.scope, b.per, b.zone
),
inserted as (
  insert into holdfast.budgets (id, origin, ${NAMES})
  select id, 'config', ${NAMES} from wanted w
  where not exists (select from revived r where r.scope = w.scope and r.per = w.per and r.zone = w.zone)
  on conflict (scope, per, zone) where origin = 'config' and removed_at is null do nothing
),
${wokenSql([BUDGET_REACHED], `t.park_by in (select id::text from removed union all select id::text from changed)`)}
select ${RINGS_SQL} as rings`,
  values: (wanted: readonly (BudgetSettings & { id: string })[]) => [toRecords(wanted, SETTINGS)],
  answer: ([row]: { rings: NeededRing[] }[]) => ({ after: afterOfRings(row?.rings ?? []) }),
});

/**
 * Makes the budgets of the configuration hold. Safe to send again, and by any number of processes.
 */
export function syncBudgets(
  database: Database,
  wanted: readonly (BudgetSettings & { id: string })[],
): Promise<Committed<object>> {
  return transaction(database.hot, async (tx) => {
    tx.write(lockBudgets.prepared([]));
    return replaceBudgets(tx, wanted);
  });
}

export const createBudget = literalQuery({
  name: 'create-budget',
  purpose: 'Store a budget.',
  pool: 'views',
  text: `with made as (
  insert into holdfast.budgets (id, origin, ${NAMES}, created_by)
  select id, 'api', ${NAMES}, $createdBy from (${selectRecordsSql('$budget', SETTINGS)}) as wanted
  -- The statement is sent again after a lost answer.
  on conflict (id) do nothing
  returning id
),
${keyedSql(`select json_build_object('id', id) from made`)}
select id from made`,
  values: (
    budget: BudgetSettings & { id: string },
    { createdBy, idempotency }: { createdBy: string; idempotency: KeyedRequest | null },
  ) => ({ budget: toRecords([budget], SETTINGS), createdBy, ...idempotency }),
});

/** The fields of a budget that can be changed. */
export type BudgetPatch = Partial<{
  limitMicros: number;
  warnPercent: number;
  action: BudgetAction;
  strict: boolean;
}>;

/** `fixed`: it belongs to the configuration or to a batch. */
export type BudgetChange = 'done' | 'unknown' | 'fixed';

export const changeBudget = literalQuery({
  name: 'change-budget',
  purpose:
    'Change or remove a budget that a request has made. Answers whose it is, and the rings of the turns that wait for it.',
  locking: 'The budget, then the session rows in the order of their ids.',
  pool: 'views',
  text: `with found as materialized (select id, origin from holdfast.budgets where id = $id and removed_at is null for no key update),
changed as (
  update holdfast.budgets b
  set changed_at = case when $isRemoved::boolean then b.changed_at else clock_timestamp() end, removed_at = case when $isRemoved::boolean then clock_timestamp() end,
    limit_micros = coalesce($limitMicros::bigint, b.limit_micros), warn_percent = coalesce($warnPercent::int, b.warn_percent),
    action = coalesce($action::text, b.action), is_strict = coalesce($strict::boolean, b.is_strict)
  from found where b.id = found.id and found.origin = 'api'
  returning b.id
),
${wokenSql([BUDGET_REACHED], 't.park_by in (select id::text from changed)')}
select origin, ${RINGS_SQL} as rings from found`,
  values: (id: string, change: BudgetPatch & { isRemoved?: true }) => ({ id, isRemoved: false, ...change }),
  answer([row]: { origin: BudgetOrigin; rings: NeededRing[] }[]): Committed<{ result: BudgetChange }> {
    const result = row === undefined ? 'unknown' : row.origin === 'api' ? 'done' : 'fixed';
    return { result, after: afterOfRings(row?.rings ?? []) };
  },
});
