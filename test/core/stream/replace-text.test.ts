import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  createReplacer,
  replacingAll,
  type Replacement,
  createRequestTransform,
} from '../../../src/model/stream/replace-text.ts';

const WORDS: Replacement[] = [
  { from: 'Open', to: 'Closed' },
  { from: 'OpenDoor', to: 'never' },
  { from: 'a.b', to: '$&' },
  { from: '🙂', to: ':)' },
];

test('of two matches at one place the first is used, and the replacement is not searched again', () => {
  expect(replacingAll(WORDS)('OpenDoor a.b aXb 🙂')).toBe('ClosedDoor $& aXb :)');
  expect(
    replacingAll([
      { from: 'a', to: 'b' },
      { from: 'b', to: 'c' },
    ])('ab'),
  ).toBe('bc');
});

test('a text in pieces becomes the same as the whole text', () => {
  const anyUnit = fc.constantFrom('a', 'b', 'ab', 'ba', '\ud83d', '\ude42');
  const anyReplacement = fc.record({
    from: fc.string({ unit: anyUnit, minLength: 1, maxLength: 4 }),
    to: fc.string({ maxLength: 3 }),
  });
  fc.assert(
    fc.property(
      fc.array(anyReplacement, { minLength: 1, maxLength: 4 }),
      fc.array(fc.string({ unit: anyUnit, maxLength: 5 }), { maxLength: 8 }),
      (replacements, pieces) => {
        const replacer = createReplacer(replacements);
        const made = pieces.map((piece) => replacer.push(piece)).join('') + replacer.end();
        expect(made).toBe(replacingAll(replacements)(pieces.join('')));
      },
    ),
    { numRuns: 1000 },
  );
});

test('only text that may be the beginning of a match is held back', () => {
  const replacer = createReplacer(WORDS);
  expect(replacer.push('hello Ope')).toBe('hello ');
  expect(replacer.push('ra')).toBe('Oper');
  expect(replacer.push('.')).toBe('');
  expect(replacer.end()).toBe('a.');
});

describe('a request', () => {
  const transform = createRequestTransform([
    { from: 'Holdfast', to: 'the product' },
    { from: 'gone', to: '' },
  ]);

  test('is applied to the texts of both roles, the system prompt and results, and to nothing else', () => {
    const made = transform({
      system: [{ type: 'text', text: 'Holdfast runs you.', cache_control: { type: 'ephemeral' } }],
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'What is Holdfast?' }] },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'Holdfast', signature: 's' },
            { type: 'tool_use', id: 'a', name: 'read', input: { path: 'Holdfast' } },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'a', content: 'Holdfast' },
            { type: 'tool_result', tool_use_id: 'b', content: [{ type: 'text', text: 'gone' }] },
          ],
        },
      ],
    });
    expect(made.system[0]?.text).toBe('the product runs you.');
    expect(made.messages).toMatchObject([
      { content: [{ text: 'What is the product?' }] },
      { content: [{ thinking: 'Holdfast' }, { input: { path: 'Holdfast' } }] },
      { content: [{ content: 'the product' }, { content: [{ text: '(empty)' }] }] },
    ]);
  });

  test('with nothing to replace keeps its messages', () => {
    const plain = { role: 'user' as const, content: [{ type: 'text' as const, text: 'hello' }] };
    const named = { role: 'user' as const, content: [{ type: 'text' as const, text: 'Holdfast' }] };
    const { messages } = transform({ system: [], messages: [plain, named] });
    expect(messages[0]).toBe(plain);
    expect(messages[1]).not.toBe(named);
  });
});
