// Goal: statistics cost the same however many rows there are. Method: a database with many rows of every kind, and the plans of the statements that
// read it, with the settings of the connections that run them: none reads a whole growing table.
import type { PoolClient } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { COUNT_SESSIONS, ROLL_UP, SAMPLE_MINUTE } from '../../src/features/costs/store/roll-up.ts';
import type { Statement } from '../../src/database/statement.ts';
import { countByAgent } from '../../src/kernel/views/agents.ts';
import { readAttention } from '../../src/features/overview/views/attention.ts';
import { OVERVIEW } from '../../src/features/overview/views/overview.ts';
import { SCRAPE_FIGURES } from '../../src/features/overview/views/scrape-figures.ts';
import { SERVICE_HEALTH } from '../../src/features/overview/views/service-health.ts';
import { STATS } from '../../src/features/overview/views/stats.ts';
import { USAGE } from '../../src/features/costs/views.ts';
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
  ['GET /v1/stats and /metrics', STATS, []],
  ['GET /metrics', SCRAPE_FIGURES, []],
  ['GET /v1/usage', USAGE, ['hour', 'day', new Date(0), new Date(), 'model']],
  ['GET /v1/overview', OVERVIEW, []],
  ['GET /v1/agents', countByAgent, [['main']]],
  ['GET /v1/attention', readAttention, []],
  ['/readyz and the doctor', SERVICE_HEALTH, []],
  ['the roll-up', ROLL_UP, []],
  ['the count of sessions', COUNT_SESSIONS, []],
  ['the sample of a minute', SAMPLE_MINUTE, []],
  ['what waits', waiting.LIST_WAITING, [null, null, null, null, 51, null]],
  ['what waits in a lane', waiting.LIST_WAITING, ['main', null, null, null, 51, null]],
  ['what waits in a session', waiting.LIST_WAITING_OF_SESSION, [null, 'agent:main:s1', null, null, 51, null]],
  ['what waits of a batch', waiting.LIST_WAITING_OF_BATCH, [null, null, BATCH_ID, null, 51, null]],
  ['the count of what waits', waiting.COUNT_WAITING, [null, null, null]],
  ['the count of what waits in a session', waiting.COUNT_WAITING_OF_SESSION, [null, 'agent:main:s1', null]],
  ['the count of what waits of a batch', waiting.COUNT_WAITING_OF_BATCH, [null, null, BATCH_ID]],
])('%s does not read a whole growing table', async (_name, statement, values) => {
  const { text } = statement.prepared(values);
  const reads = await growingReads(views, text, values);
  expect(reads.length).toBeGreaterThan(0);
  expect(reads.filter(({ node }) => node === 'Seq Scan')).toEqual([]);
});

test('the statistics of many rows equal counts of the rows', async () => {
  const [row] = (await views.query(STATS.prepared([]))).rows;
  expect(row.stats).toMatchObject({
    sessions: SESSIONS,
    messages: { waiting: 50, claimed: 20 },
    queueDepth: { main: 50 },
    systemEventsWaiting: 10,
    deadLetters: 10,
  });
});
