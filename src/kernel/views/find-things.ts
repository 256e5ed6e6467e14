// What a search text names exactly: an id, the key of a session, the id that a platform gave a
// message, or the code of open dead letters. Each look-up is one by an index. The end of an id is
// searched for among the newest ids only: an index for it would cost every insert. A list with a
// text that names nothing looks for the text in its rows instead. The ids of the rows that a filter
// finds are read here, too. A text names nothing that the scope does not have.
import type { FoundId } from '../../contract/answers.ts';
import { isIdEnd, isUuid } from '../../core/ids.ts';
import { canonicalSessionKey, InvalidSessionKeyError } from '../../core/session-key.ts';
import { EVERYTHING, type Scope } from '../../core/scope.ts';
import { viewQuery } from '../../database/literal-query.ts';
import type { Page, PageRequest, ViewDatabase } from '../../database/page.ts';
import { join, raw, sql, type Sql } from '../../database/drizzle.ts';
import { isSeenSql, isSeenText, labelsSql, seenSql } from '../../database/scope-sql.ts';

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

/** Those that have a scope. */
const SCOPED_KINDS = ['turn', 'message', 'session', 'delivery', 'deadLetter'] as const;

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
  answer: ([row]: FoundRow[], ids): FoundThings => ({ ...NOTHING, ...row, ids }),
});

/** SQL of the ids that end with $1; `newest` makes SQL of the newest ids of a kind. */
function endsSql(kinds: readonly FoundId['kind'][], newest: (table: string, kind: string) => string): string {
  const ofEach = kinds.map(
    (kind) => `select '${kind}' as kind, newest.id from (
    ${newest(ID_TABLES[kind], kind)}
  ) as newest where right(newest.id::text, length($1)) = $1`,
  );
  return `select kind, id from (\n  ${ofEach.join('\n  union all ')}\n) as found order by id desc limit ${SAME_END_MAX}`;
}

export const findByEnd = viewQuery({
  name: 'find-by-end',
  purpose: `Find the ids that end with $1, of these kinds ($2), among the ${ENDS_SEARCHED_MAX} newest of each kind, newest first.`,
  text: endsSql(
    // The keys are those of the type.
    Object.keys(ID_TABLES) as FoundId['kind'][],
    (table, kind) =>
      `select id from holdfast.${table} where '${kind}' = any ($2::text[]) order by id desc limit ${ENDS_SEARCHED_MAX}`,
  ),
  values: (end: string, kinds: readonly string[] = Object.keys(ID_TABLES)) => [end.toLowerCase(), kinds],
  answer: (found: FoundId[]) => found,
});

export const findByEndInside = viewQuery({
  name: 'find-by-end-inside',
  purpose: `Find the ids that end with $1, among the ${ENDS_SEARCHED_MAX} newest of each kind in a scope ($2), newest first.`,
  text: endsSql(
    SCOPED_KINDS,
    (table) => `select own.id from (${labelsSql('$2')}) as seen cross join lateral (
      select id from holdfast.${table} where scope = seen.id order by id desc limit ${ENDS_SEARCHED_MAX}
    ) as own order by own.id desc limit ${ENDS_SEARCHED_MAX}`,
  ),
  values: (end: string, scope: readonly string[]) => [end.toLowerCase(), scope],
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
  answer: ([row]: FoundRow[]): FoundThings => ({ ...NOTHING, ...row, ids: [] }),
});

