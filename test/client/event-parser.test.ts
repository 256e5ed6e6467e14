// Goal: the parser of the typed client reads event streams as the standard says, however their
// bytes are cut. Method: streams of all kinds of lines, line ends and characters, cut anywhere,
// against another parser of the format.
import { createParser } from 'eventsource-parser';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createEventParser, type EventBlock } from '../../src/client/event-parser.ts';

const text = fc.string({ unit: fc.constantFrom('a', ' ', ':', 'é', '👍', '\u2028', '0'), maxLength: 5 });
const line = fc.oneof(
  fc
    .tuple(fc.constantFrom('data', 'event', 'id', 'retry', 'other'), fc.constantFrom(':', ': ', ''), text)
    .map((parts) => (parts[1] === '' ? parts[0] : parts.join(''))),
  text.map((said) => `:${said}`),
  fc.constant(''),
);
const lineEnd = fc.constantFrom('\n', '\r\n', '\r');
const stream = fc
  .tuple(
    fc.constantFrom('', '\uFEFF'),
    fc.array(
      fc.tuple(line, lineEnd).map((parts) => parts.join('')),
      { maxLength: 30 },
    ),
  )
  .map(([mark, lines]) => mark + lines.join(''));

function blocksOf(chunks: Uint8Array[]): EventBlock[] {
  const parse = createEventParser();
  return chunks.flatMap((chunk) => parse(chunk));
}

function cut(bytes: Uint8Array, places: number[]): Uint8Array[] {
  const cuts = [0, ...places.map((place) => place % (bytes.length + 1)), bytes.length].toSorted((a, b) => a - b);
  return cuts.slice(1).map((end, at) => bytes.slice(cuts[at], end));
}

test('events come out the same however the bytes are cut', () => {
  fc.assert(
    fc.property(stream, fc.array(fc.nat(), { maxLength: 20 }), (whole, places) => {
      const bytes = new TextEncoder().encode(whole);
      const expected = blocksOf([bytes]);
      expect(blocksOf(cut(bytes, places))).toEqual(expected);
      expect(blocksOf(Array.from(bytes, (byte) => Uint8Array.of(byte)))).toEqual(expected);
    }),
  );
});

test('events are those that another parser of the format reads', () => {
  fc.assert(
    fc.property(stream, (whole) => {
      const expected: { type: string; data: string }[] = [];
      const parser = createParser({
        onEvent: ({ event, data }) => void expected.push({ type: event ?? 'message', data }),
      });
      // The other parser holds a return at the end of its input back: it cannot know whether a
      // newline follows.
      parser.feed(`${whole}\n:\n`);
      const blocks = blocksOf([new TextEncoder().encode(`${whole}\n:\n`)]);
      expect(blocks.filter(({ data }) => data !== null).map(({ type, data }) => ({ type, data }))).toEqual(expected);
    }),
  );
});

test('an id holds until the next one, a block without data moves it, and a cut event does not come out', () => {
  const whole =
    'retry: 1000\n\nid: 9007199254740993\n\n: alive\n\nevent: a\ndata: 1\n\nid: 8\ndata: 2\n\nid: 9\ndata: cut';
  expect(blocksOf([new TextEncoder().encode(whole)])).toEqual([
    { id: '9007199254740993', type: 'message', data: null },
    { id: '9007199254740993', type: 'a', data: '1' },
    { id: '8', type: 'message', data: '2' },
  ]);
});

test('an event that does not end fails when it is longer than 4 MB', () => {
  const lines = new TextEncoder().encode(`data: ${'x'.repeat(1_000_000)}\n`);
  const unended = new TextEncoder().encode('x'.repeat(1_000_000));
  for (const chunk of [lines, unended]) {
    expect(() => blocksOf(Array.from({ length: 5 }, () => chunk))).toThrow('longer than 4194304 characters');
  }
  const small = new TextEncoder().encode(`data: ${'x'.repeat(1_000_000)}\n\n`);
  expect(blocksOf(Array.from({ length: 9 }, () => small))).toHaveLength(9);
});
