// What a search text names exactly: an id, the key of a session, the id that a platform gave a
// message, or the code of open dead letters. Each look-up is one by an index. The end of an id is
// searched for among the newest ids only: an index for it would cost every insert. A list with a
// text that names nothing looks for the text in its rows instead. The ids of the rows that a filter
// finds are read here, too. A text names nothing that the scope does not have; the end of an id
// names nothing for a scope.
import type { FoundId } from '../../contract/answers.ts';
import { isIdEnd, isUuid } from '../../core/ids.ts';
import { canonicalSessionKey, InvalidSessionKeyError } from '../../core/session-key.ts';
import { EVERYTHING, type Scope } from '../../core/scope.ts';
import { viewQuery } from '../../database/literal-query.ts';
import type { Page, PageRequest, ViewDatabase } from '../../database/page.ts';
import { join, raw, sql, type Sql } from '../../database/drizzle.ts';
import { isSeenSql, isSeenText, seenEdgeSql, seenRowsText, seenSql } from '../../database/scope-sql.ts';

/** The objects that a text names. */
export interface NamedThings extends FoundRow {
  /** The ids that the text can mean, of any kind. */
  ids: string[];
}

interface FoundRow {
  turnIds: string[];
  sessionIds: string[];
  /** The sessions of the objects that are not sessions themselves. */
  ownerIds: string[];
}

/** The kinds of things that are found by the end of their ids, and where they are. */
const ID_TABLES = {
  turn: 'turns',
  message: 'inbox',
  session: 'sessions',
  delivery: 'deliveries',
  deadLetter: 'dead_letters',
  batch: 'batches',
  cron: 'crons',
  run: 'subagent_runs',
  bulkAction: 'bulk_actions',
} as const satisfies Record<FoundId['kind'], string>;

/** So many of the newest ids of each kind are searched for one with a given end. */
export const ENDS_SEARCHED_MAX = 20_000;
/** The most ids with the same end that are shown. */
const SAME_END_MAX = 20;

/**
 * The maximum number of messages with one platform id, and of dead letters with one code, that are
 * read.
 */
const NAMED_MAX = 1_000;

export const findByIds = viewQuery({
  name: 'find-by-id',
  purpose:
    'Find what has one of these ids: a turn, a message (its turn, or its session while no turn has it) or a session.',
  text: `select array(select t.id from holdfast.turns t where t.id = any ($ids::uuid[]) and ${isSeenText('$scope', 't.scope')}
    union select i.turn_id from holdfast.inbox i where i.id = any ($ids::uuid[]) and i.turn_id is not null and ${isSeenText('$scope', 'i.scope')}) as "turnIds",
  array(select s.id from holdfast.sessions s where s.id = any ($ids::uuid[]) and ${isSeenText('$scope', 's.scope')}) as "sessionIds",
  array(select t.session_id from holdfast.turns t where t.id = any ($ids::uuid[]) and ${isSeenText('$scope', 't.scope')}
    union select i.session_id from holdfast.inbox i where i.id = any ($ids::uuid[]) and ${isSeenText('$scope', 'i.scope')}) as "ownerIds"`,
  values: (ids: string[], scope: Scope) => ({ ids, scope }),
  // A select without a table has one row.
  answer: ([row]: FoundRow[], ids): NamedThings => ({ ...row!, ids }),
});

export const findByEnd = viewQuery({
  name: 'find-by-end',
  purpose: `Find the ids that end with $1, of these kinds ($2), among the ${ENDS_SEARCHED_MAX} newest of each kind, newest first.`,
  text: `select kind, id from (
  ${Object.entries(ID_TABLES)
    .map(
      ([kind, table]) => `select '${kind}' as kind, newest.id from (
    select id from holdfast.${table} where '${kind}' = any ($2::text[]) order by id desc limit ${ENDS_SEARCHED_MAX}
  ) as newest where right(newest.id::text, length($1)) = $1`,
    )
    .join('\n  union all ')}
) as found order by id desc limit ${SAME_END_MAX}`,
  values: (end: string, kinds: readonly string[] = Object.keys(ID_TABLES)) => [end.toLowerCase(), kinds],
  answer: (found: FoundId[]) => found,
});

