// Goal: a list costs the same however many turns and sessions there are. Method: a database with
// many rows, and the plans of the list queries with each of their filters.
import type { Sql } from '../../src/database/drizzle.ts';
import type { Pool, PoolClient } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '../../src/ids.ts';
import { fires, readNewestFires } from '../../src/features/crons/views.ts';
import { readPrompts } from '../../src/features/agents/views.ts';
import { readTaggedUsage, viewTopCosts } from '../../src/features/costs/views.ts';
import { readTurnsBelow } from '../../src/features/subagents/turn-tree.ts';
import { runs, viewFamily } from '../../src/features/subagents/views.ts';
import { readLetterGroups, readTrends } from '../../src/features/dead-letters/views.ts';
import { batchItems } from '../../src/features/batches/views/items.ts';
import {
  countDeliveries,
  findDeliveriesOf,
  listDeliveryIds,
  readDeliveries,
  readLog,
} from '../../src/features/deliveries/views.ts';
import { ID_KINDS } from '../../src/contract/answers.ts';
import { findByCode, findByEnd, findByIds, findByText, matchingSql } from '../../src/kernel/views/find-things.ts';
import { filterMessages, readMessageRows, type MessageFilter } from '../../src/kernel/views/messages.ts';
import { exportPages } from '../../src/kernel/views/session-export.ts';
import { filterSessions, updatedQuery, type SessionFilter } from '../../src/kernel/views/sessions.ts';
import { readOthers, readSender } from '../../src/kernel/views/subjects.ts';
import { systemEvents } from '../../src/kernel/views/system-events.ts';
import { viewToolCall, readTurnRows } from '../../src/kernel/views/turns.ts';
import {
  compactions,
  ENTRY_SIZES,
  ENTRY_SIZES_NEWEST_FIRST,
  readCalls,
  readEntries,
  readOpenWait,
  transcripts,
} from '../../src/kernel/views/transcript.ts';
import { readCausesOf, readTurnInputs } from '../../src/kernel/views/turn-inputs.ts';
import { workers } from '../../src/kernel/views/workers.ts';
import {
  countQuery,
  countTurns,
  findAllTurnIds,
  filterTurns,
  findTurnIds,
  type TurnFilter,
} from '../../src/kernel/views/turn-filter.ts';
import type { PreparedQuery } from '../../src/database/statement.ts';
import type { Transaction } from '../../src/database/transaction.ts';
import type { ClaimedDelivery } from '../../src/features/deliveries/store/claims.ts';
import { settleDelivery } from '../../src/features/deliveries/store/settle.ts';
import { readNewEntries } from '../../src/features/search/store/index-texts.ts';
import { scores } from '../../src/features/scores/views.ts';
import { searchIndex, searchWalks, listHits } from '../../src/features/search/views.ts';
import { parseQuery, type SearchQuery } from '../../src/features/search/rules.ts';
import { changeDeliveries, readDeliveries as readDeliveryRows } from '../rows/deliveries.ts';
import { BATCH_ID, countRowsRead, createManyRows, growingReads, spreadStatuses } from '../rows/many-rows.ts';
import { ahead } from '../rows/table.ts';
import { addTurns, changeTurns, readTurns } from '../rows/turns.ts';
import type { StoreRig } from './store-rig.ts';
import { EVERYTHING } from '../../src/core/scope.ts';

let rig: StoreRig;
let client: PoolClient;
const page = { limit: 50, after: null };

beforeAll(async () => {
  rig = await createManyRows();
  client = await rig.database.views.connect();
});
afterAll(async () => {
  client.release();
  await rig.drop();
});

const views = () => rig.database.views;

async function expectNoWholeTable(query: Sql): Promise<void> {
  const reads = await growingReads(client, query.text, query.values);
  expect(reads.length, query.text).toBeGreaterThan(0);
  expect(reads.filter(({ node }) => node === 'Seq Scan')).toEqual([]);
}

const TURN_FILTERS: TurnFilter[] = [
  {},
  { sessionKey: 'agent:main:s1' },
  { statuses: ['running', 'parked'] },
  { statuses: ['failed'] },
  { statuses: ['failed', 'aborted', 'timedOut'], isRetryable: true },
  { statuses: ['silent'], kind: 'cron' },
  { since: new Date(), until: new Date() },
  { agentId: 'other' },
  { tool: 'exec' },
  { callStatus: 'unknown' },
  { callStatus: 'unknown', tool: 'exec' },
  { code: 'model_failed' },
  { worker: 'w', model: 'anthropic/m', msMin: 5, costMicrosMin: 5 },
  { batchId: newId() },
  { score: { name: 'thumb', values: ['true', true] } },
  { score: { name: 'thumb', values: ['false', false] }, agentId: 'other' },
  { text: 'agent:main:s7' },
  { text: newId() },
  { text: 'nothing-has-this' },
];

