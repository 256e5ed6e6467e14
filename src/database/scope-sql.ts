// SQL of what a scope sees. Rows of sessions, and of what belongs to them, have the longest prefix of
// `holdfast.scopes` that their root begins with (migration 0111). So a scope is a list of numbers,
// and an index has the rows of each number in the order of their ids: a page costs the same however
// much there is that the scope does not see.
import type { Scope } from '../core/scope.ts';
import { raw, sql, type Sql } from './drizzle.ts';

/**
 * SQL of the ids of the prefixes that begin with one of `prefixes`, SQL of a list of texts. `~` is
 * over every character that a session key may have.
 */
export function labelsSql(prefixes: string): string {
  return `select distinct c.id from unnest(${prefixes}::text[]) as wanted (prefix)
    join holdfast.scopes c on c.prefix >= wanted.prefix collate "C" and c.prefix < (wanted.prefix || '~') collate "C"`;
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

/** The same in a constant statement, with `prefixes` as in `labelsSql`: null for everything. */
export function isSeenText(prefixes: string, column: string): string {
  return `(${prefixes}::text[] is null or ${column} = any (array(${labelsSql(prefixes)})))`;
}

/** SQL of whether a column `scope` is inside, of rows that are found otherwise. */
export function isSeenSql(scope: Scope, column: string): Sql {
  return scope === null ? raw('true') : sql`${raw(column)} = any (array(${labels(scope)}))`;
}

function labels(scope: readonly string[]): Sql {
  const [before = '', after = ''] = labelsSql('?').split('?');
  return sql`${raw(before)}${[...scope]}${raw(after)}`;
}
