// The references of docs/references, and the tables of docs/configuration.md, say what the code says.
import { expect, test } from 'vitest';
import { withConfigKeys } from '../scripts/references/config-tables.ts';
import { fieldTable, typeText } from '../scripts/references/schema-fields.ts';
import { readPage } from './docs/read-page.ts';

test('the tables of docs/configuration.md are up to date; `npm run write:configuration-page` writes them', () => {
  const page = readPage('docs/configuration.md');
  expect(withConfigKeys(page)).toBe(page);
});

test('a key that the schema does not have leaves the tables, and a missing one comes after the one before it', () => {
  const page = readPage('docs/configuration.md');
  const [row = ''] = page.match(/^\| `lanes\.subagent` .*$/m) ?? [];
  const stale = page
    .replace(row, '| `lanes.other` | text | none | x |')
    .replace('| integer 0 to 1000 | `2` |', '| text | none |');
  const written = withConfigKeys(stale);
  expect(written).not.toContain('lanes.other');
  const withoutMeaning = row.replace(/[^|]*\|$/, '  |');
  expect(written.replace(withoutMeaning, row)).toBe(page);
});

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
