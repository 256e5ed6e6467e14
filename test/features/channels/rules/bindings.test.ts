// Which agent gets the messages of a chat.
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  findBinding,
  indexOfRival,
  type BoundPlace,
  type PlacedBinding,
} from '../../../../src/features/channels/rules/bindings.ts';

type Match = PlacedBinding['match'];

const PLACE: BoundPlace = { channel: 'slack', accountId: 'main', team: 'T1', chatId: 'C1', threadId: '17.5' };

const bound = (bindings: { agent: string; match: Match }[], place: BoundPlace = PLACE) =>
  findBinding({ agents: { list: [{ id: 'first' }, { id: 'second' }] }, bindings }, place);

test('without a binding that matches, the first agent gets the messages', () => {
  expect(bound([{ agent: 'second', match: { channel: 'telegram' } }])).toEqual({
    agent: 'first',
    binding: null,
    candidates: [],
  });
});

test('the most specific binding wins: thread, chat, server or workspace, account, channel', () => {
  const levels: Match[] = [
    { channel: 'slack' },
    { channel: 'slack', accountId: 'main' },
    { team: 'T1' },
    { channel: 'slack', team: 'T1' },
    { chatId: 'C1' },
    { chatId: 'C1', accountId: 'main' },
    { threadId: '17.5' },
    { threadId: '17.5', chatId: 'C1', channel: 'slack' },
  ];
  for (const shown of levels.map((_, at) => levels.slice(0, at + 1))) {
    const bindings = shown.map((match, at) => ({ agent: `a${at}`, match }));
    for (const order of [bindings, bindings.toReversed()]) {
      const { agent, binding, candidates } = bound(order);
      expect(agent).toBe(`a${shown.length - 1}`);
      expect(binding?.match).toEqual(shown.at(-1));
      expect(candidates.map((each) => each.agent)).toEqual(bindings.map((each) => each.agent).toReversed());
    }
  }
});

test('every key of a binding has to match, and a place without one does not', () => {
  for (const match of [{ channel: 'slack', chatId: 'C2' }, { channel: 'slack', guild: 'T1' }, { chatId: 'c1' }])
    expect(bound([{ agent: 'second', match }]).binding).toBeNull();
  const { threadId: _, ...chat } = PLACE;
  expect(bound([{ agent: 'second', match: { threadId: '17.5' } }], chat).binding).toBeNull();
});

const value = fc.constantFrom('1', '2');
const match = fc.record<Match>(
  { channel: value, accountId: value, guild: value, team: value, chatId: value, threadId: value },
  { requiredKeys: [] },
);
const bindingsOf = fc.array(fc.record({ agent: value, match }), { maxLength: 12 });

test('without rivals, the agent of a place does not depend on the order of the bindings', () => {
  const place = fc.record({ channel: value, accountId: value, team: value, chatId: value, threadId: value });
  fc.assert(
    fc.property(bindingsOf, place, (all, at) => {
      const bindings = all.filter((_, index) => indexOfRival(all, index) < 0);
      expect(bound(bindings.toReversed(), at).agent).toBe(bound(bindings, at).agent);
    }),
  );
});

test('two bindings are rivals if they ask for the same and name different agents', () => {
  const bindings = [
    { agent: 'first', match: { channel: 'slack', chatId: 'C1' } },
    { agent: 'first', match: { chatId: 'C1', channel: 'slack' } },
    { agent: 'second', match: { chatId: 'C1' } },
    { agent: 'second', match: { chatId: 'C1', channel: 'slack' } },
  ];
  expect(bindings.map((_, at) => indexOfRival(bindings, at))).toEqual([3, 3, -1, 0]);
});
