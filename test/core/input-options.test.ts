// The options of inputs: what is taken over, and when two inputs have the same.
import { expect, test } from 'vitest';
import { inheritOptions, keyOfOptions, optionsOfInputs } from '../../src/core/input-options.ts';

const numbered = (from: number, count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`key${from + n}`, String(from + n)]));

test('what is started has the tags of both, its own first, and at most 16', () => {
  const outer = { tags: { ...numbered(0, 14), kind: 'outer' } };
  const own = { tags: { ...numbered(100, 3), kind: 'own' } };
  const { tags = {} } = inheritOptions(outer, own);
  expect(Object.keys(tags)).toHaveLength(16);
  expect(tags).toMatchObject(own.tags);
  expect(inheritOptions(outer, {})).toEqual(outer);
  expect(inheritOptions({}, own)).toEqual(own);
});

test('options with equal tags in another order are the same, others are not', () => {
  expect(keyOfOptions({ tags: { a: '1', b: '2' } })).toBe(keyOfOptions({ tags: { b: '2', a: '1' } }));
  const keys = [{}, { tags: { a: '1' } }, { tags: { a: '2' } }, { tools: {} }, { tools: { deny: ['a'] } }].map(
    keyOfOptions,
  );
  expect(new Set(keys).size).toBe(keys.length);
});

test('announcements of different options that share a turn have all of their tags and the tools of each', () => {
  const inputs = [
    { body: { options: { tools: { allow: ['read', 'exec'] }, tags: { a: '1' } } } },
    { body: { options: { tools: { deny: ['exec'] }, tags: { b: '2' } } } },
  ];
  expect(optionsOfInputs(inputs)).toEqual({
    tools: { allow: ['read', 'exec'], deny: ['exec'] },
    tags: { a: '1', b: '2' },
  });
});
