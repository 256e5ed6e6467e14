// Crons: scheduled work. Each change increments the revision of the cron, so that a plan made from
// an older revision fires nothing. The next slot is stored with the cron; reading it never moves it
// (G20).
import type { CronDefinition } from '../rules/cron.ts';
import { now } from '../../../rows/columns.ts';
import { crons } from '../rows.ts';
import type { Database } from '../../../database/database.ts';
import { and, eq, inArray, or, query, sql } from '../../../database/drizzle.ts';
import { transaction } from '../../../database/transaction.ts';
import { storeKey, type KeyedRequest } from '../../../database/idempotency.ts';
import { literalQuery } from '../../../database/literal-query.ts';

/** A cron as it is kept. */
export type Cron = typeof crons.$inferSelect;

/** When a cron must be checked next. */
export type NextSlot = Pick<Cron, 'nextSlotMs' | 'dueMs'>;

/** The most crons of one agent. */
export const CRONS_PER_AGENT_MAX = 1_000;

/** Part of each change. */
export const CHANGED = { revision: sql<number>`${crons.revision} + 1`, updatedMs: now };

/** What a change was made from. */
type ReadCron = Pick<Cron, 'id' | 'revision'>;

const isUnchanged = ({ id, revision }: ReadCron) => and(eq(crons.id, id), eq(crons.revision, revision));

/**
 * Keeps a new cron. `duplicate`: one was made for the same cause before, and is answered. `full`:
 * its agent has as many as it may have. The key of a request stores its id as the result.
 */
export function createCron(
  database: Database,
  cron: typeof crons.$inferInsert,
  idempotency: KeyedRequest | null = null,
): Promise<{ kind: 'created' | 'duplicate'; cron: Cron } | { kind: 'full' }> {
  return transaction(database.views, async (tx) => {
    const count = await tx.rows.$count(crons, eq(crons.agentId, cron.agentId));
    const [made] =
      count < CRONS_PER_AGENT_MAX ? await tx.rows.insert(crons).values(cron).onConflictDoNothing().returning() : [];
    if (made !== undefined) {
      await storeKey(tx, idempotency, { id: made.id });
      return { kind: 'created', cron: made };
    }
    const isSame = or(eq(crons.id, cron.id), eq(crons.causeKey, cron.causeKey ?? ''));
    const [known] = await tx.rows.select().from(crons).where(isSame);
    return known === undefined ? { kind: 'full' } : { kind: 'duplicate', cron: known };
  });
}

/** The cron of this id, or null. */
export async function findCron(database: Database, id: string): Promise<Cron | null> {
  const [cron] = await query(database.views, (db) => db.select().from(crons).where(eq(crons.id, id)));
  return cron ?? null;
}

/**
 * Writes the new state of a cron, unless it has changed since `revision`. Resets its count of
 * failed runs and the reason why it was disabled. Null: it has changed or was deleted.
 */
export async function changeCron(
  database: Database,
  cron: ReadCron,
  change: CronDefinition & Partial<NextSlot> & { isEnabled: boolean },
): Promise<Cron | null> {
  const fresh = { disabledReason: null, failures: 0, notBeforeMs: null, noticeId: null };
  const state = { ...change, ...fresh, ...CHANGED };
  const [changed] = await query(database.views, (db) =>
    db.update(crons).set(state).where(isUnchanged(cron)).returning(),
  );
  return changed ?? null;
}

/** Deletes a cron and its fires; false when it does not exist. The transcripts of its runs stay. */
export async function deleteCron(database: Database, id: string): Promise<boolean> {
  const { rowCount } = await query(database.views, (db) => db.delete(crons).where(eq(crons.id, id)));
  return rowCount === 1;
}

/** The crons of the configuration file, as they are kept. */
export function readConfigCrons(database: Database): Promise<Cron[]> {
  return query(database.views, (db) => db.select().from(crons).where(eq(crons.origin, 'config')).orderBy(crons.id));
}

/** Switches a cron off, with the reason, unless it has changed since `revision`. */
export async function disableCron(
  database: Database,
  cron: ReadCron,
  { reason, noticeId }: { reason: string; noticeId: string | null },
): Promise<void> {
  const state = { isEnabled: false, disabledReason: reason, noticeId, ...CHANGED };
  await query(database.views, (db) => db.update(crons).set(state).where(isUnchanged(cron)));
}

export const dueCrons = literalQuery({
  name: 'due-crons',
  purpose: 'Read which crons are due, the time of the database, and in how many milliseconds the next one is due.',
  retryMs: 0,
  text: `with clock as materialized (select clock_timestamp() as now),
due as (select c.id, c.due_at from holdfast.crons c, clock where c.is_enabled and c.due_at <= clock.now order by c.due_at limit $1)
select floor(extract(epoch from clock.now) * 1000)::float8 as "nowMs", array(select id from due) as due,
  (select extract(epoch from min(c.due_at) - clock.now)::float8 * 1000 from holdfast.crons c where c.is_enabled and c.due_at > clock.now)
    as "nextInMs"
from clock`,
  values: (limit: number) => [limit],
  // One row.
  answer: ([row]: { due: string[]; nowMs: number; nextInMs: number | null }[]) => row!,
});

/**
 * The crons that are due now, the database's time, and in how many milliseconds the next is due;
 * null when none will be.
 */
export async function readDueCrons(
  database: Database,
  limit: number,
): Promise<{ due: Cron[]; nowMs: number; nextInMs: number | null }> {
  const { due: ids, ...times } = await dueCrons(database, limit);
  if (ids.length === 0) return { due: [], ...times };
  const those = inArray(crons.id, ids);
  const due = await query(database.hot, (db) => db.select().from(crons).where(those).orderBy(crons.dueMs));
  return { due, ...times };
}

/** The time of epoch milliseconds, as a value of a statement. */
export function toDate(ms: number | null): Date | null {
  return ms === null ? null : new Date(ms);
}