export const findByCode = viewQuery({
  name: 'find-by-code',
  purpose: 'Find the sessions that have open dead letters with this code.',
  text: `select array(select distinct session_id from (
    select d.session_id from holdfast.dead_letters d where d.state = 'open' and d.code = $code and d.session_id is not null
      and ${isSeenText('$scope', 'd.scope')} limit ${NAMED_MAX}
  ) as letters) as "sessionIds"`,
  values: (code: string, scope: Scope) => ({ code, scope }),
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
export async function findTurns(db: ViewDatabase, text: string, scope: Scope): Promise<NamedThings> {
  const { turnIds, sessionIds, ids } = await find(db, text, scope);
  return { turnIds, sessionIds, ids };
}

/**
 * The sessions that a text names: themselves, or by a turn, a message or the code of a dead letter.
 */
export async function findSessions(db: ViewDatabase, text: string, scope: Scope): Promise<string[]> {
  const { sessionIds, ownerIds } = await find(db, text, scope);
  const found = [...new Set([...sessionIds, ...ownerIds])];
  if (found.length > 0 || isUuid(text)) return found;
  return findByCode(db, text, scope);
}

async function find(db: ViewDatabase, text: string, scope: Scope): Promise<FoundThings> {
  if (isUuid(text)) return findByIds(db, [text], scope);
  const named = await findByText(db, text, scope);
  if (named.sessionIds.length + named.ownerIds.length > 0 || !isIdEnd(text)) return named;
  const found = await (scope === EVERYTHING ? findByEnd(db, text) : findByEndInside(db, text, scope));
  const ids = found.map(({ id }) => id);
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
  table: 'turns' | 'deliveries' | 'inbox';
  /** Whose rows are read, newest first. */
  scope: Scope;
  indexed: Sql[];
  rest: Sql[];
}

interface Conditions {
  /** Each leaves few rows, which an index finds. */
  few: Sql[];
  /** Spans of the ids. */
  spans?: Sql[];
  /** An index has the rows of each in the order of their ids, but not those of a scope. */
  ordered: Sql[];
  rest: Sql[];
}

/** The rows of a scope that meet all conditions. */
export function filterRows(
  table: Filtered['table'],
  scope: Scope,
  { few, spans = [], ordered, rest }: Conditions,
): Filtered {
  if (scope === EVERYTHING) return { table, scope, indexed: [...few, ...spans, ...ordered], rest };
  if (few.length === 0) return { table, scope, indexed: spans, rest: [...ordered, ...rest] };
  const isSeen = isSeenSql(scope, `${table.charAt(0)}.scope`);
  return { table, scope: EVERYTHING, indexed: [isSeen, ...few, ...spans, ...ordered], rest };
}

/** The maximum number of rows that one page reads. */
const READ_MAX = 20_000;

/** The same of a scope, whose rows are sorted. */
const SCOPED_READ_MAX = 5_000;

export function readMaxOf(scope: Scope): number {
  return scope === EVERYTHING ? READ_MAX : SCOPED_READ_MAX;
}

/** A page of the ids. */
export async function findIds(db: ViewDatabase, filtered: Filtered, page: PageRequest): Promise<Page<string>> {
  const { rows } = await db.query<{ id: string }>(matchingSql(filtered, page));
  const ids = rows.map(({ id }) => id);
  if (ids.length > page.limit) return { items: ids.slice(0, page.limit), next: ids[page.limit - 1] ?? null };
  if (filtered.rest.length === 0) return { items: ids, next: null };
  const limit = readMaxOf(filtered.scope);
  const { rows: last } = await db.query<{ id: string }>(
    sql`select id from (${indexedSql(filtered, { after: page.after, limit })}) as found offset ${limit - 1}`,
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
export function matchingSql(
  filtered: Filtered,
  { limit, after }: PageRequest,
  readMax: number | null = readMaxOf(filtered.scope),
): Sql {
  const { table, rest } = filtered;
  if (rest.length === 0) return indexedSql(filtered, { after, limit: limit + 1 });
  const row = raw(table.charAt(0));
  return sql`select ${row}.id from (${indexedSql(filtered, { after, limit: readMax, columns: '*' })}) as ${row}
    where ${join(rest, ' and ')} order by ${row}.id desc limit ${limit + 1}`;
}

/** SQL of the newest rows that the indexes leave; a limit of null: of all. */
export function indexedSql(
  { table, scope, indexed }: Filtered,
  { after, limit, columns = 'id' }: { after: string | null; limit: number | null; columns?: string },
): Sql {
  const row = table.charAt(0);
  const conditions = after === null ? indexed : [sql`${raw(row)}.id < ${after}`, ...indexed];
  const select = (isSeen: Sql): Sql => sql`select ${raw(columns)} from holdfast.${raw(`${table} ${row}`)}
    where ${join([isSeen, ...conditions], ' and ')} order by ${raw(row)}.id desc limit ${limit}`;
  return seenSql(scope, select, { order: 'found.id desc', limit });
}
