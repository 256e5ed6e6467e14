// Statements that work through a table in portions, in the order of its key.

/** Less than every id. */
export const LEAST_ID = '00000000-0000-0000-0000-000000000000';

/** Sends a statement until nothing comes after its last portion; resolves with the sum of the rows that it reported. */
export async function inPortions(
  first: readonly unknown[],
  send: (after: readonly unknown[]) => Promise<{ removed: number; next: readonly unknown[] | null }>,
): Promise<number> {
  let total = 0;
  for (let after: readonly unknown[] | null = first; after !== null;) {
    const { removed, next } = await send(after);
    total += removed;
    after = next;
  }
  return total;
}
