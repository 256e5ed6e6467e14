import { expect, test } from 'vitest';
import { acceptsImages } from '../../../src/images/rules/plan-images.ts';

test.each([
  ['anthropic/claude-sonnet-5-5', true],
  ['anthropic/claude-2.1', false],
  ['anthropic/claude-2', false],
  ['anthropic/old-model-text', false],
  ['anthropic/old-text', true],
  ['other/claude-2', true],
  ['anthropic/exact', false],
  ['anthropic/exactly', true],
])('%s takes images: %s', (model, expected) => {
  expect(acceptsImages(model, ['anthropic/claude-2*', 'anthropic/old-*-text', 'anthropic/exact'])).toBe(expected);
});
