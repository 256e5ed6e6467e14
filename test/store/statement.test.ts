// Rows that are bound as one value come out of PostgreSQL unchanged.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type SqlColumn, rows, statement } from '../../src/database/statement.ts';
import { createStoreRig, type StoreRig } from './store-rig.ts';

let rig: StoreRig;
beforeAll(async () => {
  rig = await createStoreRig();
});
afterAll(() => rig.drop());

/** Rows by way of the server. */
async function returned<Row>(
  sent: readonly Row[],
  columns: Record<string, SqlColumn<Row>>,
  select = 'select * from sent',
): Promise<Record<string, unknown>[]> {
  const ctes = [rows('sent', (all: readonly Row[]) => all, columns)];
  const test = statement({ name: 'statement-test', purpose: 'Return rows.', locking: 'None.', ctes, select });
  const { text, values } = test.prepared(sent);
  return (await rig.database.hot.query({ text, values })).rows;
}

test('every type keeps its values, and null', async () => {
  const row = {
    id: '01a202aa-9514-717b-a5c0-035c87722aa4',
    at: new Date('2026-02-28T23:59:59.999Z'),
    text: `'"\\{},\n\t$1 🙂 — \u2028`,
    count: 9_007_199_254_740_991,
    json: JSON.stringify({ a: ['\\', '"', null, '\u0001'] }),
  };
  const columns: Record<string, SqlColumn<typeof row | null>> = {
    id: ['uuid', (one) => one?.id ?? null],
    at: ['timestamptz', (one) => one?.at ?? null],
    words: ['text', (one) => one?.text ?? null],
    count: ['bigint', (one) => one?.count ?? null],
    small: ['int', (one) => (one === null ? null : -1)],
    yes: ['boolean', (one) => (one === null ? null : true)],
    content: ['json', (one) => one?.json ?? null],
  };
  expect(await returned([row, null], columns)).toEqual([
    {
      id: row.id,
      at: row.at,
      words: row.text,
      count: String(row.count),
      small: -1,
      yes: true,
      content: JSON.parse(row.json),
    },
    { id: null, at: null, words: null, count: null, small: null, yes: null, content: null },
  ]);
});

test('no rows are an empty table', async () => {
  expect(await returned<number>([], { n: ['int', (n) => n], content: ['json', String] })).toEqual([]);
});

test('characters that only JSON can hold stay in JSON', async () => {
  const content = { nul: 'a\u0000b', half: '\ud83d', literal: '\\u0000 and \\ud83d' };
  const sent = [JSON.stringify(content)];
  const columns: Record<string, SqlColumn<string | undefined>> = { content: ['json', (text) => text] };
  const [stored] = await returned(sent, columns, 'select content::text as content from sent');
  expect(stored?.['content']).toBe(sent[0]);
});

test('half a surrogate pair in a text becomes the replacement character', async () => {
  expect(await returned(['\ud83d!', '\\ud83d'], { words: ['text', (text) => text] })).toEqual([
    { words: '\ufffd!' },
    { words: '\\ud83d' },
  ]);
});

test('a NUL in a text is refused with the rest of its statement', async () => {
  await expect(returned(['fine', 'a\u0000b'], { words: ['text', (text) => text] })).rejects.toThrow(
    /unsupported Unicode/,
  );
});
