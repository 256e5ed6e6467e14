// Which of the waiting inputs a turn takes, and which join one that runs.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  COLLECTED_MESSAGES_MAX,
  parseQueueMode,
  selectInputs,
  selectSteers,
  type QueueMode,
  type QueuedInput,
  type TurnRoom,
} from '../../src/core/queue-mode.ts';

test.each([
  ['Queued', 'steer'],
  ['follow-ups', 'followup'],
  ['coalesce', 'collect'],
  ['steer+backlog', 'steer-backlog'],
  ['abort', 'interrupt'],
  ['rollback', 'rollback'],
  ['toString', null],
  ['', null],
])('the word %j means %s', (word, mode) => {
  expect(parseQueueMode(word)).toBe(mode);
});

const input = (seq: number, change: Partial<QueuedInput> = {}): QueuedInput => ({
  id: `m${seq}`,
  seq,
  kind: 'message',
  mode: null,
  route: 'r',
  body: {},
  ...change,
});
/** A body that is so long as JSON. */
const long = (chars: number): string => 'x'.repeat(chars - 2);
const never = (): boolean => false;
const room = { cap: 100_000, chars: 1_000_000 };
const taken = (
  waiting: QueuedInput[],
  isReset: (one: QueuedInput) => boolean = never,
  own: Partial<TurnRoom> = {},
): number[] => selectInputs(waiting, { room: { ...room, ...own }, isReset }).map(({ seq }) => seq);

describe('selectInputs', () => {
  test('collect takes all messages of one route', () => {
    expect(taken([input(1), input(2), input(3)])).toEqual([1, 2, 3]);
  });

  test('followup takes one', () => {
    expect(taken([input(1, { mode: 'followup' }), input(2, { mode: 'followup' })])).toEqual([1]);
    expect(taken([input(1, { mode: 'followup' }), input(2)])).toEqual([1]);
  });

  test('another route ends the batch, and so does a message that goes alone (G6)', () => {
    expect(taken([input(1), input(2, { route: 'other' }), input(3)])).toEqual([1]);
    expect(taken([input(1), input(2, { mode: 'followup' }), input(3)])).toEqual([1]);
  });

  test('other kinds go alone, and nothing overtakes them', () => {
    expect(taken([input(1, { kind: 'cron' }), input(2)])).toEqual([1]);
    expect(taken([input(1), input(2, { kind: 'announcement' }), input(3)])).toEqual([1]);
  });

  test('announcements of one route share a turn, among themselves', () => {
    const announced = { kind: 'announcement', mode: null } as const;
    expect(taken([input(1, announced), input(2, announced), input(3)])).toEqual([1, 2]);
    expect(taken([input(1, announced), input(2, { ...announced, route: 'other' })])).toEqual([1]);
    expect(taken([input(1, { ...announced, mode: 'steer' }), input(2, announced)])).toEqual([1, 2]);
  });

  test('a steering or interrupting message that finds no running turn is claimed like a collected one', () => {
    expect(taken([input(1), input(2, { mode: 'interrupt' }), input(3, { mode: 'steer' })])).toEqual([1, 2, 3]);
  });

  test('a message that begins a new session goes alone', () => {
    expect(taken([input(1), input(2), input(3)], ({ seq }) => seq === 2)).toEqual([1]);
    expect(taken([input(2), input(3)], ({ seq }) => seq === 2)).toEqual([2]);
  });

  test('a turn takes at most `cap` messages, the oldest, and a cap leaves announcements alone (G3, G5)', () => {
    expect(taken([input(3), input(1), input(2)], never, { cap: 2 })).toEqual([1, 2]);
    const announced = { kind: 'announcement', mode: null } as const;
    expect(taken([input(1, announced), input(2, announced)], never, { cap: 1 })).toEqual([1, 2]);
  });

  test('a turn stops where the next message does not fit into its context, and always takes the oldest (G3, G5)', () => {
    const sized = (...chars: number[]): QueuedInput[] =>
      chars.map((size, index) => input(index + 1, { body: long(size) }));
    expect(taken(sized(400, 500, 200, 50), never, { chars: 1_000 })).toEqual([1, 2]);
    expect(taken(sized(5_000, 10), never, { chars: 1_000 })).toEqual([1]);
    const announced = sized(600, 600).map((one) => ({ ...one, kind: 'announcement' }));
    expect(taken(announced, never, { chars: 1_000 })).toEqual([1]);
  });

  test('a turn claims no more messages than its bound, for any cap', () => {
    const many = Array.from({ length: COLLECTED_MESSAGES_MAX + 1 }, (_, index) => input(index + 1));
    expect(taken(many)).toHaveLength(COLLECTED_MESSAGES_MAX);
  });

  test('a turn takes a prefix of one route that begins with the oldest (G3)', () => {
    const modes: (QueueMode | null)[] = [null, 'collect', 'followup', 'steer', 'interrupt'];
    const waiting = fc.uniqueArray(
      fc.record({
        seq: fc.integer({ min: 1, max: 40 }),
        kind: fc.constantFrom('message', 'message', 'cron'),
        mode: fc.constantFrom(...modes),
        route: fc.constantFrom('a', 'b'),
      }),
      { selector: ({ seq }) => seq, maxLength: 12 },
    );
    fc.assert(
      fc.property(waiting, (rows) => {
        const inputs = rows.map((row) => ({ ...row, id: `m${row.seq}`, body: {} }));
        const picked = selectInputs(inputs, { room, isReset: never });
        const inOrder = inputs.toSorted((a, b) => a.seq - b.seq);
        expect(picked).toEqual(inOrder.slice(0, picked.length));
        expect(picked.length > 0).toBe(inputs.length > 0);
        expect(new Set(picked.map(({ route }) => route)).size).toBeLessThanOrEqual(1);
      }),
    );
  });
});

describe('selectSteers', () => {
  const joined = (waiting: QueuedInput[], own: Partial<TurnRoom> = {}) =>
    selectSteers(waiting, { route: 'r', room: { ...room, ...own } });
  const joining = (waiting: QueuedInput[], own: Partial<TurnRoom> = {}): number[] =>
    joined(waiting, own).inputs.map(({ seq }) => seq);
  const steer = (seq: number, change: Partial<QueuedInput> = {}): QueuedInput =>
    input(seq, { mode: 'steer', ...change });

  test('messages join a turn in their order, as long as they steer and have its route (G3, G6)', () => {
    expect(joining([steer(2), steer(1, { mode: 'steer-backlog' }), input(3), steer(4)])).toEqual([1, 2]);
    expect(joining([steer(1, { route: 'other' }), steer(2)])).toEqual([]);
  });

  test('at most `cap` messages join together, and the result says that more are left (G5)', () => {
    expect(joining([steer(1), steer(2), steer(3)], { cap: 2 })).toEqual([1, 2]);
    expect(joined([steer(1), steer(2), steer(3)], { cap: 2 }).isCut).toBe(true);
    expect(joined([steer(1)], { cap: 2 }).isCut).toBe(false);
  });

  test('a message that does not fit into the context of the turn waits, and so does what follows it (G3)', () => {
    const waiting = [steer(1, { body: long(700) }), steer(2, { body: long(700) }), steer(3)];
    expect(joined(waiting, { chars: 1_000 })).toEqual({ inputs: waiting.slice(0, 1), isCut: true });
    expect(joining([steer(1, { body: long(5_000) }), steer(2)], { chars: 1_000 })).toEqual([]);
  });
});
