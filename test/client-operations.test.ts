// The emitted files of the typed client hold what the route table says.
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { clientFiles } from '../scripts/client-operations.ts';
import { typeOfSchema } from '../scripts/type-of-schema.ts';

const ROOT = resolve(import.meta.dirname, '..');

test('the operations of the typed client are those of the route table; `npm run write:client` writes them', () => {
  for (const [name, text] of Object.entries(clientFiles())) {
    expect(readFileSync(resolve(ROOT, 'src/client', name), 'utf8'), name).toBe(text);
  }
});

test.each([
  [{ type: 'string', enum: ['a', "it's"] }, String.raw`'a' | 'it\'s'`],
  [{ anyOf: [{ type: 'integer' }, { type: 'number' }, { type: 'null' }] }, 'number | null'],
  [{ type: ['string', 'null'] }, 'string | null'],
  [{ type: 'array', items: { anyOf: [{ const: 1 }, { type: 'boolean' }] } }, '(1 | boolean)[]'],
  [{ type: 'array', items: { $ref: '#/components/schemas/Turn' } }, "Schemas['Turn'][]"],
  [{ type: 'object', additionalProperties: { type: 'number' } }, 'Record<string, number>'],
  [{ type: 'object', additionalProperties: false }, 'Record<string, never>'],
  [{}, 'unknown'],
  [
    {
      type: 'object',
      properties: { 'a-b': { type: 'string', description: 'A */ b' }, c: {} },
      required: ['c'],
      additionalProperties: {},
    },
    "{\n  /** A *\\/ b */\n  'a-b'?: string;\n  c: unknown;\n  [field: string]: unknown;\n}",
  ],
])('the schema %j is written as its type', (schema, type) => {
  expect(typeOfSchema(schema)).toBe(type);
});
