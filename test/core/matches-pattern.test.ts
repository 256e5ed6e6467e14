import fc from 'fast-check';
import { expect, test } from 'vitest';
import { matchesPattern } from '../../src/core/text.ts';

test('a star matches any text, and every other character itself', () => {
  const anyName = fc.string({ unit: fc.constantFrom('a', 'b', '.', '\n'), maxLength: 8 });
  const anyPattern = fc.string({ unit: fc.constantFrom('a', 'b', '.', '*'), maxLength: 6 });
  fc.assert(
    fc.property(anyName, anyPattern, (name, pattern) => {
      const literals = pattern.split('*').map((literal) => literal.replaceAll('.', String.raw`\.`));
      expect(matchesPattern(name, pattern)).toBe(new RegExp(`^${literals.join('.*')}$`, 's').test(name));
    }),
    { numRuns: 1000 },
  );
});
