// "Did you mean ...?": the known name nearest to one that is not known. Pure.
import { cutHead } from '../core/text.ts';

/** The candidate that is nearest to `name` by edit distance, if it is near enough to be intended; otherwise undefined. */
export function findClosest(name: string, candidates: readonly string[]): string | undefined {
  const wanted = simplify(name);
  let best: { candidate: string; distance: number } | undefined;
  for (const candidate of candidates) {
    const distance = editDistance(wanted, simplify(candidate));
    if (best === undefined || distance < best.distance) best = { candidate, distance };
  }
  const allowance = Math.max(1, Math.floor(wanted.length * 0.4));
  return best !== undefined && best.distance <= allowance ? best.candidate : undefined;
}

function simplify(name: string): string {
  return cutHead(name, 100).toLowerCase().replaceAll(/[-_]/g, '');
}

/** Insertions, deletions, replacements and swaps of neighbours that turn one text into the other. */
function editDistance(from: string, to: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, at) => at);
  for (let row = 1; row <= from.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= to.length; column += 1) {
      const isSame = from[row - 1] === to[column - 1];
      const isSwap = row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      current[column] = Math.min(
        (last[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (isSame ? 0 : 1),
        isSwap ? (beforeLast[column - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
      );
    }
    beforeLast = last;
    last = current;
  }
  return last[to.length] ?? 0;
}
