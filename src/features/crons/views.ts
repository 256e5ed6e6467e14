// Crons and their fires as the API shows them. Reads only: the next slot is the stored one, and the
// caller computes later slots (G20). The end of a fire is that of its input, also before a
// scheduler has seen it.
import { and, desc, eq, inArray, lt, query } from '../../database/drizzle.ts';
import type { CronView, FireView } from './contract.ts';
import { buildTimetable, type Schedule } from './config.ts';
import { crons } from './rows.ts';
import type { Cron } from './store/crons.ts';
import { IS_FIRST_SQL } from '../../kernel/inbox/charged-inputs.ts';
import { dollarsSql } from '../../kernel/sessions/cost-sql.ts';
import { isoSql } from '../../kernel/sessions/session-facts.ts';
import { viewQuery } from '../../database/literal-query.ts';
import { listOf } from '../../database/list-of.ts';
import { urlWithoutCredentials } from '../deliveries/views.ts';
import { cutPage, type Page, type PageRequest, type ViewDatabase } from '../../database/page.ts';
import { nextSlot, computeStagger } from './rules/timetable.ts';

/** Crons, newest first. */
export async function listCrons(
  db: ViewDatabase,
  filter: { agentId?: string | undefined; enabled?: boolean | undefined },
  page: PageRequest,
): Promise<Page<Cron>> {
  const fitting = and(
    filter.agentId === undefined ? undefined : eq(crons.agentId, filter.agentId),
    filter.enabled === undefined ? undefined : eq(crons.isEnabled, filter.enabled),
    page.after === null ? undefined : lt(crons.id, page.after),
  );
  const limit = page.limit + 1;
  const rows = await query(db, (of) => of.select().from(crons).where(fitting).orderBy(desc(crons.id)).limit(limit));
  return cutPage(rows, page.limit, ({ id }) => id);
}

// A claimed fire has ended with its input, also before a scheduler has seen that.
const IS_ENDED_SQL = `f.status = 'claimed' and i.settled_at is not null`;

/** The states of deliveries, the one that a fire shows first. */
const WORST_FIRST_SQL = `array['failed', 'expired', 'unknown', 'discarded', 'sending', 'pending', 'sent']`;

/**
 * SQL of the columns of `FireView`: of a fire `f`, its input `i` and what its turns have `paid`. A
 * fire without a turn has cost nothing.
 */
const FIRE_COLUMNS = `f.cron_id as "cronId", ${isoSql('f.scheduled_for')} as "scheduledFor",
      case when not (${IS_ENDED_SQL}) then f.status when i.status in ('answered', 'silent') then 'completed' else 'failed' end as status,
      f.reason, f.slots, f.is_manual as "isManual", f.message_id as "messageId", coalesce(f.turn_id, i.turn_id) as "turnId",
      (select (${WORST_FIRST_SQL})[min(array_position(${WORST_FIRST_SQL}, d.status))] from holdfast.deliveries d
        where d.session_id = t.session_id and d.turn_id = t.id) as delivery,
      ${isoSql('f.fired_at')} as "firedAt", ${isoSql(`case when ${IS_ENDED_SQL} then i.settled_at else f.ended_at end`)} as "endedAt",
      ${dollarsSql('paid.cost_micros')} as "costUsd", paid.cost_micros::float8 as "costMicros", paid.unpriced_calls as "unpricedCalls",
      paid.is_simulated as simulated`;

const FIRE_JOINS = `left join holdfast.inbox i on i.id = f.message_id
      left join holdfast.turns t on t.id = coalesce(f.turn_id, i.turn_id)
      cross join lateral (
        select case when count(one.id) = 0 then 0 else sum(one.cost_micros)::bigint end as cost_micros,
          coalesce(sum(one.unpriced_calls), 0)::int as unpriced_calls, coalesce(bool_or(one.is_simulated), false) as is_simulated
        from (
          select t.id, t.cost_micros, t.unpriced_calls, t.is_simulated
          union all
          select started.id, started.cost_micros, started.unpriced_calls, started.is_simulated from holdfast.charged_inputs c
          join holdfast.inbox x on x.id = c.message_id join holdfast.turns started on started.id = x.turn_id
          where c.root_id = f.message_id and ${IS_FIRST_SQL}
        ) as one
      ) as paid`;

