// What a client reads about a field that is wrong. Of an integer beyond 2^53: that it is a number, its
// digits, and what is allowed.
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

const shape = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('circle'), radius: z.number() }),
  z.strictObject({ kind: z.literal('square'), side: z.number() }),
]);

const check = (text: string) => checkFields(schema, parseKeepingIntegers(text));

test.each([
  [{ kind: 'star' }, 'is "star"; allowed: "circle", "square"'],
  [{ side: 2 }, 'is missing; allowed: "circle", "square"'],
])('a shape %j has no kind that is allowed, and the message names those that are', (value, message) => {
  expect(checkFields(shape, value)).toEqual({ isValid: false, errors: [{ path: 'kind', message }] });
});

describe('an integer beyond 2^53', () => {
  test.each([
    ['text', 'a text'],
    ['count', 'at most 100'],
    ['whole', 'at most 9007199254740991'],
    ['dollars', 'a whole number from -9007199254740991 to 9007199254740991, or a text'],
    ['isOn', 'true or false'],
    ['mode', '"a", "b"'],
    ['list', 'a list'],
    ['fields', 'an object'],
    ['loose', 'an object'],
    ['names', 'an object'],
    ['either', 'a text, or a list'],
  ])('is refused in the field %s as a number, with its digits', (path, allowed) => {
    expect(check(`{"${path}":${INTEGER}}`)).toEqual({
      isValid: false,
      errors: [{ path, message: `is ${INTEGER}; allowed: ${allowed}` }],
    });
  });

  test.each([
    [`{"count":-${INTEGER}}`, 'count', `is -${INTEGER}; allowed: at least 1`],
    [`{"list":["a",${INTEGER}]}`, 'list[1]', `is ${INTEGER}; allowed: a text`],
    [`{"weights":{"a":1.5,"b":${INTEGER}}}`, 'weights.b', /^is 12345678901234567890; allowed: a whole number from /],
    [`{"text":${'9'.repeat(400)}}`, 'text', `is ${'9'.repeat(77)}...; allowed: a text`],
    [`{"count":${'9'.repeat(400)}}`, 'count', `is ${'9'.repeat(77)}...; allowed: at most 100`],
    [`{"other":${INTEGER}}`, 'other', 'unknown field'],
    [`{"any":${INTEGER},"text":1}`, 'text', 'is 1; allowed: a text'],
    [`{"either":[${INTEGER}]}`, 'either[0]', `is ${INTEGER}; allowed: a text`],
    [INTEGER, '', `is ${INTEGER}; allowed: an object`],
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
    for (const { message } of answer.body.errors) expect(message).toMatch(/^is 12345678901234567890; allowed: /);
  });

  test('in a query is answered 400 with what is allowed', async () => {
    expect(await holder.rig.get(`/v1/sessions?limit=${INTEGER}`)).toMatchObject({
      status: 400,
      body: { errors: [{ path: 'limit', message: 'expected a whole number from 1 to 999999999' }] },
    });
  });
});
