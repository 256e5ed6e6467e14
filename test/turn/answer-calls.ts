// Answers calls that wait for something outside, as what they wait for does.
import type { HoldCode } from '../../src/core/statuses.ts';
import type { Database } from '../../src/database/database.ts';
import { transaction } from '../../src/database/transaction.ts';
import { settleCalls } from '../../src/kernel/turn/journal/settle-calls.ts';

/** Answers a call of the first step, or of another one, with a text. */
export function answerCall(
  database: Database,
  {
    content,
    ordinal = 1,
    step = 1,
    ...of
  }: { turnId: string; kind: HoldCode; content: string; ordinal?: number; step?: number },
) {
  const results = [{ ordinal, result: { content, isError: false } }];
  return transaction(database.hot, (tx) => settleCalls(tx, { ...of, step, results }), { retryMs: 0 });
}