export const findByText = viewQuery({
  name: 'find-by-text',
  purpose: 'Find the session with this key, and messages to which their platform gave this id.',
  text: `with named as materialized (
  select i.turn_id, i.session_id from holdfast.inbox i
  where i.platform_key is not null and substring(i.platform_key from '"([^"]*)"\\]$') = $text and ${isSeenText('$scope', 'i.scope')} limit ${NAMED_MAX}
)
select array(select distinct turn_id from named where turn_id is not null) as "turnIds",
  array(select s.id from holdfast.sessions s where s.key = $key and ${isSeenText('$scope', 's.scope')}) as "sessionIds",
  array(select distinct session_id from named) as "ownerIds"`,
  values: (text: string, scope: Scope) => ({ text, key: parseKey(text), scope }),
  answer: ([row]: FoundRow[]): NamedThings => ({ ...row!, ids: [] }),
});

export const findByCode = viewQuery({
  name: 'find-by-code',
  purpose: 'Find the sessions that have open dead letters with this code.',
  text: `select array(select distinct session_id from (
    select d.session_id from ${seenRowsText('$scope', 'dead_letters')} as d
    where d.state = 'open' and d.code = $code and d.session_id is not null limit ${NAMED_MAX}
  ) as letters) as "sessionIds"`,
  values: (code: string, scope: Scope) => ({ code, scope }),
  answer: ([row]: Pick<FoundRow, 'sessionIds'>[]) => row?.sessionIds ?? [],
});

/**
 * The sessions that a text names: themselves, or by a turn, a message or the code of a dead letter.
 */
export async function findSessions(db: ViewDatabase, text: string, scope: Scope): Promise<string[]> {
  const { sessionIds, ownerIds } = await findThings(db, text, scope);
  const found = [...new Set([...sessionIds, ...ownerIds])];
  if (found.length > 0 || isUuid(text)) return found;
  return findByCode(db, text, scope);
}

/** What a text names; its turns are those of its ids, without those of its sessions. */
export async function findThings(db: ViewDatabase, text: string, scope: Scope): Promise<NamedThings> {
  if (isUuid(text)) return findByIds(db, [text], scope);
  const named = await findByText(db, text, scope);
  if (named.sessionIds.length + named.ownerIds.length > 0 || !isIdEnd(text) || scope !== EVERYTHING) return named;
  const ids = (await findByEnd(db, text)).map(({ id }) => id);
  return ids.length === 0 ? named : findByIds(db, ids, scope);
}

/** The session key that a text is; null: it can be none. */
function parseKey(text: string): string | null {
  try {
    return canonicalSessionKey(text);
  } catch (error) {
    if (error instanceof InvalidSessionKeyError) return null;
    throw error;
  }
}

// The ids of the rows that a filter finds, newest first. An index answers some conditions; the
// others read the rows that those leave, newest first and only so many of them. So a page costs the
// same however many rows there are: when it has read that many, it may have fewer items than its
// limit, and the next page continues where it stopped. With a scope, the rows that are read are its
// own, or the few that another index finds.

/**
 * The rows of a table that meet all conditions, which call a row by the first letter of the table.
 */
export interface Filtered {
  table: 'turns' | 'deliveries' | 'inbox' | 'sessions';
  /** Whose rows are read, newest first. */
  scope: Scope;
  indexed: Sql[];
  /** A row meets one of them, and an index has the rows of each in the order of their ids. */
  either?: Sql[];
  rest: Sql[];
}

interface Conditions {
  /** Each leaves few rows, which an index finds. */
  few: Sql[];
  /** Spans of the ids. */
  spans?: Sql[];
  /**
   * `all` is the same as one of `either`, of which an index has the rows of each in the order of
   * their ids, but not those of a scope.
   */
  ordered?: { either: Sql[]; all: Sql } | undefined;
  rest: Sql[];
}

/** The rows of a scope that meet all conditions. */
export function filterRows(
  table: Filtered['table'],
  scope: Scope,
  { few, spans = [], ordered, rest }: Conditions,
): Filtered {
  const all = ordered === undefined ? [] : [ordered.all];
  if (few.length > 0) {
    const isSeen = isSeenSql(scope, `${table.charAt(0)}.scope`);
    return { table, scope: EVERYTHING, indexed: [isSeen, ...few, ...spans, ...all], rest };
  }
  if (scope !== EVERYTHING) return { table, scope, indexed: spans, rest: [...all, ...rest] };
  return { table, scope, indexed: spans, either: ordered?.either ?? [], rest };
}

