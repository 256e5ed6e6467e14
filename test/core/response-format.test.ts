// The bounds of the schemas that answers are checked against, and how a form of an answer passes
// from input to input.
import { expect, test } from 'vitest';
import { inheritOptions, joinOptions, keyOfOptions } from '../../src/core/input-options.ts';
import type { ModelAnswer, ModelRequest } from '../../src/core/model-request.ts';
import { findSchemaFault, SCHEMA_CHARS_MAX, type ResponseFormat } from '../../src/core/response-format.ts';
import { isStrict } from '../../src/model/ai-sdk/rules/strict-schema.ts';
import { takeOutput, withOutputTool } from '../../src/model/stream/fit-tools.ts';

const object = (more: object = {}): Record<string, unknown> => ({ type: 'object', ...more });
const FORMAT: ResponseFormat = { type: 'json_schema', schema: object() };

test.each([
  ['objects, lists and choices', object({ properties: { a: { type: ['array', 'null'], items: { enum: [1, 'x'] } } } })],
  [
    'definitions that are used twice',
    object({ $defs: { a: {} }, anyOf: [{ $ref: '#/$defs/a' }, { $ref: '#/$defs/a' }] }),
  ],
  [
    'what zod writes',
    object({
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      properties: { m: { format: 'email', pattern: '^.+@' } },
    }),
  ],
])('a schema with %s is accepted', (_name, schema) => {
  expect(findSchemaFault(schema)).toBeNull();
});

const listOf = <T>(length: number, make: () => T): T[] => Array.from({ length }, make);
const nested = (depth: number): object => (depth === 0 ? {} : { items: nested(depth - 1) });
const doubled = Object.fromEntries(
  Array.from({ length: 20 }, (_, at) => [
    `d${at}`,
    { properties: { a: { $ref: `#/$defs/d${at + 1}` }, b: { $ref: `#/$defs/d${at + 1}` } } },
  ]),
);

test.each<[string, Record<string, unknown>, (string | number)[], string]>([
  ['no object', { type: 'array' }, ['type'], 'expected "object": the answer is a JSON object, got "array"'],
  [
    'another keyword',
    object({ properties: { a: { if: {} } } }),
    ['properties', 'a', 'if'],
    'the keyword "if" is not supported; allowed: type, enum',
  ],
  [
    'a wrong value',
    object({ properties: { a: { minLength: -1 } } }),
    ['properties', 'a', 'minLength'],
    'expected an integer of 0 or more, got -1',
  ],
  ['a wrong type', object({ anyOf: [{ type: 'date' }] }), ['anyOf', 0, 'type'], 'expected one of object, array'],
  [
    'no schema',
    object({ properties: { a: 'text' } }),
    ['properties', 'a'],
    'expected a schema: an object, true or false, got "text"',
  ],
  [
    'an unknown definition',
    object({ items: { $ref: '#/$defs/no' } }),
    ['items', '$ref'],
    'expected the name of a definition',
  ],
  ['an address', object({ $ref: 'https://example.com/a.json' }), ['$ref'], 'expected the name of a definition'],
  [
    'no end',
    object({ $defs: { a: { items: { $ref: '#/$defs/a' } } }, items: { $ref: '#/$defs/a' } }),
    ['items', '$ref', 'items', '$ref'],
    'leads to itself',
  ],
  [
    'a size that doubles',
    object({ $ref: '#/$defs/d0', $defs: { ...doubled, d20: {} } }),
    expect.anything() as never,
    'more than 2000 parts',
  ],
  [
    'more than a hundred choices',
    object({ items: { anyOf: [{ $ref: '#/$defs/a' }, {}] }, $defs: { a: { anyOf: listOf(99, () => ({})) } } }),
    expect.arrayContaining(['items', 'anyOf']) as never,
    'more than 100 schemas apply to the same value',
  ],
  [
    'too many inside each other',
    object({ items: nested(50) }),
    listOf(51, () => 'items'),
    'more than 50 schemas are inside each other',
  ],
  [
    'too many characters',
    object({ description: 'x'.repeat(SCHEMA_CHARS_MAX) }),
    [],
    `expected at most ${SCHEMA_CHARS_MAX} characters`,
  ],
])('a schema with %s is refused at its place', (_name, schema, path, message) => {
  expect(findSchemaFault(schema)).toEqual({ path, message: expect.stringContaining(message) });
});

