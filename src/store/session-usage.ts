// What a session is and what its newest turns have read from the provider's cache, for the agent itself.
import type { Database } from './database.ts';
import { sendQuery } from './send-query.ts';
import { sessionFactsSql, type SessionFacts } from './session-facts.ts';
import { literal } from './statement.ts';

/** Older turns do not count into the figures of the cache: a session may have very many. */
const TURNS_MAX = 100;

export interface SessionUsageRow {
  facts: SessionFacts;
  cacheReadTokens: number;
  cacheWriteTokens: number;
  /** How many turns the figures of the cache are of. */
  turns: number;
}

export const SESSION_USAGE = literal({
  name: 'session-usage',
  purpose: "Read the facts of a session, and what its newest turns have read from the provider's cache.",
  text: `select ${sessionFactsSql('s')} as facts, coalesce(newest.read, 0)::float8 as "cacheReadTokens",
  coalesce(newest.written, 0)::float8 as "cacheWriteTokens", newest.turns::int as turns
from holdfast.sessions s cross join lateral (
  select sum(t.cache_read_tokens) as read, sum(t.cache_write_tokens) as written, count(*) as turns
  from (select * from holdfast.turns where session_id = s.id order by id desc limit ${TURNS_MAX}) t
) newest
where s.key = $1`,
});

/** The session of a key; null: there is none. One read by indexes. */
export async function readSessionUsage(database: Database, key: string): Promise<SessionUsageRow | null> {
  const [row] = await sendQuery<SessionUsageRow>(database.views, SESSION_USAGE.prepared([key]));
  return row ?? null;
}
