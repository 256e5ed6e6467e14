// The two trees of a comparison with an earlier commit: each runs on a PostgreSQL server of its own
// with the same settings.
import type { BenchContext, StartOptions } from './bench-context.ts';
import { openCheckout } from './checkout.ts';

export interface ComparedCommits {
  before: string;
  /** Null: this tree. */
  after: string | null;
}

export type ComparedSide = 'before' | 'after';

/** What starts each of them, until they are removed. */
export type ComparedTrees = Record<ComparedSide, StartOptions> & { remove(): void };

/** Checks the commits out; this tree uses the server of the run. */
export async function openTrees(context: BenchContext, commits: ComparedCommits): Promise<ComparedTrees> {
  const removers: (() => void)[] = [];
  const open = async (commit: string | null): Promise<StartOptions> => {
    if (commit === null) return {};
    context.say(`checking out ${commit}`);
    const checkout = await openCheckout(commit);
    removers.push(() => checkout.remove());
    return { place: await context.openPlace(), rootDir: checkout.rootDir };
  };
  return {
    before: await open(commits.before),
    after: await open(commits.after),
    remove: () => removers.forEach((remove) => remove()),
  };
}
