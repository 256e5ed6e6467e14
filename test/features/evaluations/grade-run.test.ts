// The graders that need a validator, or a limit of time.
import { expect, test } from 'vitest';
import { gradeRun } from '../../../src/features/evaluations/grade-run.ts';

const OF = { expected: null, calls: [] };
const saying = (reply: string, output: unknown = null) => ({
  status: 'answered' as const,
  reply,
  output,
  calls: [],
  costMicros: null,
  ms: null,
});

test.each([
  ['a match somewhere', 'b+', undefined, 'abbc', true],
  ['no match', '^b', undefined, 'abbc', false],
  ['a flag', 'B', 'i', 'abbc', true],
  ['lines', '^c$', 'm', 'ab\nc', true],
  ['an empty reply', '^$', undefined, '', true],
])('a pattern: %s', async (_case, pattern, flags, reply, pass) => {
  const grader = { type: 'regex' as const, pattern, ...(flags === undefined ? {} : { flags }) };
  expect(await gradeRun(grader, saying(reply), OF)).toMatchObject({ pass, score: Number(pass) });
});

test('a pattern that would run for ever is cut off, and has not decided', async () => {
  const grade = await gradeRun({ type: 'regex', pattern: '^(a+)+$' }, saying(`${'a'.repeat(60)}!`), OF);
  expect(grade).toEqual({ name: 'regex', pass: null, score: null, reason: 'The pattern took more than 100 ms.' });
});

test('a pattern that was cut off twice is not tried again for other runs', async () => {
  const grader = { type: 'regex' as const, pattern: '^(a+)+$' };
  const slow = saying(`${'a'.repeat(60)}!`);
  await gradeRun(grader, slow, OF);
  expect(await gradeRun(grader, saying('aa'), OF)).toMatchObject({ pass: true });
  await gradeRun(grader, slow, OF);
  expect(await gradeRun(grader, saying('aa'), OF)).toEqual({
    name: 'regex',
    pass: null,
    score: null,
    reason: 'The pattern was not tried: it took more than 100 ms for other runs.',
  });
});

test('a pattern that its flags make wrong has not decided', async () => {
  const grade = await gradeRun({ type: 'regex', pattern: '\\-', flags: 'u' }, saying('a-b'), OF);
  expect(grade).toMatchObject({ pass: null, score: null });
  expect(grade.reason).toContain('The pattern was refused: SyntaxError: Invalid regular expression');
});

test('a reply of millions of characters is searched up to a bound', async () => {
  const grader = { type: 'regex' as const, pattern: 'z' };
  expect(await gradeRun(grader, saying(`${'a'.repeat(999_999)}z`), OF)).toMatchObject({ pass: true });
  expect(await gradeRun(grader, saying(`${'a'.repeat(1_000_000)}z`), OF)).toMatchObject({ pass: false });
});

const SCHEMA = {
  type: 'object',
  properties: { city: { type: 'string' }, id: { type: 'integer' } },
  required: ['city'],
  additionalProperties: false,
};

test.each([
  ['JSON that fits', '{"city": "Berlin"}', null, true],
  ['JSON in a fence', '```json\n{"city": "Berlin"}\n```', null, true],
  ['an integer with more digits than a number holds', '{"city": "B", "id": 12345678901234567890}', null, true],
  ['the structured reply', 'cut', { city: 'Berlin' }, true],
  ['a structured reply that does not fit', '{"city": "Berlin"}', { town: 'Berlin' }, false],
  ['another type', '{"city": 1}', null, false],
  ['JSON that is no object', '"Berlin"', null, false],
  ['JSON that would need a repair', '{city: "Berlin"}', null, false],
  ['a sentence around it', 'Here: {"city": "Berlin"}', null, false],
  ['nothing', '', null, false],
])('a schema: %s', async (_case, reply, output, pass) => {
  const grade = await gradeRun({ type: 'json', schema: SCHEMA }, saying(reply, output), OF);
  expect(grade).toMatchObject({ pass, score: Number(pass) });
});

test('the reason says how a reply does not fit its schema', async () => {
  const grade = await gradeRun({ type: 'json', schema: SCHEMA }, saying('{"city": 1}'), OF);
  expect(grade.reason).toBe('It does not fit the schema: /city must be string.');
});
