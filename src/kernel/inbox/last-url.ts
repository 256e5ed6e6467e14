// The delivery address of a session's last message.
import type { SessionId } from '../../core/ids.ts';
import type { Database } from '../../database/database.ts';
import { literal } from '../../database/statement.ts';

/** SQL of the URL that the last message of a session named; null when it named none, or none came. */
export const lastUrlSql = (sessionId: string): string => `(select i.body -> 'deliver' ->> 'url' from holdfast.inbox i
  where i.session_id = ${sessionId} and i.kind = 'message' order by i.seq desc limit 1)`;

export const LAST_URL = literal({
  name: 'last-url',
  purpose: 'Read where the last message of a session wanted its answer.',
  text: `select ${lastUrlSql('$1')} as url`,
});

/** The URL that the last message of a session named; null when it named none, or none came. */
export async function readLastUrl(database: Database, sessionId: SessionId): Promise<string | null> {
  const result = await database.views.query(LAST_URL.prepared([sessionId]));
  return result.rows[0]?.url ?? null;
}
