// Statements that work through the items of all batches in portions: no index leads to those of a session or of a sender.
import type { Database } from '../database.ts';
import { LASTING_RETRY_MS } from '../retry-passing-faults.ts';
import { sendQuery } from '../send-query.ts';
import type { Statement } from '../statement.ts';
import { inPortions, LEAST_ID } from './in-portions.ts';

/** The CTE `portion` of the items after the item ($3, $4), with `is_theirs`: whether `condition` holds of an item `i`. */
export const itemPortionSql = (condition: string, rows: number): string => `portion as materialized (
  select i.batch_id, i.n, ${condition} as is_theirs from holdfast.batch_items i where (i.batch_id, i.n) > ($3::uuid, $4::int)
  order by i.batch_id, i.n limit ${rows}
)`;

/** What such a statement answers: `removed`, and the last item of the portion; null when it was empty. */
export const portionAnswerSql = (
  removed: string,
): string => `select (${removed})::int as removed, last.batch_id as "lastBatch", last.n as "lastN"
from (select 1) as one left join (select batch_id, n from portion order by batch_id desc, n desc limit 1) as last on true`;

/** Sends the statement with its first two values for all items; resolves with the sum of `removed`. */
export function sendForItems(
  database: Database,
  statement: Statement<unknown[]>,
  values: readonly unknown[],
): Promise<number> {
  return inPortions([LEAST_ID, 0], async (after) => {
    const [row] = await sendQuery<{ removed: number; lastBatch: string | null; lastN: number }>(
      database.views,
      statement.prepared([...values, ...after]),
      LASTING_RETRY_MS,
    );
    return {
      removed: row?.removed ?? 0,
      next: row === undefined || row.lastBatch === null ? null : [row.lastBatch, row.lastN],
    };
  });
}
