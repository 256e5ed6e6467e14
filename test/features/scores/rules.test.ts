// Which reactions are a judgement of an answer.
import { expect, test } from 'vitest';
import { thumbOfEmoji } from '../../../src/features/scores/rules.ts';

test.each([
  ['👍', true],
  ['👍🏽', true],
  ['👎', false],
  ['👎🏿', false],
  ['👍️', true],
  ['❤', null],
  ['🎉', null],
  ['custom:5', null],
  ['', null],
])('the reaction %j is the thumb %j', (emoji, thumb) => {
  expect(thumbOfEmoji(emoji)).toBe(thumb);
});
