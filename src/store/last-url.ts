// The delivery address of a session's last message.
import type { SessionId } from '../core/ids.ts';
import type { Database } from './database.ts';
import { literal } from './statement.ts';

export const LAST_URL = literal({
  name: 'last-url',
  purpose: 'Read where the last message of a session wanted its answer.',
  text: `select i.body -> 'deliver' ->> 'url' as url from holdfast.inbox i
where i.session_id = $1 and i.kind = 'message' order by i.seq desc limit 1`,
});

/** The URL that the last message of a session named; null when it named none, or none came. */
export async function readLastUrl(database: Database, sessionId: SessionId): Promise<string | null> {
  const result = await database.views.query(LAST_URL.prepared([sessionId]));
  return result.rows[0]?.url ?? null;
}