test('a form of an answer is of one turn, fills in that of a batch, and separates messages', () => {
  const outer = { tags: { a: '1' }, responseFormat: FORMAT };
  expect(inheritOptions(outer, {})).toEqual({ tags: { a: '1' } });
  expect(inheritOptions(outer, { responseFormat: FORMAT })).toEqual(outer);
  expect(joinOptions(outer, {})).toEqual(outer);
  expect(keyOfOptions(outer)).not.toBe(keyOfOptions({ tags: { a: '1' } }));
});

const REQUEST: ModelRequest = { model: 'm', maxTokens: 1, system: [], tools: [], messages: [], responseFormat: FORMAT };
const LOOK = { name: 'look', description: '', input_schema: { type: 'object' as const } };

test.each<[string, Partial<ModelRequest>, unknown]>([
  ['it alone', {}, { type: 'tool', name: 'structured_output' }],
  ['one of all', { tools: [LOOK] }, { type: 'any' }],
  [
    'it alone where the others may not be called',
    { tools: [LOOK], sampling: { tool_choice: { type: 'none' } } },
    { type: 'tool', name: 'structured_output' },
  ],
  [
    'the one that the client chose',
    { tools: [LOOK], sampling: { tool_choice: { type: 'tool', name: 'look' } } },
    { type: 'tool', name: 'look' },
  ],
  ['none, because it thinks', { thinking: { type: 'enabled', budget_tokens: 1024 } }, undefined],
])('in place of a mode, the model has to call %s', (_name, more, choice) => {
  const { tools, sampling, responseFormat } = withOutputTool({ ...REQUEST, ...more });
  expect([sampling?.tool_choice, responseFormat]).toEqual([choice, undefined]);
  expect(tools.at(-1)).toMatchObject({ name: 'structured_output', input_schema: FORMAT.schema });
});

test('a tool of the same name is another one, and its calls are made', () => {
  const request = { ...REQUEST, tools: [{ ...LOOK, name: 'structured_output' }] };
  expect(withOutputTool(request).tools.map(({ name }) => name)).toEqual(['structured_output', 'structured_output_']);
  const call = { type: 'tool_use' as const, id: 'c', name: 'structured_output', input: {} };
  const usage = { inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0 };
  const answer: ModelAnswer = { id: 'i', model: 'm', stopReason: 'tool_use', usage, content: [call] };
  expect(takeOutput(answer, request)).toBe(answer);
});

test('the arguments of the tool are the text of the answer, unless other tools are called with it', () => {
  const call = { type: 'tool_use' as const, id: 'c', name: 'structured_output', input: { a: 1 } };
  const usage = { inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0 };
  const answer: ModelAnswer = {
    id: 'i',
    model: 'm',
    stopReason: 'tool_use',
    usage,
    content: [{ type: 'text', text: 'Here:' }, call],
  };
  expect(takeOutput(answer, REQUEST)).toMatchObject({
    stopReason: 'end_turn',
    content: [{ type: 'text', text: '{"a":1}' }],
  });
  expect(takeOutput({ ...answer, malformedInputs: { c: '{"a"' } }, REQUEST).content).toEqual([
    { type: 'text', text: '{"a"' },
  ]);
  const nul = String.raw`{"a":"x\u0000y\\\\u0000"}`;
  expect(takeOutput({ ...answer, malformedInputs: { c: nul } }, REQUEST).content).toEqual([
    { type: 'text', text: String.raw`{"a":"xy\\\\u0000"}` },
  ]);
  const look = { ...call, id: 'd', name: 'look' };
  expect(takeOutput({ ...answer, content: [look, call] }, REQUEST)).toMatchObject({
    stopReason: 'tool_use',
    content: [look],
  });
});

test('a schema is strict for OpenAI when every object requires all of its fields and has no others', () => {
  const closed = object({ properties: { a: { type: 'string' } }, required: ['a'], additionalProperties: false });
  expect(isStrict(closed)).toBe(true);
  expect(isStrict(object({ ...closed, properties: { a: object() } }))).toBe(false);
  expect(isStrict(object({ ...closed, required: [] }))).toBe(false);
  for (const part of [{ enum: ['x'] }, { type: 'string', maxLength: 3 }, { type: 'string', format: 'own' }])
    expect(isStrict(object({ ...closed, properties: { a: part } })), JSON.stringify(part)).toBe(false);
});
