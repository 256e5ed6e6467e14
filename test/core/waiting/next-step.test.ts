import { expect, test } from 'vitest';
import { nextStep } from '../../../src/kernel/rules/why.ts';

test('the step for a budget does not promise that its next window has room', () => {
  expect(nextStep({ code: 'budget_reached', by: null })).toMatch(
    /^Raise the limit.* if the call fits into a whole window/,
  );
});
