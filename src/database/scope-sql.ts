// SQL of what a scope sees. Rows of sessions, and of what belongs to them, have the longest prefix of
// `holdfast.scopes` that their root begins with (migration 0111). So a scope is a list of numbers,
// and an index has the rows of each number in the order of their ids: a page costs the same however
// much there is that the scope does not see.
import type { Scope } from '../core/scope.ts';
import { raw, sql, type Sql } from './drizzle.ts';

/** What is read at most is divided by the numbers of a scope, of which each has at least so much. */
const SHARE_MIN = 100;

/**
 * SQL of the ids of the prefixes that begin with one of `prefixes`, SQL of a list of texts. `~` is
 * over every character that a session key may have.
 */
export function labelsSql(prefixes: string): string {
  return `select distinct c.id from unnest(${prefixes}::text[]) as wanted (prefix)
    join holdfast.scopes c on c.prefix >= wanted.prefix collate "C" and c.prefix < (wanted.prefix || '~') collate "C"`;
}

function sharesSql(prefixes: string, max: number): string {
  return `select id, greatest(${SHARE_MIN}, ${max} / count(*) over ()) as share from (${labelsSql(prefixes)}) as labels`;
}

/**
 * A page of what a scope sees. `select` makes SQL of rows, with their order and the limit of the
 * page, from the condition on the column `scope` of the table: that is one number at a time. `order`
 * is that of its rows, by their columns.
 */
export function seenSql(
  scope: Scope,
  select: (condition: Sql) => Sql,
  { order, limit }: { order: string; limit: number | null },
): Sql {
  if (scope === null) return select(raw('true'));
  return sql`select found.* from (${labels(scope)}) as seen cross join lateral (${select(raw('scope = seen.id'))}) as found
    order by ${raw(order)} limit ${limit}`;
}

/** SQL of the newest rows of a table, `max` of all numbers together: each has its share. In no order. */
export function newestSql(scope: readonly string[], table: string, max: number): Sql {
  return sql`select found.* from (${shares(scope, max)}) as seen cross join lateral (
    select * from holdfast.${raw(table)} where scope = seen.id order by id desc limit seen.share) as found`;
}

/**
 * SQL of the id down to which every number is read when `max` rows are: the newest one that ends
 * the share of a number. None: that is all. `select` makes SQL of ids, newest first, without limit.
 */
export function seenEdgeSql(scope: readonly string[], select: (condition: Sql) => Sql, max: number): Sql {
  return sql`select edge.id from (${shares(scope, max)}) as seen
    cross join lateral (${select(raw('scope = seen.id'))} offset seen.share - 1 limit 1) as edge order by edge.id desc limit 1`;
}

/**
 * The same in a constant statement, with `prefixes` as in `labelsSql`: null for everything.
 * `is_last`: there may be more than the rows of its number.
 */
export function newestText(
  { prefixes, column, max }: { prefixes: string; column: string; max: number },
  select: (condition: string, limit: string) => string,
): string {
  const marked = (condition: string, limit: string): string =>
    `select each_row.*, row_number() over () = ${limit} as is_last from (${select(condition, limit)}) as each_row`;
  return `${marked(`${prefixes}::text[] is null`, String(max))}
  union all select found.* from (${sharesSql(prefixes, max)}) as seen
  cross join lateral (${marked(`${column} = seen.id`, 'seen.share')}) as found`;
}

/**
 * All rows of a table in a constant statement that a scope sees. Two halves, of which one is empty:
 * a plan for every value has an index for each.
 */
export function seenRowsText(prefixes: string, table: string): string {
  return `(select * from holdfast.${table} where ${prefixes}::text[] is null
    union all select * from holdfast.${table} where scope = any (array(${labelsSql(prefixes)})))`;
}

/** Whether a column `scope` is inside, in a constant statement, of rows that are found otherwise. */
export function isSeenText(prefixes: string, column: string): string {
  return `(${prefixes}::text[] is null or ${column} = any (array(${labelsSql(prefixes)})))`;
}

/** The same for a scope. */
export function isSeenSql(scope: Scope, column: string): Sql {
  return scope === null ? raw('true') : sql`${raw(column)} = any (array(${labels(scope)}))`;
}

function labels(scope: readonly string[]): Sql {
  return fill(labelsSql('?'), scope);
}

function shares(scope: readonly string[], max: number): Sql {
  return fill(sharesSql('?', max), scope);
}

function fill(text: string, scope: readonly string[]): Sql {
  const [before = '', after = ''] = text.split('?');
  return sql`${raw(before)}${[...scope]}${raw(after)}`;
}
