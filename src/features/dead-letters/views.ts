// Failed work that waits for a person, grouped by error: two thousand failures are often three
// errors.
import { cutPage, type Page, type PageRequest, type ViewDatabase } from '../../database/page.ts';
import type { DeadLetterGroupView, DeadLetterView } from './contract.ts';
import type { WordedInput } from '../../core/words.ts';
import {
  beginningSql,
  firstInputSql,
  sessionNamesSql,
  sessionTitle,
  turnTitle,
  type NamesRow,
} from '../../kernel/views/words.ts';
import { deliveryTitle } from '../deliveries/views.ts';
import { failureStep } from '../../core/failure.ts';
import { isoSql } from '../../kernel/sessions/session-facts.ts';
import { viewQuery } from '../../database/literal-query.ts';
import type { Scope } from '../../core/scope.ts';
import { seenRowsText } from '../../database/scope-sql.ts';

/** Which letters are listed. */
export interface DeadLetterFilter {
  state: DeadLetterView['state'];
  code?: string | null | undefined;
  scope: Scope;
}

const LETTERS_OF_GROUP_MAX = 20;
const TREND_HOURS = 24;
/**
 * The clocks of the processes that made the ids may differ from the clock of the database by this
 * much.
 */
const CLOCK_SLACK = '1 hour';

const LETTERS_SQL = seenRowsText('$6', 'dead_letters');

export const readLetterGroups = viewQuery({
  name: 'dead-letter-groups',
  purpose:
    'Read a page of the groups of letters of a scope ($6) in a state ($1), each with its newest letters. $2: with this code. $3 and $4: after this kind and code.',
  text: `select g.*, (
  select json_agg(json_build_object('id', l.id, 'kind', l.kind, 'sessionKey', s.key, 'names', case when s.id is not null then ${sessionNamesSql('s')} end,
    'turn', (select json_build_object('kind', t.kind, 'input', ${firstInputSql('t.id')}) from holdfast.turns t where t.id = l.turn_id),
    'delivery', (select json_build_object('type', d.payload ->> 'type', 'text', ${beginningSql("d.payload ->> 'text'")}) from holdfast.deliveries d
      where d.id = l.delivery_id), 'turnId', l.turn_id, 'deliveryId', l.delivery_id,
    'code', l.code, 'reason', l.reason, 'state', l.state, 'createdAt', ${isoSql('l.created_at')}, 'settledAt', ${isoSql('l.settled_at')})
    order by l.id desc)
  from (
    select * from ${LETTERS_SQL} as own where state = $1 and kind = g.kind and code = g.code order by id desc limit ${LETTERS_OF_GROUP_MAX}
  ) as l left join lateral (select * from holdfast.sessions where id = l.session_id limit 1) as s on true
) as letters
from (
  select l.kind, l.code, count(*)::int as count, ${isoSql('min(l.created_at)')} as "firstAt", ${isoSql('max(l.created_at)')} as "lastAt"
  from ${LETTERS_SQL} as l
  where l.state = $1 and ($2::text is null or l.code = $2) and ($3::text is null or (l.kind, l.code) > ($3, $4))
  group by l.kind, l.code order by l.kind, l.code limit $5
) as g order by g.kind, g.code`,
  values: ({ state, code = null, scope }: DeadLetterFilter, page: PageRequest) => {
    const [afterKind, afterCode] = page.after === null ? [null, null] : (JSON.parse(page.after) as [string, string]);
    return [state, code, afterKind, afterCode, page.limit + 1, scope];
  },
  answer: (rows: GroupRow[]) => rows,
});

/**
 * Groups of dead letters in this state, in the order of kind and code; `after` is a group's key.
 */
export async function listDeadLetterGroups(
  db: ViewDatabase,
  filter: DeadLetterFilter,
  page: PageRequest,
): Promise<Page<DeadLetterGroupView>> {
  const groups = await readLetterGroups(db, filter, page);
  const trendOf = await readTrends(db, filter, groups);
  const shown = groups.map((group): DeadLetterGroupView => ({
    ...group,
    nextStep: failureStep(group.code),
    perHour: trendOf(group),
    letters: group.letters.map(toLetter),
  }));
  return cutPage(shown, page.limit, (group) => JSON.stringify([group.kind, group.code]));
}

interface LetterRow extends Omit<DeadLetterView, 'title' | 'sessionTitle'> {
  names: NamesRow | null;
  turn: { kind: string; input: WordedInput | null } | null;
  delivery: { type: string; text: string | null } | null;
}

type GroupRow = Omit<DeadLetterGroupView, 'perHour' | 'nextStep' | 'letters'> & { letters: LetterRow[] };

function toLetter({ names, turn, delivery, ...letter }: LetterRow): DeadLetterView {
  const session = names === null ? null : sessionTitle(names);
  const said = delivery === null ? null : deliveryTitle(delivery);
  const answered = turn === null ? null : turnTitle(turn.kind, turn.input);
  return { ...letter, title: said ?? answered ?? session ?? letter.kind, sessionTitle: session };
}

const FIRST_HOUR_SQL = `date_trunc('hour', clock_timestamp(), 'UTC') - interval '${TREND_HOURS - 1} hours'`;

export const readTrends = viewQuery({
  name: 'dead-letter-trends',
  purpose:
    'Count the letters of some groups in each of the last 24 hours. The ids begin with their time, so only the letters of these hours are read, by an index of the ids.',
  text: `with first_hour as materialized (
  select ${FIRST_HOUR_SQL} as at
),
recent as materialized (
  select l.kind, l.code, floor(extract(epoch from l.created_at - (select at from first_hour)) / 3600)::int as hour, count(*)::int as count
  from ${seenRowsText('$4', 'dead_letters')} as l
  join unnest($2::text[], $3::text[]) as shown (kind, code) on shown.kind = l.kind and shown.code = l.code
  where l.state = $1 and l.created_at >= (select at from first_hour)
    -- The first 48 bits of an id are the milliseconds of its time.
    and l.id >= (select (lpad(to_hex((extract(epoch from at - interval '${CLOCK_SLACK}') * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid from first_hour)
  group by 1, 2, 3
)
select ${isoSql('(select at from first_hour)')} as "startsAt",
  coalesce((select json_agg(recent) from recent), '[]') as recent`,
  values: ({ state, scope }: DeadLetterFilter, groups: readonly GroupName[]) => [
    state,
    groups.map(({ kind }) => kind),
    groups.map(({ code }) => code),
    scope,
  ],
  answer(rows: TrendsRow[]): (group: GroupName) => DeadLetterGroupView['perHour'] {
    // A select without a table in `from` has one row.
    const { startsAt, recent } = rows[0]!;
    return ({ kind, code }) => {
      const counts = Array.from({ length: TREND_HOURS }, () => 0);
      // A letter that is made while the hour changes belongs to the last one.
      for (const row of recent)
        if (row.kind === kind && row.code === code) counts[Math.min(row.hour, TREND_HOURS - 1)]! += row.count;
      return { startsAt, counts };
    };
  },
});

interface TrendsRow {
  startsAt: string;
  recent: { kind: string; code: string; hour: number; count: number }[];
}

type GroupName = Pick<DeadLetterGroupView, 'kind' | 'code'>;
