import fc from 'fast-check';
import { expect, test } from 'vitest';
import { cutPiece } from '../../src/core/text.ts';
import { cutBlock, readPartText } from '../../src/core/entry.ts';
import { beginningOf, keptCharsOf, shortened } from '../../web/src/format/long-text.ts';

const href = '/parts/1';

test('a part that is short enough stays as it is', () => {
  const block = { type: 'text', text: 'short' };
  expect(cutBlock(block, 5, href)).toBe(block);
});

test.each([
  [{ type: 'text', text: 'abcdef' }, { text: 'abc' }],
  [
    { type: 'thinking', thinking: 'abcdef', signature: 's' },
    { thinking: 'abc', signature: 's' },
  ],
  [
    { type: 'tool_result', tool_use_id: 't', content: 'abcdef' },
    { content: 'abc', tool_use_id: 't' },
  ],
  [
    { type: 'tool_use', id: 't', name: 'n', input: { a: 123 } },
    { input: '{"a', id: 't', name: 'n' },
  ],
  [{ type: 'image', source: { type: 'base64', data: 'abcdef' } }, { source: { type: 'base64', data: '' } }],
])('a long part %j is cut and says where the rest is', (block, cut) => {
  const shownChars = block.type === 'image' ? 0 : 3;
  const omittedChars = readPartText(block).length - shownChars;
  expect(cutBlock(block, 3, href)).toMatchObject({ ...cut, type: block.type, omittedChars, href });
});

test('the texts of a result are one text, and its long images lose their bytes', () => {
  const image = { type: 'image', source: { type: 'base64', data: 'x'.repeat(100) } };
  const block = { type: 'tool_result', content: [{ type: 'text', text: 'abc' }, image, { type: 'text', text: 'def' }] };
  expect(readPartText(block)).toBe('abc\ndef');
  expect(cutBlock(block, 4, href)).toMatchObject({
    content: [{ text: 'abc\n' }, { type: 'image', source: { data: '' }, omittedChars: 100 }],
    omittedChars: 3,
    href,
  });
});

test('pieces that follow each other make the whole text and tear no surrogate pair', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.integer({ min: 1, max: 7 }), (text, length) => {
      const pieces = [];
      for (let offset = 0; offset < text.length; offset += length) pieces.push(cutPiece(text, offset, length));
      expect(pieces.join('')).toBe(text);
      for (const piece of pieces) expect(piece.isWellFormed()).toBe(true);
    }),
  );
});

test('the dashboard reads the rest of a cut part from where its entry ends, and the pieces make the whole text', () => {
  const withText = fc
    .string({ unit: 'binary', minLength: 1 })
    .chain((text) =>
      fc.constantFrom(
        { type: 'text', text },
        { type: 'thinking', thinking: text, signature: 's' },
        { type: 'redacted_thinking', data: text },
        { type: 'tool_use', id: 't', name: 'n', input: { text } },
        { type: 'tool_result', tool_use_id: 't', content: text },
        { type: 'tool_result', tool_use_id: 't', content: [{ type: 'text', text }] },
        { type: 'image', source: { type: 'base64', data: text } },
      ),
    );
  const sizes = fc.integer({ min: 1, max: 7 });
  fc.assert(
    fc.property(withText, sizes, sizes, (block, charsMax, length) => {
      const cut = cutBlock(block, charsMax, href);
      if (cut === block) return;
      const whole = readPartText(block);
      const start = keptCharsOf({ ...cut, type: block.type });
      expect(start).toBe(whole.length - Number(cut['omittedChars']));
      const pieces = [whole.slice(0, start)];
      for (let read = start; read < whole.length; read = pieces.join('').length)
        pieces.push(cutPiece(whole, read, length));
      expect(pieces.join('')).toBe(whole);
      for (const piece of pieces) expect(piece.isWellFormed()).toBe(true);
    }),
  );
});

test('the beginning of a text that the dashboard shows tears no surrogate pair', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.integer({ min: 0, max: 7 }), (text, chars) => {
      const beginning = beginningOf(text, chars);
      expect(text.startsWith(beginning) && beginning.isWellFormed()).toBe(true);
      expect([chars, chars + 1, text.length]).toContain(beginning.length);
      expect(shortened(text, chars)).toBe(beginning === text ? text : `${beginning}…`);
    }),
  );
});
