// Which reactions are a judgement of an answer.
import { expect, test } from 'vitest';
import { scoreOfEmoji } from '../../../src/features/scores/rules.ts';

test.each([
  ['👍', 1],
  ['👍🏽', 1],
  ['👎', -1],
  ['👎🏿', -1],
  ['👍️', 1],
  ['❤', null],
  ['🎉', null],
  ['custom:5', null],
  ['', null],
])('the reaction %j stands for the score %j', (emoji, score) => {
  expect(scoreOfEmoji(emoji)).toBe(score);
});
