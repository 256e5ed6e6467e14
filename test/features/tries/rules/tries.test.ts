// What a try asks, and what its tool calls are answered with.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { buildTry, listRecorded, matchCalls } from '../../../../src/features/tries/rules.ts';
import { processorMsOf } from '../../../servers/busy-machine.ts';

const OF = { of: 'turn', tag: 'turn' };

test('a try keeps who said what, and no address, platform id or time of it', () => {
  const sent = {
    text: 'Hi',
    channel: 'telegram',
    sender: { id: '4' },
    messageId: '7',
    deliver: { url: 'http://x' },
    priority: 3,
    deliverAt: 5,
  };
  expect(buildTry([sent], { model: 'a/b' }, OF)).toEqual({
    text: 'Hi',
    channel: 'telegram',
    sender: { id: '4' },
    model: 'a/b',
    deliver: null,
    options: { tags: { try: 'turn' } },
    tryOf: 'turn',
  });
});

test('several messages become one, and a given text replaces them all', () => {
  const bodies = [{ text: 'one' }, { text: 'two', options: { tags: { customer: '4' } } }];
  expect(buildTry(bodies, {}, OF)).toMatchObject({
    text: 'one\n\ntwo',
    options: { tags: { customer: '4', try: 'turn' } },
  });
  expect(buildTry(bodies, { text: 'three', systemPrompt: 'p' }, OF)).toMatchObject({
    text: 'three',
    systemPrompt: 'p',
  });
});

test('calls without results are not recorded', () => {
  const use = (id: string) => ({ type: 'tool_use' as const, id, name: 'exec', input: { command: id } });
  const entries = [
    { content: [use('a'), use('b')] },
    { content: [{ type: 'tool_result' as const, tool_use_id: 'b', content: 'B' }] },
  ];
  expect(listRecorded(entries).map(({ input }) => input)).toEqual([{ command: 'b' }]);
});

const call = fc.record({ name: fc.constantFrom('a', 'b'), input: fc.record({ x: fc.nat(1), y: fc.nat(1) }) });
const flipped = (one: { name: string; input: { x: number; y: number } }) => ({
  name: one.name,
  input: { y: one.input.y, x: one.input.x },
});

test('the same calls again get all recorded results in order, wherever an answer ends and however arguments are ordered', () => {
  fc.assert(
    fc.property(fc.array(call, { maxLength: 12 }), fc.nat(12), (calls, cut) => {
      const recorded = calls.map((one, n) => ({ ...one, result: { content: String(n) } }));
      const again = calls.map(flipped);
      const found = matchCalls(recorded, again.slice(0, cut), again.slice(cut));
      expect(found).toEqual(recorded.slice(cut));
    }),
  );
});

test('no recorded result is given twice, and none to another call', () => {
  fc.assert(
    fc.property(fc.array(call, { maxLength: 8 }), fc.array(call, { maxLength: 8 }), (made, calls) => {
      const recorded = made.map((one, n) => ({ ...one, result: { content: String(n) } }));
      const found = matchCalls(recorded, [], calls);
      const given = found.filter((one) => one !== null);
      expect(new Set(given).size).toBe(given.length);
      found.forEach((one, at) => one === null || expect({ name: one.name, input: one.input }).toEqual(calls[at]));
    }),
  );
});

test('3,000 long calls are matched within a second of a processor', () => {
  const calls = Array.from({ length: 3_000 }, (_, at) => ({ name: 'a', input: { text: 'x'.repeat(1_000), at } }));
  const recorded = calls.map((one, n) => ({ ...one, result: { content: String(n) } }));
  expect(processorMsOf(() => matchCalls(recorded, calls.slice(0, 2_000), calls.slice(2_000)))).toBeLessThan(1_000);
});
