// How a memory is cut into searchable chunks.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { chunkMarkdown, searchText } from '../../../../src/features/memory/rules.ts';

const LIMITS = { charsMax: 60, chunksMax: 1000 };

test('a section is a chunk that knows its lines and the headings above it', () => {
  const text = ['# Projects', '## Holdfast', 'Uses Postgres.', '', '# People', 'Anna likes tea.'].join('\n');
  expect(chunkMarkdown(text, LIMITS)).toEqual([
    { firstLine: 1, lastLine: 1, headings: '', text: '# Projects' },
    { firstLine: 2, lastLine: 3, headings: 'Projects', text: '## Holdfast\nUses Postgres.' },
    { firstLine: 5, lastLine: 6, headings: '', text: '# People\nAnna likes tea.' },
  ]);
});

test('a section that is too long continues in chunks that have its heading', () => {
  const chunks = chunkMarkdown(`# Long\n${'word '.repeat(8)}\n${'more '.repeat(8)}`, LIMITS);
  expect(chunks.map(({ headings, firstLine }) => [headings, firstLine])).toEqual([
    ['', 1],
    ['Long', 3],
  ]);
});

test('a number sign in code is no heading', () => {
  const chunks = chunkMarkdown('# A\n```sh\n# comment\n```\nend', LIMITS);
  expect(chunks).toHaveLength(1);
});

describe('for any text', () => {
  const line = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 100 }),
    fc.constantFrom('', '# a', '## b', '```', '~~~', '- item'),
  );

  test('every line is found in its chunk, in order, and no chunk is too long', () => {
    fc.assert(
      fc.property(fc.array(line, { maxLength: 30 }), (lines) => {
        const content = lines.join('\n');
        const chunks = chunkMarkdown(content, LIMITS);
        const numbered = content.split(/\r\n|\r|\n/);
        let last = 0;
        for (const { firstLine, lastLine, text } of chunks) {
          expect(text.length).toBeLessThanOrEqual(LIMITS.charsMax);
          expect(firstLine).toBeGreaterThanOrEqual(last);
          expect(lastLine).toBeGreaterThanOrEqual(firstLine);
          last = lastLine;
        }
        for (const [index, each] of numbered.entries()) {
          if (each.trim() === '' || each.length > LIMITS.charsMax) continue;
          const holding = chunks.filter(({ firstLine, lastLine }) => firstLine <= index + 1 && index + 1 <= lastLine);
          expect(holding.some(({ text }) => text.includes(each.trimEnd()))).toBe(true);
        }
      }),
    );
  });

  test('there are no more chunks than allowed', () => {
    const content = Array.from({ length: 50 }, (_, index) => `# ${index}`).join('\n');
    expect(chunkMarkdown(content, { charsMax: 60, chunksMax: 7 })).toHaveLength(7);
  });
});

test.each([
  ['Café Ñandú', 'cafe nandu'],
  ['ﬁle ＡＢＣ', 'file abc'],
  ['हिन्दी', 'हिन्दी'],
])('%s is searched as %s', (text, expected) => {
  expect(searchText(text)).toBe(expected);
});

test('the words of scripts that write no blanks are searched one by one', () => {
  const words = searchText('我们决定明天去东京').split(' ');
  expect(words).toContain('决定');
  expect(words).toContain('东京');
});
