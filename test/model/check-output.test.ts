// Which texts of a model are the JSON that was asked for, and the words about those that are not.
import { expect, test } from 'vitest';
import { checkOutput } from '../../src/model/check-output.ts';

const schema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  $defs: { item: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] } },
  properties: {
    items: { type: 'array', items: { $ref: '#/$defs/item' } },
    mail: { type: 'string', pattern: '^(a+)+$', format: 'email' },
    price: { type: 'number', multipleOf: 0.01, format: null },
  },
  required: ['items'],
  additionalProperties: false,
};

test.each([
  ['{"items": []}', '{"items": []}'],
  ['  {"items":[{"n":1}]}\n', '{"items":[{"n":1}]}'],
  ['```json\n{"items": []}\n```', '{"items":[]}'],
  ['Here it is: {"items": []}', '{"items":[]}'],
  ['{"items":[],"price":19.99}', '{"items":[],"price":19.99}'],
  // Patterns and formats are for the model alone.
  [`{"items":[],"mail":"${'a'.repeat(40)}!"}`, `{"items":[],"mail":"${'a'.repeat(40)}!"}`],
])('%j fits', async (said, text) => {
  expect(await checkOutput(said, { type: 'json_schema', schema })).toEqual({ kind: 'fits', text });
});

test.each([
  ['', ['it is empty']],
  ['No.', ['it is not a JSON object']],
  ['[1]', ['it is not a JSON object']],
  ['{"items": [', ['it is not a JSON object']],
  ['{"items":[],"price":19.995}', ['/price must be multiple of 0.01']],
  ['{}', ["it must have required property 'items'"]],
  [
    '{"items":[{"n":1.5},{}],"more":1}',
    [
      'it must NOT have additional properties: "more"',
      '/items/0/n must be integer',
      "/items/1 must have required property 'n'",
    ],
  ],
])('%j does not fit', async (said, faults) => {
  expect(await checkOutput(said, { type: 'json_schema', schema })).toEqual({ kind: 'unfit', faults });
});

test('an answer that is nested a hundred thousand times is checked', async () => {
  const said = `{"items": [], "more": ${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
  const checked = await checkOutput(said, { type: 'json_schema', schema });
  expect(checked).toEqual({ kind: 'unfit', faults: ['it must NOT have additional properties: "more"'] });
});
