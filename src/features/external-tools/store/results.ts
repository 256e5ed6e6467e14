// Results of calls of external tools. They are in the ledger, in the row of the call: the first one that comes in time holds.
import type { Committed } from '../../../kernel/queue/after-commit.ts';
import type { Lane } from '../../../config.ts';
import type { CallerCall } from '../../../core/client-ids.ts';
import type { SessionId } from '../../../core/ids.ts';
import { keyedSql, type KeyedRequest } from '../../../database/idempotency.ts';
import { literalQuery } from '../../../database/literal-query.ts';
import { buildRings } from '../../../kernel/queue/rings.ts';
import { heldWokenSql, IS_HELD_SQL } from '../../../kernel/turn/journal/held-results.ts';

/** A call whose time is over, with its result, if one has come. */
export interface LateResult {
  ordinal: number;
  result: { content: unknown; isError: boolean } | null;
}

export const readLateResults = literalQuery({
  name: 'read-late-results',
  purpose: 'Read the results of the calls of external tools of a step.',
  text: `select c.ordinal, c.result from holdfast.tool_calls c
where c.turn_id = $turnId and c.step = $step and c.held_for = 'external_tool'`,
  values: (turnId: string, step: number) => ({ turnId, step }),
  answer: (rows: LateResult[]) => rows,
});

interface StoredRow {
  sessionId: SessionId;
  lane: Lane;
  rings: string;
}

/** Stores the result of a call that waits for it and whose time is not over, and makes its turn due. */
export const storeExternalResult = literalQuery({
  name: 'store-external-result',
  purpose:
    'Store the result of a call that waits for it and whose time is not over, and make its turn due. Answers its ring if it did.',
  locking: 'The session row, then the call and the doorbell.',
  text: `with locked as materialized (
  select s.id, s.turn_id from holdfast.sessions s join holdfast.turns t on t.session_id = s.id
  where t.id = $turnId and s.turn_id = t.id for no key update of s
),
stored as (
  update holdfast.tool_calls c set status = case when $isError::boolean then 'failed' else 'done' end, ended_at = clock_timestamp(),
    result = json_build_object('content', $content::text, 'isError', $isError::boolean)
  from locked where c.turn_id = locked.turn_id and c.step = $step and c.ordinal = $ordinal and c.held_for = 'external_tool'
    and c.held_until > clock_timestamp() and ${IS_HELD_SQL}
  returning c.ordinal
),
${keyedSql('select json_build_object() from stored')},
${heldWokenSql('stored')}
select woken.session_id as "sessionId", woken.lane, woken.rings from woken`,
  values: (
    { turnId, step, ordinal }: CallerCall,
    result: { content: string; isError: boolean },
    idempotency: KeyedRequest | null,
  ) => ({ turnId, step, ordinal, ...result, ...idempotency }),
  answer: ([row]: StoredRow[]): Committed<{ isStored: boolean }> =>
    row === undefined
      ? { isStored: false }
      : { isStored: true, after: { changed: [row.sessionId], rings: buildRings('followup', row.sessionId, row) } },
});
