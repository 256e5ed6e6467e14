// What a session is and what its newest turns that have ended have read from the provider's cache,
// for the agent itself.
import type { SessionFacts } from '../../contract/views.ts';
import type { Database } from '../../database/database.ts';
import { sessionFactsSql } from './session-facts.ts';
import { shareStatement, type RowSubmitter } from '../../database/statement.ts';
import { literalQuery } from '../../database/literal-query.ts';

/** Older turns do not count into the figures of the cache: a session may have very many. */
const TURNS_MAX = 100;

export interface SessionUsageRow {
  facts: SessionFacts;
  cacheReadTokens: number;
  cacheWriteTokens: number;
  /** How many turns the figures of the cache are of. */
  turns: number;
}

export const readSessionUsages = literalQuery({
  name: 'session-usage',
  purpose: "Read the facts of sessions, and what their newest ended turns have read from the provider's cache.",
  pool: 'views',
  // `shareStatement` sends it again.
  retryMs: 0,
  text: `select s.key, ${sessionFactsSql('s')} as facts, coalesce(newest.read, 0)::float8 as "cacheReadTokens",
  coalesce(newest.written, 0)::float8 as "cacheWriteTokens", newest.turns::int as turns
from holdfast.sessions s cross join lateral (
  select sum(t.cache_read_tokens) as read, sum(t.cache_write_tokens) as written, count(*) as turns
  from (select * from holdfast.turns where session_id = s.id and ended_at is not null order by id desc limit ${TURNS_MAX}) t
) newest
where s.key = any($1::text[])`,
  values: (keys: string[]) => [keys],
  answer(rows: (SessionUsageRow & { key: string })[], keys): (SessionUsageRow | null)[] {
    const rowOf = new Map(rows.map((row) => [row.key, row]));
    return keys.map((key) => rowOf.get(key) ?? null);
  },
});

/**
 * Makes the function that reads the session of a key; null: it does not exist. Concurrent calls
 * share one read by indexes.
 */
export function createReadSessionUsage(database: Database): RowSubmitter<string, SessionUsageRow | null> {
  return shareStatement('session-usage', (keys: string[]) => readSessionUsages(database, keys));
}
