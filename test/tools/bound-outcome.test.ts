// Whatever a tool returns, its result is bounded, well-formed and not empty.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { boundOutcome } from '../../src/tools/bound-outcome.ts';
import type { ToolOutcome } from '../../src/tools/tool.ts';
import { contentOf } from './workspace.ts';

// Plugins may be plain JavaScript, so the port's types are no guarantee.
const bound = (outcome: unknown, charsMax?: number) => boundOutcome(outcome as ToolOutcome, charsMax);

test('a result that fits is unchanged', () => {
  const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aGk=' } };
  const outcome = { content: [{ type: 'text', text: 'a' }, image], isError: false };
  expect(bound(outcome)).toEqual(outcome);
  expect(bound({ content: 'a\u0000b', isError: true })).toEqual({ content: 'a\u0000b', isError: true });
});

test('a text that is too long keeps its start and its end and says how much is missing (G28)', () => {
  expect(bound({ content: 'abcdefghijkl', isError: false }, 8).content).toBe(
    'abcdef\n[... 4 characters left out ...]\nkl',
  );
  expect(bound({ content: 'x'.repeat(5_000_000), isError: false }).content.length).toBeLessThan(40_100);
});

test('the request to end the turn is kept', () => {
  expect(bound({ content: 'a', isError: false, endsTurn: true })).toEqual({
    content: 'a',
    isError: false,
    endsTurn: true,
  });
  expect(bound({ content: 'a', isError: false, endsTurn: 'yes' })).toEqual({ content: 'a', isError: false });
});

test('all blocks of a result share one limit', () => {
  const blocks = Array.from({ length: 1_000 }, () => ({ type: 'text', text: 'x'.repeat(1_000_000) }));
  const bounded = bound({ content: blocks, isError: false });
  expect(JSON.stringify(bounded).length).toBeLessThan(50_000);
});

test('an image that the provider would refuse becomes a note', () => {
  const image = (media_type: string, data: string) => ({ type: 'image', source: { type: 'base64', media_type, data } });
  const note = [{ type: 'text', text: '[a part that cannot be shown was left out]' }];
  expect(bound({ content: [image('image/tiff', 'aGk=')], isError: false }).content).toEqual(note);
  expect(bound({ content: [image('image/png', 'x'.repeat(8_000_000))], isError: false }).content).toEqual(note);
});

describe('a result of the wrong shape is an error result', () => {
  test.each([[undefined], [null], ['text'], [{}], [{ content: 3 }], [{ content: { text: 'a' } }]])('%j', (outcome) => {
    expect(bound(outcome).isError).toBe(true);
    expect(bound(outcome).content).toEqual(expect.any(String));
  });
});

test('no result is blank (G12)', () => {
  for (const content of ['', ' \n', [], [{ type: 'text', text: ' ' }]]) {
    expect(JSON.stringify(bound({ content, isError: false }))).toContain('(empty)');
  }
});

test('lone surrogates, also those at a cut, are replaced', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom('a', 'é', '\ud83d', '\ude00'), maxLength: 40 }),
      fc.integer({ min: 1, max: 20 }),
      (text, charsMax) => {
        expect(contentOf(bound({ content: text, isError: false }, charsMax)).isWellFormed()).toBe(true);
      },
    ),
  );
  expect(bound({ content: 'a\ud800b', isError: false }).content).toBe('a\ufffdb');
});
