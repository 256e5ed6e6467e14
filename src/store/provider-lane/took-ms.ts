// How long the provider took for recent submissions.
import type { Database } from '../database.ts';
import { sendQuery } from '../send-query.ts';
import { literal } from '../statement.ts';

/** The newest submissions; of them, those that have ended. */
const SUBMISSIONS_MAX = 100;

export const TOOK_MS = literal({
  name: 'took-ms',
  purpose: 'Read how long recent submissions took.',
  text: `select (extract(epoch from b.ended_at - b.submit_started_at) * 1000)::float8 as "tookMs" from (
  select p.status, p.submit_started_at, p.ended_at from holdfast.provider_batches p order by p.id desc limit ${SUBMISSIONS_MAX}
) as b where b.status in ('ended', 'read')`,
});

/** In milliseconds, in any order. */
export async function readTookMs(database: Database): Promise<number[]> {
  const rows = await sendQuery<{ tookMs: number }>(database.hot, TOOK_MS.prepared([]));
  return rows.map(({ tookMs }) => tookMs);
}
