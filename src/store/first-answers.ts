// The first answer to a message that was sent again: what the session and the message were when it was accepted.
import type { Database } from './database.ts';
import { isoSql, sessionFactsSql, type SessionFacts } from './session-facts.ts';

export interface FirstAnswer {
  sessionId: string;
  seq: number;
  kind: string;
  text: string;
  receivedAt: string;
  session: SessionFacts;
}

/** What was answered when the message was accepted under its idempotency key; null when there is no such message. */
export async function readFirstAnswer(database: Database, messageId: string): Promise<FirstAnswer | null> {
  const result = await database.hot.query({
    name: 'first-answer',
    text: `/* first-answer */
select i.session_id, i.seq, i.kind, i.body, ${isoSql('i.received_at')} as received_at, coalesce(i.answer, ${sessionFactsSql('s')}) as session
from holdfast.inbox i join holdfast.sessions s on s.id = i.session_id where i.id = $1`,
    values: [messageId],
  });
  const row = result.rows[0];
  if (row === undefined) return null;
  return {
    sessionId: row.session_id,
    seq: Number(row.seq),
    kind: row.kind,
    text: row.body.text ?? '',
    receivedAt: row.received_at,
    session: row.session,
  };
}
