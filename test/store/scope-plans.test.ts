// Goal: a page of a scope costs the same however much there is outside (G30). Method: a scope with
// 1 of 200 sessions of a large database; each page is planned, run, and has its rows counted. At the
// end, longer beginnings are made of it, with more than half of the sessions.
import type { PoolClient } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Sql } from '../../src/database/drizzle.ts';
import { countByAgent } from '../../src/features/agents/views.ts';
import { viewTopCosts } from '../../src/features/costs/views.ts';
import { readLetterGroups, readTrends } from '../../src/features/dead-letters/views.ts';
import { countDeliveries } from '../../src/features/deliveries/views.ts';
import { countScores } from '../../src/features/scores/views.ts';
import { searchWalks } from '../../src/features/search/views.ts';
import { eventsQuery } from '../../src/kernel/views/events.ts';
import { matchingSql } from '../../src/kernel/views/find-things.ts';
import { filterMessages } from '../../src/kernel/views/messages.ts';
import { filterSessions, updatedQuery } from '../../src/kernel/views/sessions.ts';
import { countQuery, filterTurns, findTurnIds } from '../../src/kernel/views/turn-filter.ts';
import {
  countAllRows,
  countRowsRead,
  createManyRows,
  divideScope,
  giveScope,
  growingReads,
  prepareForAll,
  SESSIONS,
} from '../rows/many-rows.ts';
import { changeToolCalls } from '../rows/calls.ts';
import { now } from '../rows/table.ts';
import { changeTurns } from '../rows/turns.ts';
import type { StoreRig } from './store-rig.ts';

let rig: StoreRig;
let client: PoolClient;
const scope = ['agent:main:s1'];
const page = { limit: 50, after: null };
const [FIRST_ID, LAST_ID] = ['00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff'];

beforeAll(async () => {
  rig = await createManyRows();
  await changeToolCalls(rig, {}, { unknownAt: now });
  await giveScope(rig, 'agent:main:s1');
  client = await rig.database.views.connect();
});
afterAll(async () => {
  client.release();
  await rig.drop();
});

const views = () => rig.database.views;

const QUERIES: [string, string, () => Promise<Sql> | Pick<Sql, 'text' | 'values'>][] = [
  ['turns', 'turns_by_scope', async () => matchingSql(await filterTurns(views(), { scope }), page)],
  [
    'turns',
    'turns_by_scope',
    async () => matchingSql(await filterTurns(views(), { scope, statuses: ['failed'] }), page),
  ],
  [
    'turns',
    'turns_by_scope',
    async () => matchingSql(await filterTurns(views(), { scope, statuses: ['completed'], kind: 'message' }), page),
  ],
  ['turns', 'turns_by_scope', () => countQuery(views(), { scope })],
  [
    'tool_calls',
    'tool_calls_pkey',
    async () => matchingSql(await filterTurns(views(), { scope, callStatus: 'unknown' }), page),
  ],
  [
    'turn_scores',
    'turn_scores_by_scope',
    async () => matchingSql(await filterTurns(views(), { scope, score: { name: 'thumb', values: [true] } }), page),
  ],
  [
    'turn_scores',
    'turn_scores_by_scope',
    () => countScores.prepared(['name', scope, 'admin', null, null, null, null, null]),
  ],
  ['turns', 'turns_by_scope', () => viewTopCosts.prepared([FIRST_ID, new Date(0), 10, null, scope])],
  ['sessions', 'sessions_by_scope', () => countByAgent.prepared([['main'], scope])],
  ['deliveries', 'deliveries_by_scope', () => countDeliveries.prepared([['pending', 'sent'], scope])],
  [
    'dead_letters',
    'dead_letters_by_scope',
    () => readLetterGroups.prepared(['discarded', null, null, null, 50, scope]),
  ],
  ['dead_letters', 'dead_letters_by_scope', () => readTrends.prepared(['discarded', ['turn'], ['c'], scope])],
  ['sessions', 'sessions_by_scope', async () => matchingSql(await filterSessions(views(), { scope }), page)],
  [
    'sessions',
    'sessions_by_scope',
    async () => matchingSql(await filterSessions(views(), { scope, agentId: 'main' }), page),
  ],
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
  const made = await make();
  const planned = await growingReads(client, made.text, made.values);
  expect(planned.filter(({ node }) => node === 'Seq Scan')).toEqual([]);
  // A statement with a name may have one plan for every value after some calls. It has a part for
  // everything, too, which is not run.
  const query = 'name' in made ? await prepareForAll(client, made) : made;
  const reads = await growingReads(client, query.text, query.values);
  expect(reads).toContainEqual(expect.objectContaining({ table, index }));
  const all = await countAllRows(client, table);
  expect(all).toBeGreaterThanOrEqual(SESSIONS);
  expect(await countRowsRead(client, query, table)).toBeLessThan(all / 20);
});

test('a page of many beginnings of keys reads no more than one of a single one, and continues where it stopped', async () => {
  const own = await divideScope(rig, 'agent:main:s1');
  expect(own.length).toBeGreaterThan(11_000);

  // Of each of the 11 numbers 5,000 / 11 turns, once by the index alone.
  const rare = { scope, worker: 'rare' };
  const { text, values } = matchingSql(await filterTurns(views(), rare), page);
  expect(await countRowsRead(client, { text, values }, 'turns')).toBeLessThan(10_000);
  const updated = await updatedQuery(views(), { scope }, page);
  expect(await countRowsRead(client, updated, 'inbox')).toBeLessThan(5_100);

  const places = [0, 5_000, own.length - 1];
  await changeTurns(rig, { id: places.map((n) => own[n]!) }, { worker: 'rare' });
  const found: string[] = [];
  for (let after: string | null = null, pages = 0; pages < 5; pages += 1) {
    const { items, next } = await findTurnIds(views(), rare, { limit: 50, after });
    found.push(...items);
    if (next === null) break;
    after = next;
  }
  expect(found).toEqual(places.map((n) => own[n]));
});