export const fires = listOf<{ cronId: string }, FireView>({
  name: 'list-cron-fires',
  purpose: 'Read the fires of a cron, newest slot first.',
  text: `select ${FIRE_COLUMNS}
from holdfast.cron_fires f ${FIRE_JOINS}`,
  where: 'f.cron_id = $cronId',
  filters: {},
  order: 'f.scheduled_for desc',
  key: 'scheduledFor',
});

/** The number of a cron's newest fires that are shown with it. */
const RECENT_FIRES = 20;

export const readNewestFires = viewQuery({
  name: 'recent-cron-fires',
  purpose: 'Read the newest fires of the crons with these ids ($1), newest slot first, and what their turns cost.',
  text: `select ${FIRE_COLUMNS}
from unnest($1::uuid[]) as cron (id)
cross join lateral (
  select * from holdfast.cron_fires where cron_id = cron.id order by scheduled_for desc limit ${RECENT_FIRES}
) as f
${FIRE_JOINS}
order by f.scheduled_for desc`,
  values: (ids: string[]) => [ids],
  answer: (fires: FireView[]) => Map.groupBy(fires, ({ cronId }) => cronId),
});

/**
 * The crons with these ids that exist, newest first, each with its newest fires, newest slot first.
 */
export async function readRecentFires(db: ViewDatabase, ids: string[]): Promise<{ cron: Cron; fires: FireView[] }[]> {
  const found = await query(db, (of) => of.select().from(crons).where(inArray(crons.id, ids)).orderBy(desc(crons.id)));
  const fires = await readNewestFires(db, ids);
  return found.map((cron) => ({ cron, fires: fires.get(cron.id) ?? [] }));
}

/** A cron as the outside sees it. */
export function toCronView(kept: Cron): CronView {
  const {
    isEnabled,
    lastSlotMs,
    nextSlotMs: _nextSlot,
    dueMs: _due,
    notBeforeMs: _rest,
    revision: _revision,
    causeKey: _cause,
    noticeId: _notice,
    root: _root,
    createdMs,
    updatedMs,
    options,
    ...same
  } = kept;
  const { slotMs, runMs } = findNextRun(kept);
  return {
    ...same,
    tools: options?.tools ?? null,
    tags: options?.tags ?? {},
    delivery: kept.delivery === null ? null : withoutCredentials(kept.delivery),
    enabled: isEnabled,
    lastSlotAt: toIso(lastSlotMs),
    nextSlotAt: isEnabled ? toIso(slotMs) : null,
    nextRunAt: isEnabled ? toIso(runMs) : null,
    createdAt: new Date(createdMs).toISOString(),
    updatedAt: new Date(updatedMs).toISOString(),
  };
}

function withoutCredentials(delivery: NonNullable<Cron['delivery']>): NonNullable<CronView['delivery']> {
  if (delivery.mode !== 'webhook' || delivery.url === undefined) return delivery;
  return { ...delivery, url: urlWithoutCredentials(delivery.url) };
}

function toIso(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}

/** A cron as far as its next run depends on it. */
interface Waiting {
  id: string;
  schedule: Schedule;
  nextSlotMs: number | null;
  dueMs: number | null;
  notBeforeMs: number | null;
}

/**
 * The slot that runs next, and when: a cron that rests after a failure passes over the slots before
 * the end of its rest.
 */
export function findNextRun({ id, schedule, nextSlotMs, dueMs, notBeforeMs }: Waiting): {
  slotMs: number | null;
  runMs: number | null;
} {
  if (nextSlotMs === null || notBeforeMs === null || nextSlotMs >= notBeforeMs)
    return { slotMs: nextSlotMs, runMs: dueMs };
  const timetable = buildTimetable(schedule);
  const slotMs = nextSlot(timetable, notBeforeMs - 1);
  return { slotMs, runMs: slotMs === null ? null : slotMs + computeStagger(timetable, id) };
}
