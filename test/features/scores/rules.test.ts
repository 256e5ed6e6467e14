// Which reactions are a judgement of an answer, and which texts are numbers.
import { expect, test } from 'vitest';
import { readScoreValue } from '../../../src/contract/scores.ts';
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

test.each([
  ['true', true],
  ['5', 5],
  ['-0.50', -0.5],
  ['1e3', 1000],
  ['0x10', '0x10'],
  ['007', '007'],
  ['+1', '+1'],
  ['.5', '.5'],
  ['1e999', '1e999'],
  [' 5', ' 5'],
])('the value that is written as %j is %j', (said, value) => {
  expect(readScoreValue(said)).toBe(value);
});