test.each(TURN_FILTERS)('turns with %j are read by indexes, and counted by indexes', async (filter) => {
  await expectNoWholeTable(matchingSql(await filterTurns(views(), { ...filter, scope: EVERYTHING }), page));
  await expectNoWholeTable(await countQuery(views(), { ...filter, scope: EVERYTHING }));
});

const SESSION_FILTERS: Omit<SessionFilter, 'scope'>[] = [
  {},
  { agentId: 'other' },
  { kinds: ['cron', 'batch'] },
  { statuses: ['running'] },
  { statuses: ['idle'], channel: 'telegram' },
  { text: 'agent:main:s7' },
  { text: 'nothing-has-this' },
];

test.each(SESSION_FILTERS)('sessions with %j are read by indexes, in both orders', async (filter) => {
  await expectNoWholeTable(matchingSql(await filterSessions(views(), { ...filter, scope: EVERYTHING }), page));
  await expectNoWholeTable(await updatedQuery(views(), { ...filter, scope: EVERYTHING }, page));
});

const MESSAGE_FILTERS: Omit<MessageFilter, 'scope'>[] = [
  {},
  { statuses: ['waiting'] },
  { statuses: ['waiting', 'claimed', 'failed', 'silent'] },
  { statuses: ['answered'], sessionKey: 'agent:main:s7' },
  { ids: [newId()] },
  { tags: { customer: '42' } },
];

test.each(MESSAGE_FILTERS)('messages with %j are read by indexes', async (filter) => {
  const filtered = filterMessages({ ...filter, scope: EVERYTHING });
  await expectNoWholeTable(matchingSql(filtered, page));
  await expectNoWholeTable(matchingSql(filtered, { limit: 50, after: newId() }));
});

test.each([
  [findByIds, [[newId()], null]],
  [findByEnd, ['44b6f0', ID_KINDS]],
  [findByText, ['1017', null, 'agent:main:s7']],
  [findByCode, [null, 'model_failed']],
  [viewToolCall, [newId(), 'c', '"c"']],
  [viewTopCosts, [newId(), new Date(), 10, null, null]],
  [readPrompts, ['main', null]],
  [readTaggedUsage, ['hour', 'hour', new Date(0), new Date(), null, null, '{"customer":"42"}']],
  [readTurnInputs, [newId()]],
  [readCausesOf, [[newId()], [newId()], [newId()], [newId()], [newId()]]],
  [viewFamily, ['agent:main:s7']],
  [findDeliveriesOf, [[newId()], [newId()], null]],
  [readLog, [newId()]],
  [countDeliveries, [['pending', 'failed', 'sent'], null]],
  [readNewestFires, [[newId()]]],
  [readSender, [newId(), 'ada', null]],
  [readTurnsBelow, [[newId()], 100]],
  [readTurnRows, [[newId()], true, null]],
  [readMessageRows, [[newId()]]],
  [readDeliveries, [[newId()]]],
  [readEntries, [newId(), [1, 2]]],
  [readCalls, [['c'], [newId()]]],
  [readOpenWait, [newId()]],
  [ENTRY_SIZES, [newId(), 1, true, null, 50, null]],
  [ENTRY_SIZES_NEWEST_FIRST, [newId(), 1, false, 40, 50, newId()]],
  [readLetterGroups, ['open', null, null, null, 50, null]],
  [readOthers, ['agent:main:s7', 0, 'ada']],
])('$name reads by indexes', async (statement, values) => {
  const reads = await growingReads(client, statement.prepared(values).text, values);
  expect(reads.filter(({ node }) => node === 'Seq Scan')).toEqual([]);
});

const after = newId();

test.each([
  ['system events', (db: Pool) => systemEvents.list(db, { sessionId: newId() }, { limit: 50, after })],
  ['waiting system events', (db: Pool) => systemEvents.list(db, { sessionId: newId(), isQueued: true }, page)],
  [
    'items of a batch',
    (db: Pool) => batchItems.list(db, { batchId: BATCH_ID, code: 'c', q: 'k' }, { limit: 50, after: '7' }),
  ],
  ['compactions', (db: Pool) => compactions.list(db, { sessionId: newId() }, { limit: 50, after })],
  ['transcripts', (db: Pool) => transcripts.list(db, { sessionId: newId() }, page)],
  ['runs', (db: Pool) => runs.list(db, { parentId: newId() }, { limit: 50, after })],
  ['scores', (db: Pool) => scores.list(db, { scope: null }, { limit: 50, after })],
  [
    'scores of a session',
    (db: Pool) => scores.list(db, { scope: null, name: 'thumb', sessionKey: 'agent:main:s7' }, page),
  ],
  ['scores of a turn', (db: Pool) => scores.list(db, { scope: null, turnId: newId() }, page)],
  ['fires', (db: Pool) => fires.list(db, { cronId: newId() }, page)],
  ['processes', (db: Pool) => workers.list(db, {}, page)],
])('a page of %s is read by indexes', async (_, list) => {
  const sent = await record(list);
  expect(sent).toHaveLength(1);
  for (const { text, values } of sent) {
    const reads = await growingReads(client, text, values);
    expect(reads.length).toBeGreaterThan(0);
    expect(reads.filter(({ node }) => node === 'Seq Scan')).toEqual([]);
  }
});

