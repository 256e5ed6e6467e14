// The results of tools that a client runs. The turn waits for them parked; the statement that stores them makes it due.
import type { Committed } from '../../queue/after-commit.ts';
import type { Lane } from '../../../config.ts';
import type { SessionId } from '../../../core/ids.ts';
import type { Database } from '../../../database/database.ts';
import { buildRings } from '../../queue/rings.ts';
import { sendQuery } from '../../../database/send-query.ts';
import { literal } from '../../../database/statement.ts';

/** A result; only the first one for a call is used. */
export interface CallerResult {
  ordinal: number;
  content: string;
}

export const STORE_CALLER_RESULTS = literal({
  name: 'store-caller-results',
  purpose:
    'Store the results of calls that have none and that their turn waits for, and make the turn due. Answers its ring.',
  locking: 'The session row, then the calls and the doorbell.',
  text: `with locked as materialized (
  select s.id, s.turn_id from holdfast.sessions s join holdfast.turns t on t.session_id = s.id
  where t.id = $1 and s.turn_id = t.id and t.status = 'parked' and t.park_code = 'caller' and t.steps = $2
  for no key update of s
),
stored as (
  update holdfast.tool_calls c set status = 'done', ended_at = clock_timestamp(),
    result = json_build_object('content', sent.content, 'isError', false)
  from locked, unnest($3::int[], $4::text[]) as sent (ordinal, content)
  where c.turn_id = locked.turn_id and c.step = $2 and c.ordinal = sent.ordinal and c.result is null and c.status = 'intent'
  returning c.ordinal
),
woken as (
  update holdfast.doorbells d set due_at = clock_timestamp(), woken_at = clock_timestamp(), rings = d.rings + 1, rung_at = clock_timestamp()
  from locked where d.session_id = locked.id and exists (select from stored)
  returning d.session_id, d.lane, d.rings
)
select woken.session_id as "sessionId", woken.lane, woken.rings from woken`,
});

/** Stores results; those of a turn that does not wait for them any more are left out. */
export async function storeCallerResults(
  database: Database,
  { turnId, step, results }: { turnId: string; step: number; results: readonly CallerResult[] },
): Promise<Committed<object>> {
  type Row = { sessionId: SessionId; lane: Lane; rings: string };
  const [row] = await sendQuery<Row>(
    database.hot,
    STORE_CALLER_RESULTS.prepared([
      turnId,
      step,
      results.map(({ ordinal }) => ordinal),
      results.map(({ content }) => content),
    ]),
  );
  if (row === undefined) return {};
  return { after: { changed: [row.sessionId], rings: buildRings('followup', row.sessionId, row) } };
}
