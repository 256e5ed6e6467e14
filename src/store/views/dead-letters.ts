// Failed work that waits for a person, grouped by error: two thousand failures are often three errors.
import type { DeadLetterGroupView, DeadLetterView } from '../../contract/dead-letters.ts';
import { and, desc, eq, sql } from '../drizzle.ts';
import { deadLetters, sessions } from '../schema.ts';
import { isoSql } from '../session-facts.ts';
import { literal } from '../statement.ts';
import { isoOf, isoOrNull, type Page, type PageRequest, type ViewDatabase } from './page.ts';

/** Which letters are listed. */
export interface DeadLetterFilter {
  state: DeadLetterView['state'];
  code?: string | undefined;
}

const LETTERS_OF_GROUP_MAX = 20;
const TREND_HOURS = 24;
/** The clocks of the processes that made the ids may differ from the clock of the database by this much. */
const CLOCK_SLACK = '1 hour';

/** Groups of dead letters in this state, in the order of kind and code; `after` is a group's key. */
export async function listDeadLetterGroups(
  db: ViewDatabase,
  { state, code }: DeadLetterFilter,
  page: PageRequest,
): Promise<Page<DeadLetterGroupView>> {
  const groups = await db
    .select({
      kind: deadLetters.kind,
      code: deadLetters.code,
      count: sql<number>`count(*)::int`,
      firstAt: sql<Date>`min(${deadLetters.createdAt})`.mapWith(deadLetters.createdAt),
      lastAt: sql<Date>`max(${deadLetters.createdAt})`.mapWith(deadLetters.createdAt),
    })
    .from(deadLetters)
    .where(
      and(
        eq(deadLetters.state, state),
        code === undefined ? undefined : eq(deadLetters.code, code),
        page.after === null ? undefined : isAfterGroup(page.after),
      ),
    )
    .groupBy(deadLetters.kind, deadLetters.code)
    .orderBy(deadLetters.kind, deadLetters.code)
    .limit(page.limit + 1);
  const shown = groups.slice(0, page.limit);
  const trendOf = await readTrends(db, state, shown);
  const items = await Promise.all(
    shown.map(async (group) => ({
      ...group,
      firstAt: isoOf(group.firstAt),
      lastAt: isoOf(group.lastAt),
      perHour: trendOf(group),
      letters: await newestOf(db, { ...group, state }),
    })),
  );
  const last = shown.at(-1);
  return {
    items,
    next: groups.length > page.limit && last !== undefined ? JSON.stringify([last.kind, last.code]) : null,
  };
}

function isAfterGroup(after: string) {
  const [kind, code] = JSON.parse(after) as [string, string];
  return sql`(${deadLetters.kind}, ${deadLetters.code}) > (${kind}, ${code})`;
}

const FIRST_HOUR_SQL = `date_trunc('hour', clock_timestamp(), 'UTC') - interval '${TREND_HOURS - 1} hours'`;

export const DEAD_LETTER_TRENDS = literal({
  name: 'dead-letter-trends',
  purpose:
    'Count the letters of some groups in each of the last 24 hours. The ids begin with their time, so only the letters of these hours are read, by the primary key.',
  text: `with first_hour as materialized (
  select ${FIRST_HOUR_SQL} as at
),
recent as materialized (
  select l.kind, l.code, floor(extract(epoch from l.created_at - (select at from first_hour)) / 3600)::int as hour, count(*)::int as count
  from holdfast.dead_letters l
  join unnest($2::text[], $3::text[]) as shown (kind, code) on shown.kind = l.kind and shown.code = l.code
  where l.state = $1 and l.created_at >= (select at from first_hour)
    -- The first 48 bits of an id are the milliseconds of its time.
    and l.id >= (select (lpad(to_hex((extract(epoch from at - interval '${CLOCK_SLACK}') * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid from first_hour)
  group by 1, 2, 3
)
select ${isoSql('(select at from first_hour)')} as "startsAt",
  coalesce((select json_agg(recent) from recent), '[]') as recent`,
});

interface TrendsRow {
  startsAt: string;
  recent: { kind: string; code: string; hour: number; count: number }[];
}

type GroupName = Pick<DeadLetterGroupView, 'kind' | 'code'>;

/** Reads how many letters of each of these groups were made in each of the last hours. */
async function readTrends(
  db: ViewDatabase,
  state: string,
  groups: readonly GroupName[],
): Promise<(group: GroupName) => DeadLetterGroupView['perHour']> {
  const values = [state, groups.map(({ kind }) => kind), groups.map(({ code }) => code)];
  const { rows } = await db.$client.query<TrendsRow>(DEAD_LETTER_TRENDS.prepared(values));
  // A select without a table in `from` has one row.
  const { startsAt, recent } = rows[0]!;
  return ({ kind, code }) => {
    const counts = Array.from({ length: TREND_HOURS }, () => 0);
    // A letter that is made while the hour changes belongs to the last one.
    for (const row of recent)
      if (row.kind === kind && row.code === code) counts[Math.min(row.hour, TREND_HOURS - 1)]! += row.count;
    return { startsAt, counts };
  };
}

async function newestOf(
  db: ViewDatabase,
  group: { kind: string; code: string; state: DeadLetterView['state'] },
): Promise<DeadLetterView[]> {
  const rows = await db
    .select({ letter: deadLetters, sessionKey: sessions.key })
    .from(deadLetters)
    .leftJoin(sessions, eq(sessions.id, deadLetters.sessionId))
    .where(and(eq(deadLetters.state, group.state), eq(deadLetters.kind, group.kind), eq(deadLetters.code, group.code)))
    .orderBy(desc(deadLetters.id))
    .limit(LETTERS_OF_GROUP_MAX);
  return rows.map(({ letter, sessionKey }) => ({
    id: letter.id,
    kind: letter.kind,
    sessionKey,
    turnId: letter.turnId,
    deliveryId: letter.deliveryId,
    code: letter.code,
    reason: letter.reason,
    state: letter.state,
    createdAt: isoOf(letter.createdAt),
    settledAt: isoOrNull(letter.settledAt),
  }));
}
