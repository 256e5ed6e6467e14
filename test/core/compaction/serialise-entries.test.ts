import fc from 'fast-check';
import { expect, test } from 'vitest';
import { serialiseEntries } from '../../../src/compaction/serialise-entries.ts';
import { PathBuilder, textOfTokens } from './build-path.ts';

function parsed(text: string): Record<string, unknown>[] {
  return text.split('\n').map((line) => JSON.parse(line) as Record<string, unknown>);
}

test('every item is one JSON object on a separate line, with its author', () => {
  const path = new PathBuilder().prompt('look').call('a\nb', { command: 'ls' }).answer('two files').entries;
  expect(parsed(serialiseEntries(path, 10_000).text)).toEqual([
    { user: 'look' },
    { call: 'exec', input: '{"command":"ls"}' },
    { tool: 'exec', result: 'a\nb' },
    { assistant: 'two files' },
  ]);
});

test('a tool result is cut to 2,000 characters with a note in the middle', () => {
  const { text } = serialiseEntries(new PathBuilder().call('x'.repeat(50_000)).entries, 1_000_000);
  const { result } = parsed(text)[1] as { result: string };
  expect(result.length).toBeLessThan(2_100);
  expect(result).toContain('[... 48000 characters left out ...]');
});

test('items are cut further rather than left out', () => {
  const path = new PathBuilder();
  for (let n = 1; n <= 100; n += 1) path.prompt(textOfTokens(2_000));
  const { text, leftOut } = serialiseEntries(path.entries, 300_000);
  expect(leftOut).toBe(0);
  expect(parsed(text)).toHaveLength(100);
});

test('if the input still does not fit, the oldest items are left out, and a note has their number', () => {
  const path = new PathBuilder();
  for (let n = 1; n <= 100; n += 1) path.prompt(`${n}: ${textOfTokens(2_000)}`);
  const { text, leftOut } = serialiseEntries(path.entries, 50_000);
  const items = parsed(text);
  expect(items[0]).toEqual({ note: `${leftOut} older items were left out` });
  expect(items.at(-1)!['user']).toMatch(/^100: /);
});

test('the text is never longer than its bound, for any entries', () => {
  const step = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 4_000 }).map((text) => (path: PathBuilder) => path.prompt(text)),
    fc.nat(60_000).map((chars) => (path: PathBuilder) => path.call('"\\\n'.repeat(chars / 3))),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), fc.integer({ min: 1_000, max: 100_000 }), (steps, charsMax) => {
      const path = new PathBuilder();
      for (const add of steps) add(path);
      const { text } = serialiseEntries(path.entries, charsMax);
      expect(text.length).toBeLessThanOrEqual(charsMax);
      if (text !== '') parsed(text);
    }),
    { numRuns: 100 },
  );
});
