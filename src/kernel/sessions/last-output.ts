// The last output of a subagent, for callers that end its run from outside: a plain read of its newest visible entries.
import { findLastOutput, type OutputEntry } from '../../core/last-output.ts';
import type { SessionId } from '../../core/ids.ts';
import type { Database } from '../../database/database.ts';
import { sendQuery } from '../../database/send-query.ts';
import { literal } from '../../database/statement.ts';

const ENTRIES_READ = 10;

export const LAST_OUTPUT = literal({
  name: 'last-output',
  purpose: 'Read the newest entries that a session shows.',
  text: `select * from (
  select e.seq, e.kind, e.content from holdfast.entries e join holdfast.sessions s on s.id = e.session_id
  where e.session_id = $1 and e.transcript_no = s.transcript_no and e.state = 'active' order by e.seq desc limit ${ENTRIES_READ}
) as newest order by seq`,
});

/** Its last text, otherwise the last result of a tool; null: nothing yet. Bounded. */
export async function readLastOutput(database: Database, sessionId: SessionId): Promise<string | null> {
  return findLastOutput(await sendQuery<OutputEntry>(database.hot, LAST_OUTPUT.prepared([sessionId])));
}
