// Long texts as messages of a platform: nothing is lost, nothing is torn, and what is cut is closed
// and opened again.
import { parseMarkdown, stringifyMarkdown } from 'chat';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { divideText } from '../../../../src/features/channels/send.ts';
import { isCostlyMarkdown, type MarkdownNode } from '../../../../src/features/channels/rules/markdown.ts';
import { splitMarkdown, type MarkdownReader } from '../../../../src/features/channels/rules/split.ts';
import { isFullForm } from '../../../servers/test-form.ts';

const READER: MarkdownReader = {
  parse: (text) => parseMarkdown(text) as unknown as MarkdownNode,
  stringify: (root) => stringifyMarkdown(root as never, { bullet: '-' }),
};

const measure = (text: string) => text.length;
const split = (markdown: string, max: number) => splitMarkdown(markdown, { max, measure }, READER, Infinity) ?? [];

/** The leaves of a text. */
function leavesOf(node: MarkdownNode): MarkdownNode[] {
  return node.children === undefined || node.children.length === 0 ? [node] : node.children.flatMap(leavesOf);
}

const visibleOf = (markdown: string) =>
  leavesOf(READER.parse(markdown))
    .map(({ value = '' }) => value)
    .join('')
    .replaceAll(/\s/g, '');

describe('what is cut is closed, and opened again', () => {
  test.each([
    [
      'a fence, with its language',
      '```ts\nconst a = 1;\nconst b = 2;\nconst c = 3;\n```',
      40,
      ['```ts\nconst a = 1;\nconst b = 2;\n```', '```ts\nconst c = 3;\n```'],
    ],
    ['bold text', '**one two three four five six**', 20, ['**one two three**', '**four five six**']],
    [
      'a list, with its numbers',
      '7. one two three\n8. four five six\n9. seven',
      36,
      ['7. one two three\n8. four five six', '9. seven'],
    ],
    ['a quote', '> one two three\n> four five six', 20, ['> one two three', '> four five six']],
    [
      'a fence in a list',
      '- see\n\n  ```sh\n  first --line\n  second --line\n  ```',
      36,
      ['- see\n\n  ```sh\n  first --line\n  ```', '- ```sh\n  second --line\n  ```'],
    ],
    [
      'a table, with its head',
      '| a | b |\n| - | - |\n| 1 | 2 |\n| 3 | 4 |\n| 5 | 6 |',
      42,
      ['| a | b |\n| - | - |\n| 1 | 2 |\n| 3 | 4 |', '| a | b |\n| - | - |\n| 5 | 6 |'],
    ],
    [
      'a link, only if it fits into no message',
      'see [the long description of it](http://a.b/c) there',
      40,
      ['see', '[the long description of](http://a.b/c)', '[it](http://a.b/c) there'],
    ],
  ])('%s', (_, markdown, max, parts) => {
    expect(split(markdown, max)).toEqual(parts);
  });

  test('a reference keeps its address where its definition is in another part', () => {
    const parts = split('one two three [four][x] five\n\nsix seven eight nine\n\n[x]: http://a.b/c', 40);
    expect(parts).toEqual(['one two three [four](http://a.b/c) five', 'six seven eight nine']);
  });
});

describe('where it is cut', () => {
  test.each([
    [
      'between paragraphs, which stay as they were written',
      'one *two*\nthree\n\nfour __five__\n\nsix',
      30,
      ['one *two*\nthree\n\nfour __five__', 'six'],
    ],
    [
      'not after a heading',
      'one two three four\n\n# Head\n\nfive six seven eight',
      38,
      ['one two three four', '# Head\n\nfive six seven eight'],
    ],
    ['after a sentence', 'One two three. Four five six seven', 26, ['One two three.', 'Four five six seven']],
    ['between words', 'one two three four', 10, ['one two', 'three four']],
    ['between characters that people see as one', '👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧', 17, ['👩‍👩‍👧👩‍👩‍👧', '👩‍👩‍👧']],
    [
      'not between a letter and its accent',
      `${'e\u0301'.repeat(8)}`,
      5,
      ['e\u0301e\u0301', 'e\u0301e\u0301', 'e\u0301e\u0301', 'e\u0301e\u0301'],
    ],
  ])('%s', (_, markdown, max, parts) => {
    expect(split(markdown, max)).toEqual(parts);
  });

  test('a tag at the beginning of a part is text, and so is what follows', () => {
    const text = '> # word longerword word\n> word word word <b>\n> word * word\n> word';
    expect(split(text, 50).map(visibleOf).join('')).toBe(visibleOf(text));
  });

  test('a text that fits stays as it is, whatever it contains', () => {
    expect(split('  **a\n```', 10)).toEqual(['  **a\n```']);
  });
});

