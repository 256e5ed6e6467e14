// Goal: statistics cost the same however many rows there are. Method: a database with many rows of
// every kind, and the plans of the statements that read it, with the settings of the connections
// that run them: none reads a whole growing table.
import type { PoolClient } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { countSessions, rollUp, sampleMinute } from '../../src/features/costs/store/roll-up.ts';
import type { Statement } from '../../src/database/statement.ts';
import { countByAgent } from '../../src/features/agents/views.ts';
import { readAttention } from '../../src/features/overview/views/attention.ts';
import { readOverviewRow } from '../../src/features/overview/views/overview.ts';
import { readScrapeRow } from '../../src/features/overview/views/scrape-figures.ts';
import { readServiceHealth } from '../../src/features/overview/views/service-health.ts';
import { readRolledUpStats } from '../../src/features/overview/views/stats.ts';
import { readUsage } from '../../src/features/costs/views.ts';
import * as waiting from '../../src/kernel/views/waiting.ts';
import { BATCH_ID, SESSIONS, createManyRows, growingReads } from '../rows/many-rows.ts';
import type { StoreRig } from './store-rig.ts';

let rig: StoreRig;
let views: PoolClient;

beforeAll(async () => {
  rig = await createManyRows();
  views = await rig.database.views.connect();
});
afterAll(async () => {
  views.release();
  await rig.drop();
});

test.each<[string, Statement<unknown[]>, unknown[]]>([
  ['GET /v1/stats and /metrics', readRolledUpStats, []],
  ['GET /metrics', readScrapeRow, []],
  ['GET /v1/usage', readUsage, ['hour', 'day', new Date(0), new Date(), 'model', null]],
  ['GET /v1/overview', readOverviewRow, []],
  ['GET /v1/agents', countByAgent, [['main'], null]],
  ['GET /v1/attention', readAttention, []],
  ['/readyz and the doctor', readServiceHealth, []],
  ['the roll-up', rollUp, []],
  ['the count of sessions', countSessions, []],
  ['the sample of a minute', sampleMinute, []],
  ['what waits', waiting.LIST_WAITING, [null, null, null, null, null, 51, null]],
  ['what waits in a lane', waiting.LIST_WAITING, ['main', null, null, null, null, 51, null]],
  ['what waits in a session', waiting.LIST_WAITING_OF_SESSION, [null, 'agent:main:s1', null, null, null, 51, null]],
  ['what waits of a batch', waiting.LIST_WAITING_OF_BATCH, [null, null, BATCH_ID, null, null, 51, null]],
  ['the count of what waits', waiting.COUNT_WAITING, [null, null, null, null]],
  ['the count of what waits in a session', waiting.COUNT_WAITING_OF_SESSION, [null, 'agent:main:s1', null, null]],
  ['the count of what waits of a batch', waiting.COUNT_WAITING_OF_BATCH, [null, null, BATCH_ID, null]],
])('%s does not read a whole growing table', async (_name, statement, values) => {
  const { text } = statement.prepared(values);
  const reads = await growingReads(views, text, values);
  expect(reads.length).toBeGreaterThan(0);
  expect(reads.filter(({ node }) => node === 'Seq Scan')).toEqual([]);
});

test('the statistics of many rows equal counts of the rows', async () => {
  const [row] = (await views.query(readRolledUpStats.prepared([]))).rows;
  expect(row.stats).toMatchObject({
    sessions: SESSIONS,
    messages: { waiting: 50, claimed: 20 },
    queueDepth: { main: 50 },
    systemEventsWaiting: 10,
    deadLetters: 10,
  });
});
