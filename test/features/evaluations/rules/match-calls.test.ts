// The steps of a recorded turn, and where a run does something else.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ContentBlock } from '../../../../src/core/content.ts';
import type { EntryKind } from '../../../../src/core/entry.ts';
import { findDivergence, listSteps } from '../../../../src/features/evaluations/rules/match-calls.ts';
import { matchCalls } from '../../../../src/features/tries/rules.ts';

const entry = (kind: EntryKind, ...content: ContentBlock[]) => ({ kind, content });
const text = (words: string): ContentBlock => ({ type: 'text', text: words });
const use = (id: string, input: unknown = { id }): ContentBlock => ({ type: 'tool_use', id, name: 'find', input });
const result = (id: string, content: string): ContentBlock => ({ type: 'tool_result', tool_use_id: id, content });
const call = (name: string, input: unknown = {}) => ({ name, input });
const step = (...calls: { name: string; input: unknown }[]) => ({ calls });

test('a step is an answer that called tools, with the results and the messages that joined after it', () => {
  const steps = listSteps([
    entry('prompt', text('Where is it?')),
    entry('steer', text('joined before the first answer')),
    entry('answer', text('I look.'), use('1'), use('2')),
    entry('results', result('2', 'two'), result('1', 'one')),
    entry('steer', text('Hurry.')),
    entry('steer', text('Please.')),
    entry('answer', use('3')),
    entry('results', result('3', 'three')),
    entry('answer', text('It is here.')),
    entry('steer', text('[holdfast] Give the whole answer again.')),
    entry('answer', text('{}')),
  ]);
  expect(steps).toMatchObject([
    {
      calls: [
        { name: 'find', input: { id: '1' }, result: { content: 'one' } },
        { name: 'find', input: { id: '2' }, result: { content: 'two' } },
      ],
      joined: ['Hurry.', 'Please.'],
    },
    { calls: [{ input: { id: '3' }, result: { content: 'three' } }], joined: [] },
  ]);
});

test('two answers that use the same id of a call have the result that follows each', () => {
  const steps = listSteps([
    entry('answer', use('call_0', { n: 1 })),
    entry('results', result('call_0', 'one')),
    entry('answer', use('call_0', { n: 2 })),
    entry('results', result('call_0', 'two')),
  ]);
  expect(steps.map(({ calls }) => calls[0]?.result.content)).toEqual(['one', 'two']);
});

test('a call without a result is in no step, and an answer of such calls is none', () => {
  const entries = [
    entry('answer', use('1'), use('2')),
    entry('results', result('2', 'two')),
    entry('answer', use('3')),
  ];
  expect(listSteps(entries).map(({ calls }) => calls.map(({ input }) => input))).toEqual([[{ id: '2' }]]);
});

const RECORDED = [step(call('a', { x: 1, y: 2 }), call('b')), step(call('c'))];

test.each([
  ['nothing is done yet', [], false, null],
  ['the run is in the middle', RECORDED.slice(0, 1), false, null],
  ['the run did all and answered', RECORDED, true, null],
  ['the fields of an input have another order', [step(call('a', { y: 2, x: 1 }), call('b'))], false, null],
  [
    'another input',
    [step(call('a', { x: 3, y: 2 }), call('b'))],
    false,
    { step: 1, kind: 'call', expected: 'a({"x":1,"y":2})', got: 'a({"x":3,"y":2})' },
  ],
  [
    'another order in a step',
    [step(call('b'), call('a', { x: 1, y: 2 }))],
    false,
    { step: 1, kind: 'call', expected: 'a({"x":1,"y":2})', got: 'b({})' },
  ],
  ['a call less', [step(call('a', { x: 1, y: 2 }))], false, { step: 1, kind: 'call', expected: 'b({})', got: null }],
  [
    'a call more',
    [step(call('a', { x: 1, y: 2 }), call('b'), call('b'))],
    false,
    { step: 1, kind: 'call', expected: null, got: 'b({})' },
  ],
  ['an early answer', [], true, { step: 1, kind: 'ended', expected: 'a({"x":1,"y":2}), b({})', got: null }],
  [
    'calls after the last step',
    [...RECORDED, step(call('d'), call('e'))],
    false,
    { step: 3, kind: 'continued', expected: null, got: 'd({}), e({})' },
  ],
])('where a run diverges: %s', (_case, done, hasAnswered, expected) => {
  expect(findDivergence(RECORDED, done, hasAnswered)).toEqual(expected);
});

test('the text of a divergence is cut', () => {
  const found = findDivergence([step(call('a', { x: 'x'.repeat(9_000) }))], [step(call('b'))], false);
  expect(found?.expected).toHaveLength(500);
});

const someCall = fc.record({ name: fc.constantFrom('a', 'b'), input: fc.record({ x: fc.nat(1), y: fc.nat(1) }) });
const someSteps = fc.array(
  fc.array(someCall, { minLength: 1, maxLength: 3 }).map((calls) => ({ calls })),
  {
    minLength: 1,
    maxLength: 6,
  },
);
type Steps = { calls: { name: string; input: unknown }[] }[];
const flip = (steps: { calls: { name: string; input: { x: number; y: number } }[] }[]): Steps =>
  steps.map(({ calls }) => ({ calls: calls.map(({ name, input: { x, y } }) => ({ name, input: { y, x } })) }));

test('a run that does the same diverges nowhere, at none of its steps', () => {
  fc.assert(
    fc.property(someSteps, fc.nat(6), (recorded, until) => {
      const again = flip(recorded);
      expect(findDivergence(recorded, again.slice(0, until), false)).toBeNull();
      expect(findDivergence(recorded, again, true)).toBeNull();
    }),
    { numRuns: 300 },
  );
});

type Planted = (steps: Steps, at: number) => { recorded?: Steps; done: Steps };

/** A difference at a step, by the kind as which it is found. */
const PLANTED: [string, Planted][] = [
  ['call', (steps, at) => ({ done: steps.with(at, step(...(steps[at]?.calls.with(-1, call('other')) ?? []))) })],
  ['call', (steps, at) => ({ done: steps.with(at, step(...(steps[at]?.calls ?? []), call('more'))) })],
  ['call', (steps, at) => ({ done: steps.with(at, step(...(steps[at]?.calls.slice(1) ?? []))) })],
  ['ended', (steps, at) => ({ done: steps.slice(0, at) })],
  ['continued', (steps, at) => ({ recorded: steps.slice(0, at), done: steps })],
];

test('a difference at any step is found at that step, whatever follows it', () => {
  fc.assert(
    fc.property(
      someSteps,
      fc.nat(),
      fc.constantFrom(...PLANTED),
      fc.boolean(),
      (steps, place, [kind, plant], isOver) => {
        const at = place % steps.length;
        const { recorded = steps, done } = plant(flip(steps), at);
        expect(findDivergence(recorded, done, isOver || kind === 'ended')).toMatchObject({ step: at + 1, kind });
      },
    ),
    { numRuns: 500 },
  );
});

test('the calls of a run that does the same get the results that were recorded, step by step', () => {
  fc.assert(
    fc.property(someSteps, (steps) => {
      let n = 0;
      const recorded = steps.flatMap(({ calls }) =>
        calls.map((one) => ({ ...one, result: { content: `${(n += 1)}` } })),
      );
      const earlier: { name: string; input: unknown }[] = [];
      const found = flip(steps).flatMap(({ calls }) => {
        const results = matchCalls(recorded, earlier, calls);
        earlier.push(...calls);
        return results.map((one) => one?.result.content);
      });
      expect(found).toEqual(recorded.map(({ result: { content } }) => content));
    }),
  );
});
