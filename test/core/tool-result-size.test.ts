import { expect, test } from 'vitest';
import { cutMiddle, shownCharsMax, storedCharsMax, truncateResults } from '../../src/core/content-size.ts';
import type { ModelMessage } from '../../src/core/model-request.ts';

test.each([
  [200_000, 40_000],
  [1_000_000, 40_000],
  [20_000, 24_000],
  [1_000, 2_000],
])('a model with a window of %i tokens is stored results of up to %i characters', (contextTokens, chars) => {
  expect(storedCharsMax(contextTokens)).toBe(chars);
});

test('a request shows no result that fills half of the window', () => {
  expect(shownCharsMax(200_000)).toBeNull();
  expect(shownCharsMax(30_000)).toBe(30_000);
  expect(shownCharsMax(1_000)).toBe(2_000);
});

test('a cut keeps start and end and says how much is missing', () => {
  expect(cutMiddle('abcdefghijkl', 8)).toBe('abcdef\n[... 4 characters left out ...]\nkl');
  expect(cutMiddle('abc', 3)).toBe('abc');
  expect(cutMiddle('abc', 0)).toBe('\n[... 3 characters left out ...]\n');
});

test('results are truncated in every form, and nothing else is changed', () => {
  const plain: ModelMessage = { role: 'user', content: [{ type: 'text', text: 'x'.repeat(50) }] };
  const image = { type: 'image' as const, source: { type: 'base64' as const, media_type: 'image/png', data: 'aGk=' } };
  const long: ModelMessage = {
    role: 'user',
    content: [
      { type: 'tool_result', tool_use_id: 'a', content: 'x'.repeat(12) },
      {
        type: 'tool_result',
        tool_use_id: 'b',
        content: [{ type: 'text', text: 'y'.repeat(8) }, image, { type: 'text', text: 'z'.repeat(8) }],
        is_error: true,
      },
    ],
  };
  const [first, second] = truncateResults([plain, long], 10);
  expect(first).toBe(plain);
  expect(second?.content).toEqual([
    { type: 'tool_result', tool_use_id: 'a', content: 'xxxxxxxxxx[... 2 more characters truncated]' },
    {
      type: 'tool_result',
      tool_use_id: 'b',
      content: [
        { type: 'text', text: 'y'.repeat(8) },
        image,
        { type: 'text', text: 'zz[... 6 more characters truncated]' },
      ],
      is_error: true,
    },
  ]);
});