const word = fc.constantFrom(
  'word',
  'a',
  'longerword',
  'Satz.',
  'שלום',
  'مرحبا',
  'e\u0301',
  '👩‍👩‍👧',
  '🇩🇪',
  '日本語',
  '&amp;',
  'x_y',
  '1.',
  '#',
  '-',
  '*',
  '<b>',
  'क्षि',
  '😀',
  '\\',
);
const words = fc.array(word, { minLength: 1, maxLength: 6 }).map((all) => all.join(' '));
const inline: fc.Arbitrary<string> = fc.oneof(
  { weight: 4, arbitrary: words },
  words.map((text) => `**${text}**`),
  words.map((text) => `_${text}_`),
  words.map((text) => `~~${text}~~`),
  words.map((text) => `\`${text}\``),
  words.map((text) => `[${text}](http://example.org/a?b=c)`),
  fc.constant('https://example.org/path'),
);
const paragraph = fc.array(inline, { minLength: 1, maxLength: 3 }).map((all) => all.join(' '));
const code = fc.array(words, { minLength: 1, maxLength: 5 });
const block: fc.Arbitrary<string> = fc.oneof(
  { weight: 3, arbitrary: paragraph },
  paragraph.map((text) => `## ${text}`),
  code.map((lines) => `\`\`\`ts\n${lines.join('\n')}\n\`\`\``),
  fc.array(paragraph, { minLength: 1, maxLength: 3 }).map((items) => items.map((item) => `- ${item}`).join('\n')),
  fc
    .array(paragraph, { minLength: 1, maxLength: 3 })
    .map((items) => items.map((item, at) => `${at + 1}. ${item}`).join('\n')),
  code.map((lines) => lines.map((line) => `> ${line}`).join('\n')),
);
const text = fc.array(block, { minLength: 1, maxLength: 4 }).map((all) => all.join('\n\n'));

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

test('random texts: each part is within the limit, joined they are the text, and nothing is torn', () => {
  const max = fc.integer({ min: 50, max: 150 });
  fc.assert(
    fc.property(text, max, (markdown, limit) => {
      const parts = split(markdown, limit);
      for (const part of parts) expect(part.length, part).toBeLessThanOrEqual(limit);
      const visible = visibleOf(markdown);
      const shown = parts.map(visibleOf);
      expect(shown.join('')).toBe(visible);
      const starts = new Set(Array.from(graphemes.segment(visible), ({ index }) => index));
      let at = 0;
      for (const each of shown) {
        expect(at === visible.length || starts.has(at)).toBe(true);
        at += each.length;
      }
      for (const part of parts) {
        expect(part.isWellFormed()).toBe(true);
        expect((part.match(/^[ >-]*`{3,}/gm) ?? []).length % 2).toBe(0);
      }
    }),
    { numRuns: isFullForm() ? 100_000 : 1_000 },
  );
}, 3_600_000);

describe('hostile texts', () => {
  test('any text is divided, and no part is longer than the limit', () => {
    const hostile = fc.string({
      unit: fc.constantFrom(...Array.from('*_~`[]()<>!|#-+\\&;: \n\t1.a"é\u0301\u200d👩')),
      maxLength: 200,
    });
    fc.assert(
      fc.property(hostile, fc.integer({ min: 40, max: 80 }), (markdown, limit) => {
        for (const part of split(markdown, limit)) expect(part.length).toBeLessThanOrEqual(limit);
      }),
      { numRuns: 500 },
    );
  });

  test('a megabyte becomes a file without being parsed', async () => {
    for (const unit of ['word word. ', '>', '_a*', '[', '> - ', '```\n'])
      expect(await divideText(unit.repeat(1_000_000 / unit.length), { max: 4096, measure })).toEqual({ kind: 'file' });
  });

  test.each(['>', '> - ', '_a*', '**a', '*a _b ', '> a\nb\n'])(
    '%j repeated over the length of ten messages is not parsed',
    (unit) => {
      expect(isCostlyMarkdown(unit.repeat(40_000 / unit.length))).toBe(true);
    },
  );

  test('an ordinary text of the length of ten messages is parsed', () => {
    const ordinary =
      'Some **bold** words with a snake_case_name, and `code`.\n\n- an *item*\n  - in an item\n\n```\na_b * c ** d\n```\n\n' +
      `${'-'.repeat(80)}\n${' '.repeat(90)}right\n\n`;
    expect(isCostlyMarkdown(ordinary.repeat(350))).toBe(false);
  });
});

test('more than ten messages become a file', async () => {
  const limit = { max: 20, measure: (shown: string) => shown.replaceAll(/\s/g, '').length };
  const paragraphs = (count: number) => Array.from({ length: count }, (_, at) => `paragraph number ${at}`).join('\n\n');
  const ten = await divideText(paragraphs(10), limit);
  expect(ten.kind === 'parts' ? ten.parts.length : ten).toBe(10);
  expect(await divideText(paragraphs(11), limit)).toEqual({ kind: 'file' });
});
