// Results of tool calls that wait for something outside (kernel/turn/loop/held-calls.ts). The statement that stores them makes the turn due, also
// one that still runs other calls of the answer: the session counts the answers, and a turn that is parked after one is due at once.
import type { HoldCode } from '../../../core/hold-codes.ts';
import type { Committed } from '../../queue/after-commit.ts';
import type { Lane } from '../../../config.ts';
import type { SessionId } from '../../../core/ids.ts';
import type { Database } from '../../../database/database.ts';
import { buildRings, wakeSql } from '../../queue/rings.ts';
import { sendQuery } from '../../../database/send-query.ts';
import { literal } from '../../../database/statement.ts';

/** A result; only the first one for a call is used. */
export interface HeldResult {
  ordinal: number;
  content: unknown;
  isError: boolean;
}

/** SQL of whether a row `c` of the ledger waits for something outside. */
export const IS_HELD_SQL = `c.status = 'intent' and c.held_for is not null and c.runs = 0 and c.result is null`;

/**
 * SQL of CTEs that make the turn of a session due after an answer to one of its held calls: `locked` is the locked session, and the answer was
 * stored if `answered` has rows. The last of them is `woken`, with the ring.
 */
export const heldWokenSql = (answered: string): string => `counted as (
  update holdfast.sessions s set held_seq = s.held_seq + 1, updated_at = clock_timestamp()
  from locked where s.id = locked.id and exists (select from ${answered})
  returning s.*
),
woken as (
  ${wakeSql('counted', 'true')}
)`;

export const STORE_HELD_RESULTS = literal({
  name: 'store-held-results',
  purpose:
    'Store the results of calls of a turn ($1, step $2) that wait for them ($6), and make the turn due. Answers its ring.',
  locking: 'The session row, then the calls and the doorbell.',
  text: `with locked as materialized (
  select s.id, s.turn_id from holdfast.sessions s join holdfast.turns t on t.session_id = s.id
  where t.id = $1 and s.turn_id = t.id for no key update of s
),
stored as (
  update holdfast.tool_calls c set status = case when sent.is_error then 'failed' else 'done' end, ended_at = clock_timestamp(),
    result = json_build_object('content', sent.content, 'isError', sent.is_error)
  from locked, unnest($3::int[], $4::json[], $5::boolean[]) as sent (ordinal, content, is_error)
  where locked.turn_id = $1 and c.turn_id = locked.turn_id and c.step = $2 and c.ordinal = sent.ordinal and c.held_for = $6 and ${IS_HELD_SQL}
  returning c.ordinal
),
${heldWokenSql('stored')}
select woken.session_id as "sessionId", woken.lane, woken.rings from woken`,
});

/** Stores results; those of calls that do not wait for them any more are left out. False in `isStored`: all were. */
export async function storeHeldResults(
  database: Database,
  { turnId, step, code, results }: { turnId: string; step: number; code: HoldCode; results: readonly HeldResult[] },
): Promise<Committed<{ isStored: boolean }>> {
  type Row = { sessionId: SessionId; lane: Lane; rings: string };
  const [row] = await sendQuery<Row>(
    database.hot,
    STORE_HELD_RESULTS.prepared([
      turnId,
      step,
      results.map(({ ordinal }) => ordinal),
      results.map(({ content }) => JSON.stringify(content)),
      results.map(({ isError }) => isError),
      code,
    ]),
  );
  if (row === undefined) return { isStored: false };
  return {
    isStored: true,
    after: { changed: [row.sessionId], rings: buildRings('followup', row.sessionId, row) },
  };
}
