import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { thresholdTokens, planCompaction, type CompactionPlan } from '../../../src/compaction/plan-compaction.ts';
import type { Entry } from '../../../src/core/entry.ts';
import { estimateTokens } from '../../../src/core/content-size.ts';
import { PathBuilder, textOfTokens } from './build-path.ts';

const bounds = { contextTokens: 200_000, reserveTokens: 20_000, keepRecentTokens: 20_000 };
const want = { bounds, reason: 'threshold', squeeze: 0 } as const;

/** This many turns of a prompt and an answer, of this many tokens each. */
function turns(count: number, tokens: number): PathBuilder {
  const path = new PathBuilder();
  for (let n = 1; n <= count; n += 1) path.prompt(textOfTokens(tokens)).answer(textOfTokens(tokens));
  return path;
}

function planned(path: readonly Entry[], more: object = {}): CompactionPlan {
  const plan = planCompaction(path, { ...want, ...more });
  if (plan === null) throw new Error('there is nothing to compact');
  return plan;
}

test('a request may fill the window up to the reserve', () => {
  expect(thresholdTokens(bounds)).toBe(180_000);
});

test('a reserve larger than the window leaves half of it', () => {
  expect(thresholdTokens({ ...bounds, contextTokens: 10_000 })).toBe(5_000);
});

describe('the entries that are kept', () => {
  test('the newest entries stay, up to the configured number of tokens', () => {
    const { kept, retired, keptTokens } = planned(turns(90, 1_000).entries);
    expect(keptTokens).toBeGreaterThan(18_000);
    expect(keptTokens).toBeLessThanOrEqual(20_000);
    expect(kept[0]!.seq).toBe(retired.at(-1)!.seq + 1);
  });

  test('the prompt of a turn that has run long stays where its first steps go', () => {
    const path = turns(2, 1_000).prompt('fix the build');
    for (let n = 1; n <= 40; n += 1) path.call(textOfTokens(2_500));
    const plan = planned(path.entries);
    expect(plan.pinnedSeqs).toEqual([5]);
    expect(plan.kept[0]!.content).toEqual([{ type: 'text', text: 'fix the build' }]);
    expect(plan.firstKeptSeq).toBeGreaterThan(6);
  });

  test('the newest message that reached a running turn stays, too', () => {
    const path = turns(2, 1_000).prompt('fix the build').call('ok').steer('not that way').call('ok').steer('this way');
    for (let n = 1; n <= 40; n += 1) path.call(textOfTokens(2_500));
    expect(planned(path.entries).pinnedSeqs).toEqual([5, 11]);
  });

  test('the last step stays although it alone is more than is to stay', () => {
    const path = turns(60, 1_000).prompt('read it').call(textOfTokens(30_000));
    const plan = planned(path.entries);
    expect(plan.kept.map(({ kind }) => kind)).toEqual(['prompt', 'answer', 'results']);
  });

  test('a last step that alone fills the context is replaced, and the prompt stays', () => {
    const path = turns(2, 1_000).prompt('read it').call(textOfTokens(90_000));
    const plan = planned(path.entries);
    expect(plan.kept.map(({ kind }) => kind)).toEqual(['prompt']);
    expect(plan.firstKeptSeq).toBe(path.entries.length + 1);
  });

  test('a squeezed attempt keeps less', () => {
    const path = turns(90, 1_000).entries;
    expect(planned(path, { squeeze: 1 }).keptTokens).toBeLessThan(planned(path).keptTokens * 0.6);
  });
});

test('an earlier summary is retired first', () => {
  const path = turns(90, 1_000).summary('earlier').entries;
  // The summary is the newest row and is first on the path.
  const { retired } = planned([path.at(-1)!, ...path.slice(0, -1)]);
  expect(retired[0]!.kind).toBe('summary');
  expect(retired.filter(({ kind }) => kind === 'summary')).toHaveLength(1);
});

describe('nothing is compacted', () => {
  test('when there is nothing', () => {
    expect(planCompaction([], want)).toBeNull();
  });

  test('when nearly everything is the newest prompt', () => {
    expect(planCompaction(turns(1, 500).prompt(textOfTokens(170_000)).entries, want)).toBeNull();
  });

  test('when the entries to retire are shorter than a summary', () => {
    expect(planCompaction(turns(3, 20).entries, { ...want, reason: 'manual' })).toBeNull();
  });
});

test('a request for a compaction succeeds in a conversation of a few thousand tokens', () => {
  const plan = planned(turns(10, 200).entries, { reason: 'manual' });
  expect(plan.retiredTokens).toBeGreaterThan(2_000);
});

test('no plan parts a call from its results, loses an entry or drops the newest prompt', () => {
  const step = fc.oneof(
    fc.nat(4_000).map((tokens) => (path: PathBuilder) => path.prompt(`${textOfTokens(tokens)}p`)),
    fc.nat(4_000).map((tokens) => (path: PathBuilder) => path.answer(`${textOfTokens(tokens)}a`)),
    fc.nat(8_000).map((tokens) => (path: PathBuilder) => path.call(textOfTokens(tokens))),
    fc.nat(300).map((tokens) => (path: PathBuilder) => path.steer(`${textOfTokens(tokens)}s`)),
  );
  const reason = fc.constantFrom('manual', 'threshold', 'overflow');
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), reason, fc.nat(2), (steps, why, squeeze) => {
      const path = new PathBuilder();
      for (const add of steps) add(path);
      const plan = planCompaction(path.entries, { bounds, reason: why as 'manual', squeeze });
      if (plan === null) return;
      const { kept, retired } = plan;
      const seqs = [...kept, ...retired].map(({ seq }) => seq).toSorted((a, b) => a - b);
      expect(seqs).toEqual(path.entries.map(({ seq }) => seq));
      const places = new Map([...kept, ...retired].map(({ seq }, at) => [seq, at < kept.length]));
      for (const { seq, kind } of path.entries) {
        if (kind === 'results') expect(places.get(seq)).toBe(places.get(seq - 1));
      }
      const newest = path.entries.findLast(({ kind }) => kind === 'prompt' || kind === 'steer');
      if (newest !== undefined) expect(kept).toContain(newest);
      expect(kept.filter(({ seq }) => seq >= plan.firstKeptSeq || plan.pinnedSeqs.includes(seq))).toEqual(kept);
      expect(estimateTokens(kept) + estimateTokens(retired)).toBeGreaterThan(0);
    }),
    { numRuns: 300 },
  );
});
