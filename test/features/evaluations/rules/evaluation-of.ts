// An evaluation and its results as the API answers them, for tests of what is made of them.
import type {
  CandidateSummary,
  EvaluationResultView,
  EvaluationRunView,
  EvaluationView,
} from '../../../../src/features/evaluations/contract.ts';

const ID = '019a0000-0000-7000-8000-000000000001';
export const TURN_ID = '019a0000-0000-7000-8000-000000000002';

type Comparison = NonNullable<CandidateSummary['comparison']>;

export function comparisonOf(changes: Partial<Comparison> = {}): Comparison {
  return {
    verdict: 'unknown',
    text: 'Not known.',
    difference: 1,
    interval: { from: -3, to: 5 },
    p: 0.5,
    adjustedP: 0.5,
    test: 'mcnemar',
    better: 3,
    worse: 2,
    items: 20,
    groups: 20,
    detectable: 20,
    itemsNeeded: 400,
    ...changes,
  };
}

/** The baseline, unless it has a comparison. */
export function summaryOf(name: string, changes: Partial<CandidateSummary> = {}): CandidateSummary {
  return {
    name,
    runs: 60,
    diverged: 0,
    failed: 0,
    costUsd: 0.12,
    seconds: 1.5,
    graders: [{ name: 'equal', passRate: 0.9, interval: { from: 0.7, to: 0.97 }, ungraded: 0, mean: 0.9 }],
    comparison: null,
    cost: null,
    time: null,
    ...changes,
  };
}

export function evaluationOf(changes: Partial<EvaluationView> = {}): EvaluationView {
  const results = changes.results ?? [summaryOf('before'), summaryOf('after', { comparison: comparisonOf() })];
  return {
    id: ID,
    name: 'shorter prompt',
    dataset: { id: ID, name: 'refunds', version: 3 },
    split: 'work',
    status: 'ended',
    outcome: 'completed',
    detail: null,
    candidates: results.map(({ name }) => ({ name })),
    graders: [{ type: 'equal' }],
    primary: 'equal',
    repeats: 3,
    effect: 5,
    costCapUsd: null,
    counts: { items: 20, excluded: 0, erased: 0, runs: 120, ended: 120, judgements: 0, judged: 0 },
    costUsd: 0.24,
    judgingCostUsd: 0,
    results,
    batchId: ID,
    judgingBatchId: null,
    createdBy: 'admin',
    createdAt: '2026-11-30T12:00:00.000Z',
    endedAt: '2026-11-30T12:05:00.000Z',
    ...changes,
  };
}

export function runOf(pass: boolean, changes: Partial<EvaluationRunView> = {}): EvaluationRunView {
  return {
    repeat: 1,
    status: 'answered',
    turnId: TURN_ID,
    sessionKey: 'agent:main:try:x',
    reply: pass ? 'yes' : 'no',
    divergence: null,
    calls: [],
    error: null,
    costUsd: 0.002,
    seconds: 1.25,
    grades: [{ name: 'equal', pass, score: pass ? 1 : 0, reason: pass ? 'equal' : 'expected "yes", got "no"' }],
    ...changes,
  };
}

/** An item: whether it passes with each of some candidates, or its runs. */
export function resultOf(
  n: number,
  passed: Readonly<Record<string, boolean | null | EvaluationRunView[]>>,
  changes: Partial<EvaluationResultView> = {},
): EvaluationResultView {
  const candidates = Object.entries(passed).map(([name, given]) => {
    const runs = Array.isArray(given) ? given : given === null ? [] : [runOf(given)];
    const hasPassed = Array.isArray(given) ? runs[0]?.grades[0]?.pass === true : given;
    return { name, passed: hasPassed, score: hasPassed === null ? null : Number(hasPassed), runs };
  });
  const scores = candidates.map(({ score }) => score ?? 0);
  return {
    n,
    rank: n,
    change: (scores.at(-1) ?? 0) - (scores[0] ?? 0),
    input: `question ${n}`,
    expected: 'yes',
    recorded: 'yes',
    turnId: TURN_ID,
    tags: {},
    candidates,
    ...changes,
  };
}
