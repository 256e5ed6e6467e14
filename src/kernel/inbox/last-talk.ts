// When a session last received a message. Heartbeats, ticks and announcements do not count: a session that receives only those is
// silent.
import type { SessionId } from '../../core/ids.ts';
import type { Database } from '../../database/database.ts';
import { sendQuery } from '../../database/send-query.ts';
import { literal } from '../../database/statement.ts';

export const LAST_TALK = literal({
  name: 'last-talk',
  purpose: 'Read when the last message before an input came.',
  text: `select (extract(epoch from i.received_at) * 1000)::bigint as at_ms from holdfast.inbox i
where i.session_id = $1 and i.seq < $2 and i.kind in ('message', 'batch') order by i.seq desc limit 1`,
});

/** When the last message before an input came, epoch milliseconds; null: there was none. */
export async function readLastTalk(
  database: Database,
  { sessionId, beforeSeq }: { sessionId: SessionId; beforeSeq: number },
): Promise<number | null> {
  const [row] = await sendQuery<{ at_ms: string }>(database.hot, LAST_TALK.prepared([sessionId, beforeSeq]));
  return row === undefined ? null : Number(row.at_ms);
}
