// Results of calls of external tools. They are in the ledger, in the row of the call: the first one
// that comes in time holds.
import type { CallerCall } from '../../../core/client-ids.ts';
import type { Database } from '../../../database/database.ts';
import { storeKey, type KeyedRequest } from '../../../database/idempotency.ts';
import { transaction, type Transaction } from '../../../database/transaction.ts';
import type { Committed } from '../../../kernel/queue/after-commit.ts';
import { settleCalls } from '../../../kernel/turn/journal/settle-calls.ts';

/**
 * Stores the result of a call that waits for it and whose time is not over, and makes its turn due.
 */
export async function storeExternalResult(
  database: Database,
  { turnId, step, ordinal }: CallerCall,
  result: { content: string; isError: boolean },
  idempotency: KeyedRequest | null,
): Promise<Committed<{ isStored: boolean }>> {
  const answers = { turnId, step, kind: 'external_tool' as const, results: [{ ordinal, result }], inTime: true };
  const store = async (tx: Transaction) => {
    const { settled, ...committed } = await settleCalls(tx, answers);
    const isStored = settled.length > 0;
    if (isStored) await storeKey(tx, idempotency, {});
    return { isStored, ...committed };
  };
  return await transaction(database.hot, store);
}
