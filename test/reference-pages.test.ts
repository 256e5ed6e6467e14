// The parts of the references of docs/references.
import { expect, test } from 'vitest';
import { fieldTable, typeText } from '../scripts/references/schema-fields.ts';

test('types are written in words, and the fields of inner objects by their paths', () => {
  expect(typeText({ anyOf: [{ type: 'null' }, { type: 'string', format: 'uuid' }, { enum: ['a', 'b'] }] })).toBe(
    'id, `a`, `b` or null',
  );
  expect(typeText({ type: 'array', items: { $ref: '#/components/schemas/Turn' } })).toBe('list of [Turn](#turn)');
  const inner = { type: 'object', properties: { n: { type: 'integer', minimum: 1, maximum: 9 } } };
  const schema = {
    type: 'object',
    required: ['list'],
    properties: { list: { type: 'array', items: inner, description: 'a|b <c>' } },
  };
  expect(fieldTable(schema).split('\n').slice(2)).toEqual([
    '| `list` | list of object | a\\|b \\<c> |',
    '| `list.n` | integer 1 to 9, optional |  |',
  ]);
});
