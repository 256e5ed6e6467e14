// What a search text names exactly: an id, the key of a session, the id that a platform gave a
// message, or the code of open dead letters. Each look-up is one by an index. The end of an id is
// searched for among the newest ids only: an index for it would cost every insert. A list with a
// text that names nothing looks for the text in its rows instead. The ids of the rows that a filter
// finds are read here, too.
import type { FoundId } from '../../contract/answers.ts';
import { isIdEnd, isUuid } from '../../core/ids.ts';
import { canonicalSessionKey, InvalidSessionKeyError } from '../../core/session-key.ts';
import { viewQuery } from '../../database/literal-query.ts';
import type { Page, PageRequest, ViewDatabase } from '../../database/page.ts';
import { join, raw, sql, type Sql } from '../../database/drizzle.ts';

/** The objects that a text names; both empty: none. */
export interface NamedThings {
  turnIds: string[];
  sessionIds: string[];
  /** The ids that the text can mean, of any kind. */
  ids: string[];
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
  text: `select array(select t.id from holdfast.turns t where t.id = any ($1::uuid[])
    union select i.turn_id from holdfast.inbox i where i.id = any ($1::uuid[]) and i.turn_id is not null) as "turnIds",
  array(select s.id from holdfast.sessions s where s.id = any ($1::uuid[])) as "sessionIds",
  array(select t.session_id from holdfast.turns t where t.id = any ($1::uuid[])
    union select i.session_id from holdfast.inbox i where i.id = any ($1::uuid[])) as "ownerIds"`,
  values: (ids: string[]) => [ids],
  answer: ([row]: FoundRow[], ids): FoundThings => ({ ...NOTHING, ...row, ids }),
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
  purpose: 'Find the session with this key ($2), and messages to which their platform gave this id ($1).',
  text: `with named as materialized (
  select i.turn_id, i.session_id from holdfast.inbox i
  where i.platform_key is not null and substring(i.platform_key from '"([^"]*)"\\]$') = $1 limit ${NAMED_MAX}
)
select array(select distinct turn_id from named where turn_id is not null) as "turnIds",
  array(select s.id from holdfast.sessions s where s.key = $2) as "sessionIds",
  array(select distinct session_id from named) as "ownerIds"`,
  values: (text: string) => [text, parseKey(text)],
  answer: ([row]: FoundRow[]): FoundThings => ({ ...NOTHING, ...row, ids: [] }),
});

export const findByCode = viewQuery({
  name: 'find-by-code',
  purpose: 'Find the sessions that have open dead letters with this code.',
  text: `select array(select distinct session_id from (
    select d.session_id from holdfast.dead_letters d where d.state = 'open' and d.code = $1 and d.session_id is not null limit ${NAMED_MAX}
  ) as letters) as "sessionIds"`,
  values: (code: string) => [code],
  answer: ([row]: Pick<FoundRow, 'sessionIds'>[]) => row?.sessionIds ?? [],
});

interface FoundRow {
  turnIds: string[];
  sessionIds: string[];
  /** The sessions of the objects that are not sessions themselves. */
  ownerIds: string[];
}

type FoundThings = FoundRow & NamedThings;

const NOTHING: FoundRow = { turnIds: [], sessionIds: [], ownerIds: [] };

/**
 * The turns that a text names: by their ids or those of their messages, or all of the sessions that
 * it names.
 */
export async function findTurns(db: ViewDatabase, text: string): Promise<NamedThings> {
  const { turnIds, sessionIds, ids } = await find(db, text);
  return { turnIds, sessionIds, ids };
}

/**
 * The sessions that a text names: themselves, or by a turn, a message or the code of a dead letter.
 */
export async function findSessions(db: ViewDatabase, text: string): Promise<string[]> {
  const { sessionIds, ownerIds } = await find(db, text);
  const found = [...new Set([...sessionIds, ...ownerIds])];
  if (found.length > 0 || isUuid(text)) return found;
  return findByCode(db, text);
}

async function find(db: ViewDatabase, text: string): Promise<FoundThings> {
  if (isUuid(text)) return findByIds(db, [text]);
  const named = await findByText(db, text);
  if (named.sessionIds.length + named.ownerIds.length > 0 || !isIdEnd(text)) return named;
  const ids = (await findByEnd(db, text)).map(({ id }) => id);
  return ids.length === 0 ? named : findByIds(db, ids);
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
// limit, and the next page continues where it stopped.

/**
 * The rows of a table that meet all conditions, which call a row by the first letter of the table.
 */
export interface Filtered {
  table: 'turns' | 'deliveries';
  indexed: Sql[];
  rest: Sql[];
}

/** The maximum number of rows that one page reads. */
const READ_MAX = 20_000;

/** A page of the ids. */
export async function findIds(db: ViewDatabase, filtered: Filtered, page: PageRequest): Promise<Page<string>> {
  const { rows } = await db.query<{ id: string }>(matchingSql(filtered, page));
  const ids = rows.map(({ id }) => id);
  if (ids.length > page.limit) return { items: ids.slice(0, page.limit), next: ids[page.limit - 1] ?? null };
  if (filtered.rest.length === 0) return { items: ids, next: null };
  const { rows: last } = await db.query<{ id: string }>(
    sql`${indexedSql(filtered, page.after)} offset ${READ_MAX - 1} limit 1`,
  );
  return { items: ids, next: last[0]?.id ?? null };
}

/**
 * All ids, oldest first, at most `limit`. An index has the rows of one status in the order of their
 * ids, so each status is read by itself. It reads every row for which there is no better index.
 */
export async function findAllIds<Filter extends { statuses?: string[] | undefined }>(
  db: ViewDatabase,
  { filter, resolve }: { filter: Filter; resolve: (db: ViewDatabase, filter: Filter) => Promise<Filtered> },
  limit: number,
): Promise<string[]> {
  const ids: string[] = [];
  for (const status of new Set(filter.statuses ?? [undefined])) {
    const filtered = await resolve(db, { ...filter, statuses: status && [status] });
    const { rows } = await db.query<{ id: string }>(matchingSql(filtered, { limit: limit - 1, after: null }, null));
    for (const { id } of rows) ids.push(id);
  }
  return ids.toSorted().slice(-limit);
}

/**
 * SQL of the ids of a page and of the one after it. Look-ups in scalar queries are by an index; a
 * join could read a whole table.
 */
export function matchingSql(filtered: Filtered, { limit, after }: PageRequest, readMax: number | null = READ_MAX): Sql {
  const { table, rest } = filtered;
  if (rest.length === 0) return sql`${indexedSql(filtered, after)} limit ${limit + 1}`;
  const row = raw(table.charAt(0));
  return sql`select ${row}.id from (${indexedSql(filtered, after, '*')} limit ${readMax}) as ${row}
    where ${join(rest, ' and ')} order by ${row}.id desc limit ${limit + 1}`;
}

/** SQL of the rows that the indexes leave, newest first. */
export function indexedSql({ table, indexed }: Filtered, after: string | null, columns = 'id'): Sql {
  const row = table.charAt(0);
  const conditions = after === null ? indexed : [sql`${raw(row)}.id < ${after}`, ...indexed];
  const where = conditions.length === 0 ? raw('true') : join(conditions, ' and ');
  return sql`select ${raw(columns)} from holdfast.${raw(`${table} ${row}`)} where ${where} order by ${raw(row)}.id desc`;
}