/** The maximum number of rows that one page reads, of everything and of a scope. */
const readMaxOf = (scope: Scope): number => (scope === EVERYTHING ? 20_000 : 5_000);

const LEAST_ID = `'00000000-0000-0000-0000-000000000000'::uuid`;

/** A page of the ids. */
export async function findIds(db: ViewDatabase, filtered: Filtered, page: PageRequest): Promise<Page<string>> {
  const { rows } = await db.query<{ id: string }>(matchingSql(filtered, page));
  const ids = rows.map(({ id }) => id);
  if (ids.length > page.limit) return { items: ids.slice(0, page.limit), next: ids[page.limit - 1] ?? null };
  if (filtered.rest.length === 0) return { items: ids, next: null };
  const { rows: last } = await db.query<{ id: string }>(
    edgeQuery(filtered, { after: page.after, readMax: readMaxOf(filtered.scope) }),
  );
  return { items: ids, next: last[0]?.id ?? null };
}

/**
 * All ids, oldest first, at most `limit`. It reads every row for which there is no better index.
 */
export async function findAllIds(db: ViewDatabase, filtered: Filtered, limit: number): Promise<string[]> {
  const { rows } = await db.query<{ id: string }>(matchingSql(filtered, { limit: limit - 1, after: null }, null));
  return rows.map(({ id }) => id).toReversed();
}

/** SQL of the session of this key; none: the scope does not have it. */
export function sessionIdSql(key: string, scope: Scope): Sql {
  return sql`(select s.id from holdfast.sessions s where s.key = ${key} and ${isSeenSql(scope, 's.scope')})`;
}

/**
 * SQL of the ids of a page and of the one after it. Look-ups in scalar queries are by an index; a
 * join could read a whole table.
 */
export function matchingSql(
  filtered: Filtered,
  { limit, after }: PageRequest,
  readMax: number | null = readMaxOf(filtered.scope),
): Sql {
  const { table, rest } = filtered;
  if (rest.length === 0) return indexedSql(filtered, { after, limit: limit + 1 });
  const row = raw(table.charAt(0));
  // No further than all numbers of a scope are read, so that the next page continues there.
  const isDivided = filtered.scope !== EVERYTHING && readMax !== null;
  const inReach = isDivided
    ? [sql`${row}.id >= coalesce((${edgeQuery(filtered, { after, readMax })}), ${raw(LEAST_ID)})`]
    : [];
  const read = { ...filtered, indexed: [...filtered.indexed, ...inReach] };
  return sql`select ${row}.id from (${indexedSql(read, { after, limit: isDivided ? null : readMax, columns: '*' })}) as ${row}
    where ${join(rest, ' and ')} order by ${row}.id desc limit ${limit + 1}`;
}

/** SQL of the id of the last row that is read; no row: they are fewer. */
export function edgeQuery(filtered: Filtered, { after, readMax }: { after: string | null; readMax: number }): Sql {
  if (filtered.scope === EVERYTHING) {
    return sql`select id from (${indexedSql(filtered, { after, limit: readMax })}) as found offset ${readMax - 1}`;
  }
  return seenEdgeSql(filtered.scope, (isSeen) => rowsSql(filtered, [isSeen], { after }), readMax);
}

/** SQL of the newest rows that the indexes leave; a limit of null: of all. */
function indexedSql(
  filtered: Filtered,
  { limit, ...from }: { after: string | null; limit: number | null; columns?: string },
): Sql {
  const { scope, either = [] } = filtered;
  const order = 'found.id desc';
  if (either.length < 2) {
    return seenSql(scope, (isSeen) => sql`${rowsSql(filtered, [isSeen, ...either], from)} limit ${limit}`, {
      order,
      limit,
    });
  }
  const parts = either.map((one) => sql`(${rowsSql(filtered, [one], from)} limit ${limit})`);
  return sql`select * from (${join(parts, ' union all ')}) as found order by ${raw(order)} limit ${limit}`;
}

function rowsSql(
  { table, indexed }: Filtered,
  conditions: Sql[],
  { after, columns = 'id' }: { after: string | null; columns?: string },
): Sql {
  const row = table.charAt(0);
  const all = [...conditions, ...(after === null ? [] : [sql`${raw(row)}.id < ${after}`]), ...indexed];
  return sql`select ${raw(columns)} from holdfast.${raw(`${table} ${row}`)} where ${join(all, ' and ')} order by ${raw(row)}.id desc`;
}
