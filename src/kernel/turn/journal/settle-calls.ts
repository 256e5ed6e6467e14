// The one way to answer tool calls that wait for something outside
// (kernel/turn/loop/held-calls.ts). What is stored here makes the turn due, also one that still
// runs other calls of the answer: the session counts the answers (`held_seq`), and a turn that is
// parked with another count than its claim has read is due at once. Time that is over is no answer:
// its turn is due by its doorbell, and the feature says what becomes of the call.
import type { HoldCode } from '../../../core/statuses.ts';
import type { SessionId } from '../../../core/ids.ts';
import { literalQuery } from '../../../database/literal-query.ts';
import type { Transaction } from '../../../database/transaction.ts';
import type { Committed } from '../../queue/after-commit.ts';
import { buildAfter, wakeSql, type RungColumns } from '../../queue/rings.ts';
import type { ToolOutcome } from '../../../tools/tool.ts';

/** An answer to a call. */
export interface CallAnswer {
  ordinal: number;
  /** Null: it has none yet. The turn is resumed, and its feature says what becomes of the call. */
  result: { content: unknown; isError: boolean } | null;
}

interface Answers {
  turnId: string;
  step: number;
  kind: HoldCode;
  results: readonly CallAnswer[];
  /** True: an answer counts only until the time of its call is over. */
  inTime?: boolean;
  /**
   * Called when the session is locked; false: nothing is answered. Writes what belongs to the
   * answers.
   */
  before?: () => Promise<boolean>;
}

/** SQL of whether a row `c` of the ledger waits for something outside. */
export const IS_HELD_SQL = `c.status = 'intent' and c.held_for is not null and c.runs = 0 and c.result is null`;

/** Calls of a step that have been answered. */
export const readAnswers = literalQuery({
  name: 'read-answers-of-calls',
  purpose: 'Read the results that calls of a step have got from outside.',
  text: `select c.ordinal, c.held_for as code, c.status, c.result as outcome from holdfast.tool_calls c
where c.turn_id = $turnId and c.step = $step and c.held_for is not null and c.runs = 0 and c.result is not null`,
  values: (turnId: string, step: number) => ({ turnId, step }),
  answer: (rows: { ordinal: number; code: HoldCode; status: 'done' | 'failed'; outcome: ToolOutcome }[]) => rows,
});

export const lockSessionOfTurn = literalQuery({
  name: 'lock-session-of-turn',
  purpose: 'Lock the session of a turn that is open.',
  locking: 'The session row.',
  text: `select s.id from holdfast.sessions s join holdfast.turns t on t.session_id = s.id
where t.id = $turnId and s.turn_id = t.id for no key update of s`,
  values: (turnId: string) => ({ turnId }),
  answer: ([row]: { id: SessionId }[]) => row?.id ?? null,
});

export const settleHeldCalls = literalQuery({
  name: 'settle-held-calls',
  purpose: 'Answer calls of a turn that wait for it, and make the turn due. Answers which did, and the ring.',
  locking: 'The session row, which the transaction has locked, then the calls and the doorbell.',
  text: `with settled as (
  update holdfast.tool_calls c set status = sent.status, result = sent.result, ended_at = case when sent.result is not null then clock_timestamp() end
  from unnest($ordinals::int[], $statuses::text[], $contents::json[]) as sent (ordinal, status, result)
  where c.turn_id = $turnId and c.step = $step and c.ordinal = sent.ordinal and c.held_for = $kind and ${IS_HELD_SQL}
    and (not $inTime::boolean or c.held_until > clock_timestamp())
  returning c.ordinal
),
counted as (
  update holdfast.sessions s set held_seq = s.held_seq + 1, updated_at = clock_timestamp()
  where s.id = $sessionId and exists (select from settled)
  returning s.*
),
rung_doorbells as (
  ${wakeSql('counted', 'true')}
)
select lane, rings, array(select ordinal from settled order by ordinal) as settled from rung_doorbells`,
  values: (sessionId: SessionId, { turnId, step, kind, results, inTime = false }: Answers) => ({
    sessionId,
    turnId,
    step,
    kind,
    inTime,
    ordinals: results.map(({ ordinal }) => ordinal),
    statuses: results.map(({ result }) => (result === null ? 'intent' : result.isError ? 'failed' : 'done')),
    contents: results.map(({ result }) => result && JSON.stringify(result)),
  }),
  answer: ([row]: (RungColumns & { settled: number[] })[]) => row ?? null,
});

/**
 * Answers calls of a step that wait for this, if its turn is open. The first answer of a call
 * holds. `settled`: the places of the calls that it has answered; the others wait for something
 * else, or do not wait any more.
 */
export async function settleCalls(
  tx: Transaction,
  answers: Answers,
): Promise<Committed<{ settled: readonly number[] }>> {
  const sessionId = await lockSessionOfTurn(tx, answers.turnId);
  if (sessionId === null || (await answers.before?.()) === false) return { settled: [] };
  const row = await settleHeldCalls(tx, sessionId, answers);
  return row === null ? { settled: [] } : { settled: row.settled, after: buildAfter('followup', sessionId, row) };
}
