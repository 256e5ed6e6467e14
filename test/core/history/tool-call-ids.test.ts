// Names of tool calls as each family takes them.
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { giveCallId, isCallId, type CallIdForm } from '../../../src/history/provider-family.ts';

const given = (form: CallIdForm, ...ids: string[]): string[] => {
  const used = new Set<string>();
  return ids.map((id) => giveCallId(id, form, used));
};

test('a name that is fine stays', () => {
  expect(given('native', 'toolu_01-a')).toEqual(['toolu_01-a']);
  expect(given('strict', 'toolu01')).toEqual(['toolu01']);
  expect(given('strict9', 'abcdefghi')).toEqual(['abcdefghi']);
});

test('foreign letters go, and a second name of the kind becomes another', () => {
  expect(given('strict', 'toolu_01', 'toolu01', 'toolu-01')).toEqual(['toolu01', 'toolu012', 'toolu013']);
  expect(given('native', 'a b', 'ab')).toEqual(['ab', 'ab_2']);
  expect(given('native', '??')).toEqual(['call']);
});

test.each<[CallIdForm, number]>([
  ['native', 200],
  ['native40', 40],
  ['strict', 40],
  ['strict9', 9],
])('any names become names of form %s, each once, the same in every request', (form, charsMax) => {
  fc.assert(
    fc.property(fc.array(fc.oneof(fc.string(), fc.constantFrom('toolu_1', 'toolu_1', 'x'.repeat(300)))), (ids) => {
      const names = given(form, ...ids);
      expect(new Set(names).size).toBe(names.length);
      expect(names.every((name) => isCallId(name, form) && name.length <= charsMax)).toBe(true);
      expect(given(form, ...ids)).toEqual(names);
      expect(given(form, ...names)).toEqual(names);
    }),
    { numRuns: 200 },
  );
});
