// Crons and their fires as the API shows them. Reads only: the next slot is the stored one, and the caller computes later slots
// (G20). The end of a fire is that of its input, also before a scheduler has seen it.
import { sql } from '../drizzle.ts';
import { CRON_COLUMNS, cronOf, type Cron, type CronRow } from '../crons.ts';
import { costFactsOf, type CostFacts } from '../cost-sql.ts';
import { literal } from '../statement.ts';
import { isoOf, isoOrNull, pageOf, type Page, type PageRequest, type ViewDatabase } from './page.ts';

export const FIRE_STATUSES = ['claimed', 'completed', 'failed', 'missed', 'skipped'] as const;

/** With what its turn cost so far. */
export interface FireView extends CostFacts {
  cronId: string;
  scheduledFor: string;
  status: (typeof FIRE_STATUSES)[number];
  /** Why it was passed over, or failed. */
  reason: string | null;
  /** The number of slots from this one on that were skipped for the same reason. */
  slots: number;
  /** True when a person or an agent requested it. */
  isManual: boolean;
  messageId: string | null;
  turnId: string | null;
  firedAt: string | null;
  endedAt: string | null;
}

/** Crons, newest first. */
export async function listCrons(
  db: ViewDatabase,
  filter: { agentId?: string | undefined; enabled?: boolean | undefined },
  page: PageRequest,
): Promise<Page<Cron>> {
  const result = await db.execute<CronRow & Record<string, unknown>>(sql`
    select ${sql.raw(CRON_COLUMNS)} from holdfast.crons c
    where (${filter.agentId ?? null}::text is null or c.agent_id = ${filter.agentId ?? null})
      and (${filter.enabled ?? null}::boolean is null or c.is_enabled = ${filter.enabled ?? null}::boolean)
      and (${page.after}::uuid is null or c.id < ${page.after}::uuid)
    order by c.id desc limit ${page.limit + 1}`);
  return pageOf(result.rows, page.limit, { item: cronOf, key: (row) => row.id });
}

/** SQL of the columns of `FireRow`: of a fire `f`, its input `i` and its turn `t`. A fire without a turn has cost nothing. */
const FIRE_COLUMNS = `f.cron_id, f.scheduled_for, f.status, f.reason, f.slots, f.is_manual, f.message_id,
      coalesce(f.turn_id, i.turn_id) as turn_id, f.fired_at, f.ended_at, i.status as message_status, i.settled_at,
      case when t.id is null then 0 else t.cost_micros::float8 end as cost_micros, coalesce(t.unpriced_calls, 0) as unpriced_calls,
      coalesce(t.is_simulated, false) as is_simulated`;

const FIRE_JOINS = `left join holdfast.inbox i on i.id = f.message_id
      left join holdfast.turns t on t.id = coalesce(f.turn_id, i.turn_id)`;

/** The fires of a cron, newest slot first. The key of a page is the time of a slot. */
export async function listFires(db: ViewDatabase, cronId: string, page: PageRequest): Promise<Page<FireView>> {
  const result = await db.execute<FireRow & Record<string, unknown>>(sql`
    select ${sql.raw(FIRE_COLUMNS)} from holdfast.cron_fires f ${sql.raw(FIRE_JOINS)}
    where f.cron_id = ${cronId} and (${page.after}::timestamptz is null or f.scheduled_for < ${page.after}::timestamptz)
    order by f.scheduled_for desc limit ${page.limit + 1}`);
  return pageOf(result.rows, page.limit, { item: fireViewOf, key: (row) => new Date(row.scheduled_for).toISOString() });
}

/** The number of a cron's newest fires that are shown with it. */
const RECENT_FIRES = 20;

export const RECENT_CRON_FIRES = literal({
  name: 'recent-cron-fires',
  purpose: 'Read the crons with these ids ($1), each with its newest fires and what their turns cost.',
  text: `select ${CRON_COLUMNS}, (
    select coalesce(json_agg(row_to_json(fire) order by fire.scheduled_for desc), '[]')
    from (
      select ${FIRE_COLUMNS}
      from (select * from holdfast.cron_fires where cron_id = crons.id order by scheduled_for desc limit ${RECENT_FIRES}) as f
      ${FIRE_JOINS}
    ) as fire
  ) as fires
from holdfast.crons where id = any ($1::uuid[]) order by id desc`,
});

/** The crons with these ids that exist, newest first, each with its newest fires, newest slot first. */
export async function readRecentFires(
  db: ViewDatabase,
  ids: readonly string[],
): Promise<{ cron: Cron; fires: FireView[] }[]> {
  const { rows } = await db.$client.query<CronRow & { fires: FireRow[] }>(RECENT_CRON_FIRES.prepared([ids]));
  return rows.map((row) => ({ cron: cronOf(row), fires: row.fires.map(fireViewOf) }));
}

/** The fire of a cron at a time, or null. */
export async function viewFire(db: ViewDatabase, cronId: string, scheduledFor: Date): Promise<FireView | null> {
  const after = new Date(scheduledFor.getTime() + 1).toISOString();
  const found = (await listFires(db, cronId, { limit: 1, after })).items[0];
  return found?.scheduledFor === scheduledFor.toISOString() ? found : null;
}

interface FireRow {
  cron_id: string;
  scheduled_for: Date | string;
  status: FireView['status'];
  reason: string | null;
  slots: number;
  is_manual: boolean;
  message_id: string | null;
  turn_id: string | null;
  fired_at: Date | string | null;
  ended_at: Date | string | null;
  message_status: string | null;
  settled_at: Date | string | null;
  cost_micros: number | null;
  unpriced_calls: number;
  is_simulated: boolean;
}

function fireViewOf(row: FireRow): FireView {
  const isEnded = row.status === 'claimed' && row.settled_at !== null;
  const hasGoneWell = row.message_status === 'answered' || row.message_status === 'silent';
  return {
    cronId: row.cron_id,
    scheduledFor: isoOf(new Date(row.scheduled_for)),
    status: !isEnded ? row.status : hasGoneWell ? 'completed' : 'failed',
    reason: row.reason,
    slots: row.slots,
    isManual: row.is_manual,
    messageId: row.message_id,
    turnId: row.turn_id,
    firedAt: isoOrNull(timeOf(row.fired_at)),
    endedAt: isoOrNull(timeOf(isEnded ? row.settled_at : row.ended_at)),
    ...costFactsOf({
      costMicros: row.cost_micros,
      unpricedCalls: row.unpriced_calls,
      isSimulated: row.is_simulated,
    }),
  };
}

function timeOf(time: Date | string | null): Date | null {
  return time === null ? null : new Date(time);
}
