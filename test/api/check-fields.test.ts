// What a client reads about an integer beyond 2^53 in a body: that it is a number, its digits, and
// what is allowed.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { checkFields } from '../../src/api/parse-json.ts';
import { parseKeepingIntegers } from '../../src/core/json.ts';
import { useApiRig } from './use-api-rig.ts';

const holder = useApiRig();
const INTEGER = '12345678901234567890';

const schema = z.strictObject({
  text: z.string().exactOptional(),
  count: z.int().min(1).max(100).exactOptional(),
  whole: z.int().exactOptional(),
  dollars: z.number().exactOptional(),
  weights: z.record(z.string(), z.number()).exactOptional(),
  isOn: z.boolean().exactOptional(),
  mode: z.enum(['a', 'b']).exactOptional(),
  list: z.array(z.string()).exactOptional(),
  fields: z.strictObject({ a: z.string() }).exactOptional(),
  loose: z.looseObject({}).exactOptional(),
  names: z.record(z.string(), z.string()).exactOptional(),
  either: z.union([z.string(), z.array(z.string())]).exactOptional(),
  any: z.unknown().optional(),
});

const check = (text: string) => checkFields(schema, parseKeepingIntegers(text));

describe('an integer beyond 2^53', () => {
  test.each([
    ['text', 'Invalid input: expected string'],
    ['count', 'Too big: expected number to be <=100'],
    ['whole', 'Too big: expected int to be <=9007199254740991'],
    ['dollars', 'Out of range: expected an integer from -9007199254740991 to 9007199254740991'],
    ['isOn', 'Invalid input: expected boolean'],
    ['mode', 'Invalid option: expected one of "a"|"b"'],
    ['list', 'Invalid input: expected array'],
    ['fields', 'Invalid input: expected object'],
    ['loose', 'Invalid input: expected object'],
    ['names', 'Invalid input: expected record'],
    ['either', 'Invalid input'],
  ])('is refused in the field %s as a number, with its digits', (path, message) => {
    expect(check(`{"${path}":${INTEGER}}`)).toEqual({
      isValid: false,
      errors: [{ path, message: `${message}, received number ${INTEGER}` }],
    });
  });

  test.each([
    [`{"count":-${INTEGER}}`, 'count', `Too small: expected number to be >=1, received number -${INTEGER}`],
    [`{"list":["a",${INTEGER}]}`, 'list[1]', `Invalid input: expected string, received number ${INTEGER}`],
    [`{"weights":{"a":1.5,"b":${INTEGER}}}`, 'weights.b', /^Out of range: .*, received number 12345678901234567890$/],
    [`{"text":${'9'.repeat(400)}}`, 'text', `Invalid input: expected string, received number ${'9'.repeat(40)}…`],
    [
      `{"count":${'9'.repeat(400)}}`,
      'count',
      `Too big: expected number to be <=100, received number ${'9'.repeat(40)}…`,
    ],
    [`{"other":${INTEGER}}`, 'other', 'unknown field'],
    [`{"any":${INTEGER},"text":1}`, 'text', 'Invalid input: expected string, received number'],
    [`{"either":[${INTEGER}]}`, 'either[0]', `Invalid input: expected string, received number ${INTEGER}`],
    [INTEGER, '', `Invalid input: expected object, received number ${INTEGER}`],
  ])('in %s is named with its path', (text, path, message) => {
    const expected = typeof message === 'string' ? message : expect.stringMatching(message);
    expect(check(text)).toEqual({ isValid: false, errors: [{ path, message: expected }] });
  });

  test('keeps its digits where any value is allowed, and changes no other value', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.bigInt({ min: 2n ** 53n + 1n }), (value, integer) => {
        const any = `[${JSON.stringify(value)},${integer}]`;
        const checked = check(`{"text":"a","any":${any}}`);
        expect(checked.isValid && JSON.stringify(checked.data.any)).toBe(JSON.stringify(parseKeepingIntegers(any)));
      }),
    );
  });

  test('in a body is answered 400 with its digits', async () => {
    const answer = await holder.rig.ask('POST', '/v1/sessions/integers/messages', {
      payload: `{"text":${INTEGER},"priority":${INTEGER},"wasMentioned":${INTEGER},"history":${INTEGER},"sender":${INTEGER}}`,
      headers: { 'content-type': 'application/json' },
    });
    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_body' } });
    expect(answer.body.errors.map(({ path }: { path: string }) => path).toSorted()).toEqual([
      'history',
      'priority',
      'sender',
      'text',
      'wasMentioned',
    ]);
    for (const { message } of answer.body.errors) expect(message).toMatch(/, received number 12345678901234567890$/);
  });

  test('in a query is answered 400 with what is allowed', async () => {
    expect(await holder.rig.get(`/v1/sessions?limit=${INTEGER}`)).toMatchObject({
      status: 400,
      body: { errors: [{ path: 'limit', message: 'expected a whole number from 1 to 999999999' }] },
    });
  });
});
