// Goal: a page of a scope costs the same however much there is outside (G30). Method: a scope with
// 1 of 200 sessions of a large database; each page is planned, run, and has its rows counted.
import type { PoolClient } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Sql } from '../../src/database/drizzle.ts';
import { searchWalks } from '../../src/features/search/views.ts';
import { eventsQuery } from '../../src/kernel/views/events.ts';
import { matchingSql } from '../../src/kernel/views/find-things.ts';
import { filterMessages } from '../../src/kernel/views/messages.ts';
import { sessionsQuery, updatedQuery } from '../../src/kernel/views/sessions.ts';
import { countQuery, pageQuery } from '../../src/kernel/views/turn-filter.ts';
import { countAllRows, countRowsRead, createManyRows, giveScope, growingReads, SESSIONS } from '../rows/many-rows.ts';
import type { StoreRig } from './store-rig.ts';

let rig: StoreRig;
let client: PoolClient;
const scope = ['agent:main:s1'];
const page = { limit: 50, after: null };
const [FIRST_ID, LAST_ID] = ['00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff'];

beforeAll(async () => {
  rig = await createManyRows();
  await giveScope(rig, 'agent:main:s1');
  client = await rig.database.views.connect();
});
afterAll(async () => {
  client.release();
  await rig.drop();
});

const views = () => rig.database.views;

const QUERIES: [string, string, () => Promise<Sql> | Pick<Sql, 'text' | 'values'>][] = [
  ['turns', 'turns_by_scope', () => pageQuery(views(), { scope }, page)],
  ['turns', 'turns_by_scope', () => pageQuery(views(), { scope, statuses: ['failed'] }, page)],
  ['turns', 'turns_by_scope', () => pageQuery(views(), { scope, statuses: ['completed'], kind: 'message' }, page)],
  ['turns', 'turns_by_scope', () => countQuery(views(), { scope })],
  ['sessions', 'sessions_by_scope', () => sessionsQuery(views(), { scope }, page)],
  ['sessions', 'sessions_by_scope', () => sessionsQuery(views(), { scope, agentId: 'main' }, page)],
  ['sessions', 'sessions_by_scope', () => updatedQuery(views(), { scope }, page)],
  ['inbox', 'inbox_by_scope', () => matchingSql(filterMessages({ scope }), page)],
  ['inbox', 'inbox_by_scope', () => matchingSql(filterMessages({ scope, statuses: ['failed'] }), page)],
  ['events', 'events_by_scope', () => eventsQuery({ scope }, { after: 0n, limit: 500 })],
  [
    'search_texts',
    'search_texts_by_scope',
    () => searchWalks.scope.prepared([scope, "'new'", null, LAST_ID, FIRST_ID, 500, 21]),
  ],
];

test.each(QUERIES)('a page of %s in a scope reads its own rows by %s', async (table, index, make) => {
  const { text, values } = await make();
  const reads = await growingReads(client, text, values);
  expect(reads.filter(({ node }) => node === 'Seq Scan')).toEqual([]);
  expect(reads).toContainEqual(expect.objectContaining({ table, index }));
  const all = await countAllRows(client, table);
  expect(all).toBeGreaterThanOrEqual(SESSIONS);
  expect(await countRowsRead(client, { text, values }, table)).toBeLessThan(all / 20);
});
