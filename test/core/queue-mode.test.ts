// Which mode is in force, and which of the waiting inputs a turn takes.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  COLLECTED_MESSAGES_MAX,
  parseQueueMode,
  resolveQueueMode,
  selectInputs,
  type QueueMode,
  type WaitingInput,
} from '../../src/core/queue-mode.ts';

describe('resolveQueueMode', () => {
  const all = {
    inline: 'steer',
    session: 'followup',
    channel: 'slack',
    byChannel: { slack: 'interrupt' },
    global: 'reject',
  } as const;

  test('the message decides, then the session, the channel, the configuration, and last collect', () => {
    expect(resolveQueueMode(all)).toBe('steer');
    expect(resolveQueueMode({ ...all, inline: null })).toBe('followup');
    expect(resolveQueueMode({ ...all, inline: null, session: null })).toBe('interrupt');
    expect(resolveQueueMode({ ...all, inline: null, session: null, channel: 'api' })).toBe('reject');
    expect(resolveQueueMode({})).toBe('collect');
  });

  test('a channel named like a property of every object sets nothing', () => {
    expect(resolveQueueMode({ channel: 'constructor', byChannel: {} })).toBe('collect');
  });
});

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

const input = (seq: number, change: Partial<WaitingInput> = {}): WaitingInput => ({
  id: `m${seq}`,
  seq,
  kind: 'message',
  mode: null,
  route: 'r',
  ...change,
});
const taken = (waiting: WaitingInput[], sources = {}): number[] => selectInputs(waiting, sources).map(({ seq }) => seq);

describe('selectInputs', () => {
  test('collect takes all messages of one route', () => {
    expect(taken([input(1), input(2), input(3)])).toEqual([1, 2, 3]);
  });

  test('followup takes one', () => {
    expect(taken([input(1), input(2)], { global: 'followup' })).toEqual([1]);
    expect(taken([input(1, { mode: 'followup' }), input(2)])).toEqual([1]);
  });

  test('another route or another mode ends the batch (G6)', () => {
    expect(taken([input(1), input(2, { route: 'other' }), input(3)])).toEqual([1]);
    expect(taken([input(1), input(2, { mode: 'interrupt' }), input(3)])).toEqual([1]);
  });

  test('other kinds go alone, and nothing overtakes them', () => {
    expect(taken([input(1, { kind: 'cron' }), input(2)])).toEqual([1]);
    expect(taken([input(1), input(2, { kind: 'announcement' }), input(3)])).toEqual([1]);
  });

  test('a turn takes no more than its bound', () => {
    const many = Array.from({ length: 200 }, (_, index) => input(index + 1));
    expect(taken(many)).toHaveLength(COLLECTED_MESSAGES_MAX);
  });

  test('what is taken is a prefix of one route that begins with the oldest (G3)', () => {
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
        const inputs = rows.map((row) => ({ ...row, id: `m${row.seq}` }));
        const picked = selectInputs(inputs, {});
        const inOrder = inputs.toSorted((a, b) => a.seq - b.seq);
        expect(picked).toEqual(inOrder.slice(0, picked.length));
        expect(picked.length > 0).toBe(inputs.length > 0);
        expect(new Set(picked.map(({ route }) => route)).size).toBeLessThanOrEqual(1);
      }),
    );
  });
});
