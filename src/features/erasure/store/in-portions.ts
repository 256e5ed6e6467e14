// Statements that read a table in portions, in the order of its key.
import { workOff } from '../../../work-off.ts';

/** What a portion has removed, and the key of its last row; null: it was empty. */
export interface ErasedPortion {
  removed: number;
  last: readonly unknown[] | null;
}

/** What a statement answers whose CTE `portion` has the rows after a key. */
export const portionAnswerSql = (
  removed: string,
  key: readonly [string, string],
): string => `select (${removed})::int as removed, (
  select json_build_array(${key.join(', ')}) from portion order by ${key.map((column) => `${column} desc`).join(', ')} limit 1
) as last`;

/**
 * Sends portions, from that key on, until one is empty; resolves with how many rows they have
 * removed.
 */
export async function inPortions(
  first: readonly unknown[],
  send: (after: readonly unknown[]) => Promise<ErasedPortion | undefined>,
): Promise<number> {
  let total = 0;
  let after: readonly unknown[] = first;
  await workOff(async () => {
    const { removed, last } = (await send(after)) ?? { removed: 0, last: null };
    total += removed;
    after = last ?? [];
    return last !== null;
  });
  return total;
}
