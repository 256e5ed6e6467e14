import fc from 'fast-check';
import { expect, test } from 'vitest';
import { tidySchema } from '../../../src/core/json-schema.ts';
import type { ModelAnswer, ModelRequest } from '../../../src/core/model-request.ts';
import { fitTools, restoreCalls } from '../../../src/model/stream/fit-tools.ts';
import { schemaFaultOf } from '../../../scripted-model/schema-fault.ts';

type Schema = ModelRequest['tools'][number]['input_schema'];

const requestWith = (schema: object, input: object): Pick<ModelRequest, 'tools' | 'messages'> => ({
  tools: [{ name: 'tool', description: '', input_schema: schema as Schema }],
  messages: [{ role: 'assistant', content: [{ type: 'tool_use', id: 'call_1', name: 'tool', input }] }],
});

/**
 * What is sent of a schema and of a call, and what the tool gets when the model makes the same
 * call.
 */
function roundTrip(schema: object, input: object, family: 'anthropic' | 'google' = 'anthropic') {
  const request = requestWith(schema, input);
  const { tools, messages } = fitTools(request, family);
  const [sent] = messages[0]?.content ?? [];
  const answer = { content: messages[0]?.content } as ModelAnswer;
  const [own] = restoreCalls(answer, request.tools).content;
  const inputOf = (block: typeof own) => (block?.type === 'tool_use' ? block.input : undefined);
  return { schema: tools[0]?.input_schema, sent: inputOf(sent), own: inputOf(own) };
}

test('keys that an API refuses are renamed where a schema names them, and calls have them back', () => {
  const schema = {
    type: 'object',
    properties: {
      $top: { type: 'integer' },
      _top: { type: 'string' },
      'filter[id]': { $ref: '#/$defs/filter' },
      list: { type: 'array', items: { $ref: '#/properties/filter[id]' } },
      free: { type: 'object' },
    },
    required: ['$top'],
    $defs: { filter: { type: 'object', properties: { 'a b': { type: 'string' } }, default: { 'a b': 'x' } } },
  };
  const input = {
    free: { $top: 1, _top_2: 2, 'a b': 3 },
    $top: 5,
    'filter[id]': { 'a b': '1' },
    list: [{ 'a b': '2' }],
  };
  const { schema: fitted, sent, own } = roundTrip(schema, input);
  expect(fitted).toEqual({
    type: 'object',
    properties: {
      _top_2: { type: 'integer' },
      _top: { type: 'string' },
      filter_id_: { $ref: '#/$defs/filter' },
      list: { type: 'array', items: { $ref: '#/properties/filter_id_' } },
      free: { type: 'object' },
    },
    required: ['_top_2'],
    $defs: { filter: { type: 'object', properties: { a_b: { type: 'string' } }, default: { a_b: 'x' } } },
  });
  expect(sent).toEqual({
    free: { $top: 1, _top_2: 2, 'a b': 3 },
    _top_2: 5,
    filter_id_: { a_b: '1' },
    list: [{ a_b: '2' }],
  });
  expect(JSON.stringify(own)).toBe(JSON.stringify(input));
});

test('a root that is a union becomes a field, with its references, and calls have its content', () => {
  const schema = {
    type: 'object',
    properties: { input: { type: 'string' }, tree: { $ref: '#' } },
    anyOf: [{ required: ['input'] }, { $ref: '#/$defs/other' }],
    $defs: { other: { required: ['tree'] } },
  };
  const { schema: fitted, sent, own } = roundTrip(schema, { input: 'x' });
  expect(fitted).toEqual({
    type: 'object',
    properties: {
      input_2: {
        type: 'object',
        properties: { input: { type: 'string' }, tree: { $ref: '#/properties/input_2' } },
        anyOf: [{ required: ['input'] }, { $ref: '#/$defs/other' }],
      },
    },
    required: ['input_2'],
    $defs: { other: { required: ['tree'] } },
  });
  expect(sent).toEqual({ input_2: { input: 'x' } });
  expect(own).toEqual({ input: 'x' });
});

test('a call without the field of the root is taken as it is', () => {
  const { tools } = requestWith({ type: 'object', oneOf: [{ required: ['a'] }], properties: { a: {} } }, {});
  const content = [{ type: 'tool_use' as const, id: 'call_1', name: 'tool', input: { a: 1 } }];
  expect(restoreCalls({ content } as unknown as ModelAnswer, tools).content).toEqual(content);
});

test('for Google, nothing stands beside a reference', () => {
  const item = { $ref: '#/$defs/item', title: 'Item', description: 'An item' };
  const schema = { type: 'object', properties: { item }, $defs: { item: { type: 'string' } } };
  expect(roundTrip(schema, {}, 'google').schema?.properties).toEqual({
    item: { $ref: '#/$defs/item', description: 'An item' },
  });
});

