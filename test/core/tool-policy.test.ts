// Policies of tools, and two of them as one.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isToolAllowed, narrowPolicy, type ToolPolicy } from '../../src/core/tool-policy.ts';

const names = ['a', 'ab', 'abc', 'b', 'bc', 'c'];
const pattern = fc.constantFrom('*', 'a*', '*c', 'ab*', '*b*', ...names);
const policy = fc.record(
  { allow: fc.array(pattern, { maxLength: 3 }), deny: fc.array(pattern, { maxLength: 2 }) },
  { requiredKeys: [] },
) as fc.Arbitrary<ToolPolicy>;

const allowed = (name: string, by: ToolPolicy): boolean => isToolAllowed({ name, isReadOnly: false }, by);

test('two policies as one let through nothing that one of them refuses', () => {
  fc.assert(
    fc.property(policy, policy, (outer, inner) => {
      const both = narrowPolicy(outer, inner);
      for (const name of names) {
        if (allowed(name, both)) expect(allowed(name, outer) && allowed(name, inner), name).toBe(true);
      }
    }),
  );
});

test('two policies whose names contain no wildcard, or only in one of them, let through all that both do', () => {
  const plain = fc.record(
    { allow: fc.array(fc.constantFrom(...names), { maxLength: 3 }), deny: fc.array(pattern, { maxLength: 2 }) },
    { requiredKeys: [] },
  ) as fc.Arbitrary<ToolPolicy>;
  fc.assert(
    fc.property(plain, policy, (outer, inner) => {
      for (const name of names) {
        const both = allowed(name, outer) && allowed(name, inner);
        expect(allowed(name, narrowPolicy(outer, inner)), name).toBe(both);
        expect(allowed(name, narrowPolicy(inner, outer)), name).toBe(both);
      }
    }),
  );
});

test('a policy for reading lets through only tools that read', () => {
  const reading: ToolPolicy = { readOnly: true };
  expect(isToolAllowed({ name: 'read', isReadOnly: true }, reading)).toBe(true);
  expect(isToolAllowed({ name: 'write', isReadOnly: false }, reading)).toBe(false);
});
