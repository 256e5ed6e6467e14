// Which problems a destination of alerts is sent, and when.
import { expect, test } from 'vitest';
import { buildCall, planAlerts, type AlertProblem, type KnownAlert } from '../../../../src/features/alerts/rules.ts';
import { listCutKinds } from '../../../../src/features/overview/views/attention.ts';

const FILTER = { severity: 'warning', kinds: null, repeatSeconds: 4 * 3_600 } as const;

const problem = (more: Partial<AlertProblem> = {}): AlertProblem => ({
  id: 'p',
  kind: 'dead_letters',
  severity: 'error',
  count: 1,
  text: 'Something is wrong',
  fix: 'Correct it.',
  href: '/',
  since: null,
  state: 'open',
  ...more,
});

/**
 * What a destination is sent that reads these problems at these seconds: `<seconds> <id> begins`,
 * or `ends`.
 */
function play(
  steps: [seconds: number, ...problems: AlertProblem[]][],
  filter: Parameters<typeof planAlerts>[0] = FILTER,
  cutKinds: ReadonlySet<string> = new Set(),
  explained: readonly { id: string }[] = [],
) {
  let known: KnownAlert[] = [];
  return steps.flatMap(([seconds, ...problems]) => {
    const atMs = seconds * 1_000;
    const { begun, ended, changed } = planAlerts(filter, { problems, explained, cutKinds, atMs }, known);
    const begins = begun.map(({ id, ...one }) => ({ ...one, problemId: id, alertedMs: atMs, endedMs: null }));
    const rows = new Map([...known, ...changed, ...begins].map((one) => [one.problemId, one]));
    for (const { problemId } of ended) rows.delete(problemId);
    known = [...rows.values()];
    return [
      ...begun.map(({ id }) => `${seconds} ${id} begins`),
      ...ended.map((one) => `${seconds} ${one.problemId} ends`),
    ];
  });
}

test('a problem ends when it has not been there for two minutes, and is new when it comes back after that', () => {
  expect(play([[0, problem()], [300], [419], [420], [425], [600, problem()]])).toEqual([
    '0 p begins',
    '420 p ends',
    '600 p begins',
  ]);
});

test('a problem that comes and goes within two minutes is one problem, which is sent again when it lasts', () => {
  const flaps = Array.from({ length: 200 }, (_, n): [number, ...AlertProblem[]] =>
    n % 2 === 0 ? [n * 100, problem()] : [n * 100],
  );
  expect(play(flaps)).toEqual(['0 p begins', '14400 p begins']);
});

test.each([
  ['an error that was a warning', { severity: 'warning' }, { severity: 'error' }],
  ['ten times as many', { count: 50 }, { count: 500 }],
] as const)('what is worse than it was when it was sent is new: %s', (_, before, after) => {
  const [one, worse] = [problem(before), problem(after)];
  expect(
    play([
      [0, one],
      [5, worse],
      [10, worse],
    ]),
  ).toEqual(['0 p begins', '5 p begins']);
  // It is less severe for less than two minutes, and for longer.
  expect(
    play([
      [0, worse],
      [5, one],
      [10, worse],
      [15, one],
      [134, one],
      [135, one],
      [140, worse],
    ]),
  ).toEqual(['0 p begins', '140 p begins']);
});

test('what is a little more than it was, or of which the count at that time is not known, is not new', () => {
  expect(
    play([
      [0, problem({ count: 50 })],
      [5, problem({ count: 499 })],
    ]),
  ).toEqual(['0 p begins']);
  const before = {
    problemId: 'p',
    kind: null,
    severity: 'error',
    count: null,
    text: '',
    href: '',
    alertedMs: 0,
    endedMs: null,
  } as const;
  const reading = { problems: [problem({ count: 500 })], explained: [], cutKinds: new Set<string>(), atMs: 5 };
  expect(planAlerts(FILTER, reading, [before])).toEqual({
    begun: [],
    ended: [],
    changed: [],
  });
});

test('for a destination of errors, an error that has become a warning ends', () => {
  const errors = { ...FILTER, severity: 'error' } as const;
  const warning = problem({ severity: 'warning' });
  expect(
    play(
      [
        [0, warning],
        [5, problem()],
        [10, warning],
        [130, warning],
        [135, problem()],
      ],
      errors,
    ),
  ).toEqual(['5 p begins', '130 p ends', '135 p begins']);
});

test('an acknowledged problem is not sent, and its end is if its beginning was', () => {
  const acknowledged = problem({ state: 'acknowledged' });
  expect(play([[0, acknowledged], [5], [200]])).toEqual([]);
  expect(play([[0, problem()], [5, acknowledged], [10], [130]])).toEqual(['0 p begins', '130 p ends']);
});

test('a call names 50 problems, and says how many the next one names', () => {
  const begun = Array.from({ length: 60 }, (_, n) => problem({ id: `p${n}` }));
  const call = buildCall({ begun, ended: [] });
  expect(call).toMatchObject({
    moreCount: 10,
    text: expect.stringMatching(/and 10 more in the next alert: GET \/v1\/attention$/),
  });
  expect(call!.problems).toHaveLength(50);
});

test('a problem has not ended while its cause is listed in its place, and is not new after that', () => {
  const steps: Parameters<typeof play>[0] = [[0, problem(), problem({ id: 'q' })], [5], [200], [400, problem()]];
  expect(play(steps, FILTER, new Set(), [{ id: 'p' }])).toEqual(['0 p begins', '0 q begins', '200 q ends']);
});

test('nothing ends that a list which was cut does not have', () => {
  const steps: Parameters<typeof play>[0] = [
    [0, problem(), problem({ id: 'q', kind: 'paused' })],
    [5],
    [200],
    [400, problem()],
  ];
  expect(play(steps, FILTER, new Set(['dead_letters']))).toEqual(['0 p begins', '0 q begins', '200 q ends']);
  const items = (kind: 'dead_letters' | 'model_unpriced' | 'budget', count: number, length: number) =>
    Array.from({ length }, () => ({ kind, count }));
  expect([...listCutKinds([...items('dead_letters', 1, 20), ...items('budget', 1, 30)])]).toEqual(['dead_letters']);
  expect([...listCutKinds([...items('dead_letters', 5_000, 2), ...items('model_unpriced', 50_000, 2)])]).toEqual([
    'dead_letters',
  ]);
  expect([...listCutKinds(items('dead_letters', 1, 19))]).toEqual([]);
});
