import { expect, test } from 'vitest';
import {
  type AttentionFact,
  type AttentionItem,
  ATTENTION_KINDS,
  attentionItem,
  attentionState,
  budgetItem,
  compareAttention,
  isExplained,
  KINDS_BY_WEIGHT,
} from '../../../../src/features/overview/rules/attention.ts';
import { toPoints, computeRates } from '../../../../src/features/overview/rules/figures.ts';
import { toProviders } from '../../../../src/features/overview/rules/providers.ts';

test.each(ATTENTION_KINDS)('%s has a text, a place and something to do', (kind) => {
  const item = attentionItem({ kind, name: 'name/of:it', count: 2000, detail: null, since: null } as AttentionFact);
  expect(item.text).not.toBe('');
  expect(item.href).toMatch(/^\//);
  expect(item.fix).toMatch(/^[A-Z]/);
  for (const { text, href, command } of item.actions) {
    expect(text).toMatch(/^[A-Z]/);
    expect(href ?? command, text).toMatch(/^(?:\/|holdfast )/);
    expect(item.advice, text).not.toContain('holdfast ');
  }
  expect(`${item.text} ${item.fix}`, 'it is shown as it is').not.toMatch(/[`<>]/);
});

test('a silent worker is reported without a promise that there are others', () => {
  const { text } = attentionItem({ kind: 'worker_silent', name: 'w-1', count: 1, detail: null, since: null });
  expect(text).not.toMatch(/other workers/);
});

test('the advice for dead letters is a command as the command line has it', () => {
  const { fix } = attentionItem({ kind: 'dead_letters', name: 'turn_timeout', count: 2, detail: null, since: null });
  expect(fix).toMatch(/: holdfast dead redrive turn_timeout$/);
});

test('an acknowledgement holds for what had begun before it, and a snooze until its time', () => {
  const mark = { by: 'admin', at: '2026-01-02T00:00:00.000Z', until: null, count: 3, reason: null, holds: true };
  const state = (more: object = {}, changed: object = {}) =>
    attentionState(
      { kind: 'dead_letters', count: 3, since: '2026-01-01T00:00:00.000Z', ...more },
      { ...mark, ...changed },
    );
  expect(attentionState({ kind: 'paused', count: 1, since: null }, undefined)).toBe('open');
  expect(state()).toBe('acknowledged');
  expect(state({ since: null })).toBe('acknowledged');
  expect(state({ since: '2026-01-03T00:00:00.000Z' })).toBe('open');
  expect(state({ count: 4 })).toBe('open');
  expect(state({ kind: 'model_away', count: 4 })).toBe('acknowledged');
  expect(state({}, { holds: false })).toBe('open');
  expect(state({ since: '2026-01-03T00:00:00.000Z' }, { until: '2026-01-04T00:00:00.000Z' })).toBe('snoozed');
});

test('open problems stand first, then what keeps most from working, then the oldest', () => {
  const at = (day: number) => `2026-01-0${day}T00:00:00.000Z`;
  const problem = (state: 'open' | 'snoozed', kind: AttentionItem['kind'], since: string | null) => {
    return { state, kind, since };
  };
  const sorted = [
    problem('open', 'dependency', null),
    problem('open', 'no_worker', at(4)),
    problem('open', 'model_away', at(5)),
    problem('open', 'queue_unreachable', at(3)),
    problem('open', 'budget_reached', at(2)),
    problem('open', 'deliveries_failing', at(1)),
    problem('open', 'deliveries_failing', at(2)),
    problem('open', 'deliveries_failing', null),
    problem('open', 'dead_letters', at(1)),
    problem('snoozed', 'no_worker', at(1)),
  ];
  expect(sorted.toReversed().toSorted(compareAttention)).toEqual(sorted);
  expect(KINDS_BY_WEIGHT.flat().toSorted()).toEqual([...ATTENTION_KINDS, 'budget'].toSorted());
});

test.each([
  ['model_blocked a/x', 'model_limited a', true],
  ['model_blocked a/x', 'model_away b', false],
  ['model_limited a', 'model_away a', true],
  ['dependency queue', 'queue_unreachable queue', true],
  ['dependency storage', 'queue_unreachable queue', false],
  ['budget all per day', 'budget_reached all per day', true],
  ['cron_late 1', 'no_scheduler scheduler', true],
  ['deliveries_failing telegram/main', 'channel_lost telegram/main', true],
  ['deliveries_failing telegram/other', 'channel_lost telegram/main', false],
  ['deliveries_failing webhook host', 'channel_lost telegram/main', false],
])('%s beside %s is no line of its own: %s', (one, other, isLeftOut) => {
  const named = (text: string) => {
    const [kind = '', ...name] = text.split(' ');
    return { kind: kind as AttentionItem['kind'], name: name.join(' ') };
  };
  const beside = (state: 'open' | 'snoozed') => isExplained(named(one), [{ ...named(other), state }]);
  expect(beside('open')).toBe(isLeftOut);
  expect(beside('snoozed'), 'a person has decided about the other').toBe(false);
});

test('a budget needs a person from its own percentage on, and is an error when it is full', () => {
  const budget = {
    scope: 'all',
    per: 'day' as const,
    limitMicros: 100,
    warnPercent: 80,
    isReached: false,
  };
  expect(budgetItem({ ...budget, spentMicros: 70, reservedMicros: 9 })).toBeNull();
  expect(budgetItem({ ...budget, spentMicros: 70, reservedMicros: 15 })).toMatchObject({
    severity: 'warning',
    text: '85 % of the budget all per day is used',
  });
  expect(budgetItem({ ...budget, spentMicros: 100, reservedMicros: 0 })).toMatchObject({
    severity: 'error',
    since: null,
  });
});

const minute = (n: number, more: object = {}) => ({
  startsAt: new Date(n * 60_000).toISOString(),
  startsAtMs: n * 60_000,
  arrivals: 0,
  longestWaitMs: 0,
  turns: 0,
  failedTurns: 0,
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  costMicros: 0,
  waiting: null,
  running: null,
  firstChunkP95Ms: null,
  isSimulated: false,
  turnP95Ms: null,
  ...more,
});

test('rates are of minutes that are over, and shares of nothing are not known', () => {
  expect(computeRates([minute(0)])).toEqual({ turnsPerMinute: 0, successRate: null, cacheHitRatio: null });
  const minutes = [
    ...Array.from({ length: 5 }, (_, n) => minute(n, { turns: 4, failedTurns: 1, inputTokens: 1, cacheReadTokens: 3 })),
    minute(5, { turns: 100 }),
  ];
  expect(computeRates(minutes)).toEqual({ turnsPerMinute: 4, successRate: 1 - 5 / 120, cacheHitRatio: 0.75 });
});

test('a provider has the worst state of its models and of the turns that wait for it, with the reason', () => {
  const until = '2026-01-01T00:10:00.000Z';
  const models = [
    { model: 'a/one', calls: 3, failures: 1 },
    { model: 'a/two', calls: 1, failures: 0 },
    { model: 'b/one', calls: 9, failures: 0 },
  ];
  const wait = (by: string, code: string, count: number) => ({ by, code, count, until });
  const waits = [wait('a', 'retry_wait', 1), wait('c/x', 'rate_limited', 2), wait('d', 'provider_batch', 4)];
  const away = { model: 'a/one', isAway: true, until, text: null };
  const asked = { model: 'a/two', isAway: false, until, text: 'Overloaded' };
  const shown = toProviders(models, [], waits);
  expect(shown.map(({ provider, state }) => `${provider} ${state}`)).toEqual([
    'b open',
    'a limited',
    'c limited',
    'd open',
  ]);
  expect(shown[0]).toMatchObject({ until: null, text: null, calls: 9, inBatches: 0 });
  expect(shown[1]).toMatchObject({ text: 'a: 1 turn waits to repeat a failed call.', calls: 4, failures: 1 });
  expect(shown[2]?.text).toBe('c/x: 2 turns wait for room in the rate limits (models.limits).');
  expect(shown[3]).toMatchObject({ calls: 0, inBatches: 4 });
  const stateOfA = (...blocks: (typeof away | typeof asked)[]) => toProviders(models, blocks, waits)[1];
  expect(stateOfA(away)).toMatchObject({ state: 'away', until, text: 'a/one: It does not answer.' });
  expect(stateOfA(away, asked)).toMatchObject({ state: 'blocked', until, text: 'a/two: Overloaded' });
});

test('the oldest wait of a minute belongs to a message that was claimed in it, or that still waits', () => {
  const minutes = [minute(0, { longestWaitMs: 5_000 }), minute(1), minute(2)];
  const now = { nowMs: 130_000, waiting: 1, running: 0 };
  expect(toPoints(minutes, { ...now, oldestMs: 90_000 }).oldestWaitMs).toEqual([5_000, 30_000, 40_000]);
  expect(toPoints(minutes, { ...now, oldestMs: null }).oldestWaitMs).toEqual([5_000, 0, 0]);
});

test('the last minute has at least what waits and runs now, and a minute without a sample has no value', () => {
  const minutes = [minute(0), minute(1, { waiting: 3, running: 0 }), minute(2, { waiting: 2, running: 9 })];
  const points = toPoints(minutes, { nowMs: 130_000, oldestMs: null, waiting: 5, running: 4 });
  expect(points.waiting).toEqual([null, 3, 5]);
  expect(points.running).toEqual([null, 0, 9]);
});