test('a request with tools that fit stays the same object', () => {
  const request = requestWith({ type: 'object', properties: { a: { anyOf: [{ type: 'string' }] } } }, { a: 'x' });
  expect(fitTools(request, 'anthropic')).toBe(request);
});

test('a schema of an earlier draft, or with odd values, becomes one of draft 2020-12', () => {
  const odd = {
    type: 'object',
    title: null,
    properties: {
      type: 'object',
      point: { type: 'array', items: [{ type: 'number' }, { type: 'any' }] },
      list: { type: 'array' },
      many: { type: ['string', 'nullable', 'null'], enum: [] },
      age: { type: 'INTEGER', minimum: 0, exclusiveMinimum: true, maximum: '9', required: true },
      link: { $ref: 'https://example.com/other.json', description: 'A link' },
      gone: { $ref: '#/$defs/gone' },
      name: { type: 'string', pattern: '(?P<first>', minLength: -1, nullable: true },
    },
    required: ['age', null, 'age'],
    $defs: [],
    anyOf: [],
  };
  const tidied = tidySchema(odd);
  expect(tidied).toEqual({
    type: 'object',
    properties: {
      type: {},
      point: { type: 'array', prefixItems: [{ type: 'number' }, {}], items: {} },
      list: { type: 'array', items: {} },
      many: { type: ['string', 'null'] },
      age: { type: 'integer', exclusiveMinimum: 0 },
      link: { description: 'A link' },
      gone: {},
      name: { type: 'string', nullable: true },
    },
    required: ['age'],
    $defs: {},
  });
  expect(schemaFaultOf(tidied)).toBeNull();
  expect(tidySchema(tidied)).toBe(tidied);
});

const names = fc.constantFrom('a', '$top', 'filter[id]', '_top', 'x y', '');
const schemaOf = (inner: fc.Arbitrary<unknown>) =>
  fc.record(
    {
      type: fc.constantFrom('object', 'array', 'string', null, 7, 'any'),
      properties: fc.dictionary(names, fc.oneof(inner, fc.constantFrom(null, true, 'object')), { maxKeys: 3 }),
      required: fc.array(fc.oneof(names, fc.constant(null)), { maxLength: 3 }),
      items: fc.oneof(inner, fc.array(inner, { maxLength: 2 })),
      anyOf: fc.oneof(fc.array(inner, { maxLength: 2 }), fc.constant(null)),
      $ref: fc.constantFrom('#', '#/properties/a', '#/$defs/a', 'other'),
      additionalProperties: fc.oneof(inner, fc.boolean(), fc.constant(null)),
    },
    { requiredKeys: [] },
  );
const anySchema = schemaOf(schemaOf(schemaOf(fc.constant({ type: 'string' }))));

const inputNames = fc.constantFrom('a', '$top', 'filter[id]', 'x y', '');

test('any schema becomes one that APIs take, and any call comes back as it was', () => {
  const property = fc.property(anySchema, fc.dictionary(inputNames, fc.jsonValue({ maxDepth: 3 })), (odd, input) => {
    // New names have an underscore: no key of a call, however deep, is the new name of another one.
    fc.pre(!/_[^"]*":/.test(JSON.stringify(input)));
    const schema = tidySchema({ ...odd, type: 'object' });
    const { schema: fitted, own } = roundTrip(schema, input);
    expect(schemaFaultOf(fitted)).toBeNull();
    expect(Object.keys(fitted ?? {}).filter((word) => ['anyOf', '$ref'].includes(word))).toEqual([]);
    expect(Object.keys(fitted?.properties ?? {}).every((key) => /^[a-zA-Z0-9_.-]{1,64}$/.test(key))).toBe(true);
    expect(JSON.stringify(own)).toBe(JSON.stringify(input));
  });
  const seed = Number(process.env['HOLDFAST_SEED'] ?? Date.now());
  fc.assert(property, { seed, numRuns: 300 });
});

test('a schema that fits is searched once, however many requests have it', () => {
  let reads = 0;
  const schema = {
    type: 'object',
    get properties() {
      reads += 1;
      return { path: { type: 'string' } };
    },
  };
  const request = requestWith(schema, { path: 'a.md' });
  expect(fitTools(request, 'anthropic')).toBe(request);
  const readsBefore = reads;
  const later = requestWith(schema, { path: 'b.md' });
  expect(fitTools(later, 'anthropic')).toBe(later);
  expect(reads).toBe(readsBefore);
});