const FROM_ALL = ['ffffffff-ffff-ffff-ffff-ffffffffffff', '00000000-0000-0000-0000-000000000000'];

/** The plan that every value has to do with. */
async function genericReads(text: string, values: unknown[]) {
  await client.query('set plan_cache_mode = force_generic_plan');
  try {
    return await growingReads(client, text, values);
  } finally {
    await client.query('reset plan_cache_mode');
  }
}

test('a round of the search reads the entries of each of its turns, and no others', async () => {
  const turns = (await readTurns(rig, {}, 'id')).slice(-50);
  const values = [turns.map(({ id }) => id), turns.map(() => new Date(0)), turns.map(() => 0)];
  const reads = await genericReads(readNewEntries.prepared(values).text, values);
  expect(reads.filter(({ node }) => node === 'Seq Scan')).toEqual([]);
  expect(reads.map(({ table }) => table)).toEqual(['turns', 'search_texts', 'entries']);
});

test.each([
  ['all', FROM_ALL, 'search_texts_pkey'],
  ['kind', ['error', ...FROM_ALL], 'search_texts_of_kind'],
  ['session', [newId(), ...FROM_ALL], 'search_texts_of_session'],
  ['both', ['error', newId(), ...FROM_ALL], 'search_texts_of_session'],
] as const)('a search with the filter %s reads the newest texts by one index', async (filter, given, index) => {
  const values = ["'new'", ...given, 500, 21];
  const reads = await genericReads(searchWalks[filter].prepared(values).text, values);
  expect(reads).toEqual([{ node: 'Index Scan', table: 'search_texts', index }]);
});

test('a rare word is found by the index of words, and one of more than 5,000 texts among 20,000 texts', async () => {
  const values = ["'word7'", "'word7'", ...FROM_ALL, null, null, null, 21];
  const reads = await genericReads(searchIndex.prepared(values).text, values);
  expect(reads.map(({ node }) => node)).toEqual(['Bitmap Heap Scan']);
  const filter = { scope: EVERYTHING, kind: undefined, sessionId: undefined, since: undefined, until: undefined };
  const find = (q: string) => ({ filter: { ...filter, query: parseQuery(q) as SearchQuery }, page });
  expect(await searchIndex(views(), find('"word7"'))).toHaveLength(1);
  expect(await searchIndex(views(), find('old'))).toBeNull();
  expect(await searchIndex(views(), find('"word7 old"'))).toEqual([]);
  expect(await searchIndex(views(), find('"word7" -old'))).toEqual([]);
  const { filter: old } = find('old');
  const first = await listHits(views(), old, page);
  expect(first.items).toHaveLength(50);
  const second = await listHits(views(), old, { ...page, after: first.next });
  expect(second.items[0]!.entrySeq).toBe(first.items[49]!.entrySeq! - 1);
});

test.each(['failed', 'running'])('a count of %s turns reads only an index', async (status) => {
  const { text, values } = await countQuery(views(), { scope: EVERYTHING, statuses: [status] });
  expect((await growingReads(client, text, values)).map(({ node }) => node)).toEqual(['Index Only Scan']);
});

test('turns with a tag are found by an index', async () => {
  const { text, values } = await countQuery(views(), { scope: EVERYTHING, tags: { customer: '42' } });
  const reads = await growingReads(client, text, values);
  expect(reads.filter(({ node }) => node === 'Seq Scan')).toEqual([]);
});

test('an export reads by indexes', async () => {
  const sent = await record((db) => Array.fromAsync(exportPages(db, { id: newId(), session: {} })));
  expect(sent.length).toBeGreaterThan(1);
  for (const { text, values } of sent) {
    const reads = await growingReads(client, text, values);
    expect(
      reads.filter(({ node }) => node === 'Seq Scan'),
      text,
    ).toEqual([]);
  }
});

/** The queries that a view sends. */
async function record(read: (db: Pool) => Promise<unknown>): Promise<{ text: string; values: unknown[] }[]> {
  const sent: { text: string; values: unknown[] }[] = [];
  const query = (one: { text: string; values: unknown[] }) => {
    sent.push(one);
    return views().query(one);
  };
  await read({ query } as unknown as Pool);
  return sent;
}

