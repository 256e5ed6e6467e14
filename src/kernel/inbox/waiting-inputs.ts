// The waiting inputs of a session, for the worker that runs it: a plain read, in the order of their numbers.
import type { SessionId } from '../../core/ids.ts';
import type { WaitingInput } from '../sessions/claim-session.ts';
import { WAITING_CHARS_MAX } from '../sessions/claim-statement.ts';
import type { Database } from '../../database/database.ts';
import { literal } from '../../database/statement.ts';

/** The largest number of inputs that are read. */
const READ_MAX = 50;

export const WAITING_INPUTS = literal({
  name: 'waiting-inputs',
  purpose: 'Read the first inputs that wait, in the order of their numbers.',
  text: `select i.id, i.seq::int, i.kind, i.body, i.route, i.mode, (extract(epoch from i.received_at) * 1000)::float8 as "receivedAt"
from (
  select i.*, coalesce(sum(length(i.body::text)) over (order by i.seq rows between unbounded preceding and 1 preceding), 0) as chars_before
  from holdfast.inbox i where i.session_id = $1 and i.status = 'waiting' order by i.seq limit ${READ_MAX}
) as i where i.chars_before < ${WAITING_CHARS_MAX} order by i.seq`,
});

/** The first inputs that wait. */
export async function readWaitingInputs(database: Database, sessionId: SessionId): Promise<WaitingInput[]> {
  const result = await database.hot.query(WAITING_INPUTS.prepared([sessionId]));
  return result.rows;
}
