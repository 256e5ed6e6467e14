// The process of the provider lane crashes before and after each of its round trips, to the
// database and to the provider; another process continues. Goal: the same answers as without a
// crash, each call in one submission, no tool effect twice, every own batch known. Method: the
// database and the port of a lane are wrapped; from the chosen round trip on all calls fail, and
// its leases expire.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { BatchPort } from '../../../src/features/provider-batches/batch-port.ts';
import type { Database } from '../../../src/database/database.ts';
import { viewMessage } from '../../../src/kernel/views/messages.ts';
import type { Tool } from '../../../src/tools/tool.ts';
import type { LaneParts } from '../../../src/features/provider-batches/lane-parts.ts';
import { changeProviderBatches } from '../../rows/provider-batches.ts';
import { not, now } from '../../rows/table.ts';
import { withTestDatabase } from '../../servers/postgres.ts';
import { isFullForm, isLongForm } from '../../servers/test-form.ts';
import { createLaneRig, type LaneRig } from './lane-rig.ts';

const effects = new Map<string, number>();
const note: Tool = {
  spec: { name: 'note', description: 'Notes something.', input_schema: { type: 'object' } },
  summary: 'notes something',
  isIdempotent: false,
  run: async (input) => {
    const word = String((input as { word?: unknown }).word);
    effects.set(word, (effects.get(word) ?? 0) + 1);
    return { content: 'noted', isError: false };
  },
};

const ITEMS = isFullForm() ? 8 : 3;
const HOPS = 3;
/** More than the round trips of a run without a crash. */
const POINTS_MAX = 200;
/** The short form strikes one in this many points. */
const STRIDE = isLongForm() ? 1 : 7;

let rig: LaneRig;
let drop: () => Promise<void>;
let runs = 0;

beforeAll(async () => {
  const database = await withTestDatabase();
  drop = () => database.drop();
  rig = await createLaneRig(database.url, { tools: [note], batchDelayMs: 2, batches: { settleMs: 40 } });
});
afterAll(async () => {
  await rig.close();
  await drop();
});

class Crash extends Error {}

/** A lane whose process crashes at a round trip; `hasCrashed` is false when the run had fewer. */
function crashingLane(point: number, isAfter: boolean) {
  let trips = 0;
  let hasCrashed = false;
  async function trip<Result>(act: () => Promise<Result>): Promise<Result> {
    if (hasCrashed) throw new Crash();
    trips += 1;
    const isNow = trips === point;
    if (isNow && !isAfter) hasCrashed = true;
    if (hasCrashed) throw new Crash();
    const result = await act();
    if (isNow) hasCrashed = true;
    if (hasCrashed) throw new Crash();
    return result;
  }
  const { hot } = rig.database;
  const query = (...args: [never]): Promise<unknown> => trip(() => hot.query(...args) as unknown as Promise<unknown>);
  // The lane sends statements and nothing else.
  const database = { ...rig.database, outages: rig.database.outages, hot: { query } } as unknown as Database;
  const port: BatchPort = {
    ...rig.port,
    submit: (submission) => trip(() => rig.port.submit(submission)),
    find: (sinceMs) => trip(() => rig.port.find(sinceMs)),
    poll: (id) => trip(() => rig.port.poll(id)),
    read: (id) => trip(() => rig.port.read(id)),
    cancel: (id) => trip(() => rig.port.cancel(id)),
  };
  return { parts: rig.lane({ database, port }), state: () => ({ hasCrashed, trips }) };
}

async function sendAll(name: string): Promise<string[]> {
  const ids: string[] = [];
  for (let n = 0; n < ITEMS; n += 1) {
    const word = `${name}-${n}`;
    const call = (part: string): string => `[[tool: note {"word": "${word}-${part}"}]]`;
    ids.push(await rig.send(word, `${call('a')} ${call('b')} [[reply: done ${word}]]`, { via: 'provider-batch' }));
  }
  return ids;
}

async function untilCrash(parts: LaneParts): Promise<void> {
  await rig.untilSettled(parts).catch((error: unknown) => {
    if (!(error instanceof Crash)) throw error;
  });
}

const requestsOnServer = (): number =>
  rig.scripted.batches.records.reduce((sum, { customIds }) => sum + customIds.length, 0);

async function strike(point: number, isAfter: boolean): Promise<boolean> {
  const name = `run-${(runs += 1)}`;
  const before = requestsOnServer();
  const ids = await sendAll(name);
  const { parts, state } = crashingLane(point, isAfter);
  await untilCrash(parts);
  await changeProviderBatches(rig, { owner: not(null) }, { leaseExpiresAt: now });
  const next = rig.lane();
  await rig.untilSettled(next);
  await rig.untilRead(next);
  const views = rig.database.views;
  const replies = await Promise.all(ids.map(async (id) => (await viewMessage(views, id))?.reply));
  const where = `${isAfter ? 'after' : 'before'} round trip ${point}`;
  expect(replies, where).toEqual(Array.from({ length: ITEMS }, (_, n) => `done ${name}-${n}`));
  expect(requestsOnServer() - before, `requests at the provider, ${where}`).toBe(ITEMS * HOPS);
  const own = [...effects].filter(([word]) => word.startsWith(`${name}-`));
  expect(own, where).toHaveLength(ITEMS * (HOPS - 1));
  expect(
    own.filter(([, times]) => times !== 1),
    where,
  ).toEqual([]);
  return state().hasCrashed;
}

describe('a process of the provider lane that crashes', () => {
  test.each([false, true])(
    'before or after a round trip (after: %s) leaves the same answers, each call submitted once, no effect twice (G10, G11)',
    async (isAfter) => {
      let point = 1;
      while (await strike(point, isAfter)) {
        point += STRIDE;
        if (point > POINTS_MAX) throw new Error(`A run has more than ${POINTS_MAX} round trips.`);
      }
      const known = await rig.submissions();
      const submitted = known.map((row) => row.providerId).filter((id) => id !== null);
      expect(new Set(submitted)).toEqual(new Set(rig.scripted.batches.records.map(({ id }) => id)));
      expect(submitted).toHaveLength(rig.scripted.batches.records.length);
    },
    120_000,
  );
});