test.each([
  ['retry', 'turns', ['failed', 'aborted', 'timedOut']],
  ['abort', 'turns', ['running', 'parked', 'resuming', 'interrupted']],
  ['redrive', 'deliveries', ['failed', 'expired', 'unknown', 'discarded']],
] as const)(
  'all that can be chosen to %s among %s are read by the index of their statuses, also when many have them',
  async (action, table, [...statuses]) => {
    const list = (db: Pool) =>
      table === 'turns'
        ? findAllTurnIds(db, { statuses, isRetryable: action === 'retry' }, 100)
        : listDeliveryIds(db, { statuses }, 100);
    await client.query('begin');
    try {
      await spreadStatuses(client, table, statuses);
      const sent = await record(list);
      expect(sent).toHaveLength(1);
      for (const { text, values } of sent) {
        expect(text).toContain(' limit ');
        const reads = (await growingReads(client, text, values)).filter((read) => read.table === table);
        expect(reads).toHaveLength(statuses.length);
        expect(
          reads.filter(({ node, index }) => node === 'Seq Scan' || index === `${table}_pkey`),
          text,
        ).toEqual([]);
      }
    } finally {
      await client.query('rollback');
    }
  },
);

test('a delivery that was sent wakes others after it has read 1,000 of those that wait', async () => {
  await client.query('begin');
  try {
    const [own] = await readDeliveryRows(client, { seq: 1 }, 'id');
    const waiting = { status: 'pending', dueAt: ahead('1 hour'), target: { url: 'https://other.example/' } };
    await changeDeliveries(client, {}, waiting);
    const target = { url: 'https://repaired.example/' };
    await changeDeliveries(client, { id: own!.id }, { status: 'sending', owner: 'relay', wakes: 10, target });
    await client.query('analyze');
    const sent: PreparedQuery[] = [];
    const tx = { write: () => undefined, query: async (query: PreparedQuery) => sent.push(query) };
    const settled = { status: 'sent', lastStatus: 200, lastError: null } as const;
    const delivery = { id: own!.id } as ClaimedDelivery;
    await settleDelivery(tx as unknown as Transaction, { ...settled, delivery, owner: 'relay' });
    const count = await countRowsRead(client, sent[0]!, 'deliveries');
    // Their ids, then they.
    expect(count).toBeGreaterThan(2_000);
    expect(count).toBeLessThan(2_010);
  } finally {
    await client.query('rollback');
  }
});

test('a count of turns stops at 10,000 and says so', async () => {
  expect(await countTurns(views(), { scope: EVERYTHING })).toEqual({ count: 10_000, isCapped: true });
  expect(await countTurns(views(), { scope: EVERYTHING, kind: 'message' })).toEqual({ count: 10_000, isCapped: true });
  expect(await countTurns(views(), { scope: EVERYTHING, statuses: ['running'] })).toEqual({
    count: 20,
    isCapped: false,
  });
});

test('the letters of the last hours are read by an index, in each state', async () => {
  for (const state of ['open', 'discarded']) {
    const values = [state, ['turn'], ['c'], null];
    const reads = await growingReads(client, readTrends.prepared(values).text, values);
    expect(reads.length).toBeGreaterThan(0);
    expect(reads.filter(({ node }) => node === 'Seq Scan')).toEqual([]);
  }
});

test('the most expensive turns are looked for among 10,000, and the answer says that there are more', async () => {
  expect(await viewTopCosts(views(), { from: new Date(0), limit: 10, scope: EVERYTHING })).toMatchObject({
    turnsRead: 10_000,
    isCapped: true,
  });
  const later = new Date(Date.now() + 172_800_000);
  expect(await viewTopCosts(views(), { from: later, limit: 10, scope: EVERYTHING })).toMatchObject({
    turnsRead: 0,
    isCapped: false,
  });
});

test('a page of a rare filter ends after 20,000 rows, and the next one continues there', async () => {
  const [rare] = await readTurns(rig, {}, 'id', 'sessionId');
  await changeTurns(rig, { id: rare!.id }, { worker: 'rare' });
  await addTurns(rig, ...Array.from({ length: 100 }, () => ({ sessionId: rare!.sessionId })));
  const first = await findTurnIds(views(), { scope: EVERYTHING, worker: 'rare' }, page);
  expect(first.items).toEqual([]);
  expect(first.next).not.toBeNull();
  const second = await findTurnIds(views(), { scope: EVERYTHING, worker: 'rare' }, { ...page, after: first.next });
  expect(second).toEqual({ items: [rare!.id], next: null });
});
