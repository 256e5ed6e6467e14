// Replacing a passage of a file: what is outside of the matches stays, whatever line ends there
// are.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { replacePassage } from '../../src/tools/rules/replace-passage.ts';
import { decodeText, encodeTextLike } from '../../src/core/text.ts';

const text = fc.string({ unit: fc.constantFrom('a', 'b', '\n', '\r\n', '\r', '😀', '.', '\\', '$&', '[') });

test('without line breaks in the text that is looked for, it replaces as split and join do', () => {
  fc.assert(
    fc.property(text, fc.string({ unit: fc.constantFrom('a', 'b', '.', '$&', '['), minLength: 1 }), (content, from) => {
      const parts = content.split(from);
      expect(replacePassage(content, { from, to: 'c$1' })).toEqual({
        text: parts.join('c$1'),
        count: parts.length - 1,
      });
    }),
  );
});

test('in a file with one kind of line ends, the result is that of the same file with the other kind', () => {
  const lines = fc.string({ unit: fc.constantFrom('a', 'b', '\n'), minLength: 1 });
  fc.assert(
    fc.property(lines, lines, lines, (content, from, to) => {
      const plain = replacePassage(content, { from, to });
      const crlf = replacePassage(content.replaceAll('\n', '\r\n'), { from, to });
      expect(crlf.count).toBe(plain.count);
      // Without any line break the file has no kind.
      if (content.includes('\n')) expect(crlf.text).toBe(plain.text.replaceAll('\n', '\r\n'));
    }),
  );
});

test('a text has the same bytes after it was decoded and encoded again', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.constantFrom('', 'utf8', 'le', 'be'), (content, mark) => {
      const marked = Buffer.from(`\uFEFF${content}`, mark === 'le' || mark === 'be' ? 'utf16le' : 'utf8');
      const bytes = mark === '' ? Buffer.from(content) : mark === 'be' ? marked.swap16() : marked;
      const decoded = decodeText(bytes);
      expect(decoded).not.toBeNull();
      expect(Buffer.from(encodeTextLike(bytes, decoded ?? ''))).toEqual(bytes);
    }),
  );
});
