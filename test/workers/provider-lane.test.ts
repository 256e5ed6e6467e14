// The provider lane end to end: turns whose model calls go through message batches, with every end that a submission and a request may have.
import { drizzle } from 'drizzle-orm/node-postgres';
import { afterEach, describe, expect, test } from 'vitest';
import { NO_FAULTS } from '../../scripted-model/batches/batch-faults.ts';
import { prefixOf } from '../../src/core/provider-batch/custom-id.ts';
import { viewMessage } from '../../src/store/views/messages.ts';
import type { Tool } from '../../src/tools/tool.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import { createLaneRig, losingAnswers, type LaneRig } from './provider-lane-rig.ts';

const effects: string[] = [];
const note: Tool = {
  spec: { name: 'note', description: 'Notes something.', input_schema: { type: 'object' } },
  summary: 'notes something',
  isIdempotent: false,
  run: async (input) => {
    effects.push(String((input as { word?: unknown }).word));
    return { content: 'noted', isError: false };
  },
};

let rig: LaneRig | null = null;
let drop: (() => Promise<void>) | null = null;

async function makeRig(options: Parameters<typeof createLaneRig>[1] = {}): Promise<LaneRig> {
  const database = await withTestDatabase();
  drop = () => database.drop();
  rig = await createLaneRig(database.url, { tools: [note], batchDelayMs: 10, ...options });
  return rig;
}

afterEach(async () => {
  await rig?.close();
  await drop?.();
  rig = null;
  drop = null;
});

/** Sends so many conversations with two tool hops each, and resolves with their messages. */
async function sendMany(of: LaneRig, count: number, script = ''): Promise<string[]> {
  const ids: string[] = [];
  for (let n = 0; n < count; n += 1) {
    const call = (word: string): string => `[[tool: note {"word": "${n}-${word}"}]]`;
    const text = `${script} ${call('a')} ${call('b')} [[reply: done ${n}]]`;
    ids.push(await of.send(`conversation-${n}`, text, { via: 'provider-batch' }));
  }
  return ids;
}

async function repliesOf(of: LaneRig, ids: readonly string[]): Promise<(string | null)[]> {
  const views = drizzle({ client: of.database.views });
  return Promise.all(ids.map(async (id) => (await viewMessage(views, id))?.reply ?? null));
}

const repliesExpected = (count: number): string[] => Array.from({ length: count }, (_, n) => `done ${n}`);

/** How often the provider has answered each request that a turn has used, and whose submissions were made. */
function ownBatches(of: LaneRig) {
  return of.scripted.batches.records.filter(({ isForeign }) => !isForeign);
}

describe('by way of message batches', () => {
  test('conversations with tools end as live ones do, one batch for each hop, and no effect happens twice (G11)', async () => {
    const of = await makeRig();
    const ids = await sendMany(of, 4);
    const lane = of.lane();
    await of.untilSettled(lane);
    expect(await repliesOf(of, ids)).toEqual(repliesExpected(4));
    const own = effects.filter((word) => /^[0-3]-[ab]$/.test(word));
    expect(own.toSorted()).toEqual(['0-a', '0-b', '1-a', '1-b', '2-a', '2-b', '3-a', '3-b']);
    await of.untilRead(lane);
    const submissions = await of.submissions();
    expect(submissions.map((row) => [row['status'], row['request_count']])).toEqual([
      ['read', 4],
      ['read', 4],
      ['read', 4],
    ]);
    expect(ownBatches(of).map(({ id }) => id)).toEqual(submissions.map((row) => row['provider_id']));
    expect(ownBatches(of)[0]?.customIds[0]?.startsWith(prefixOf(String(submissions[0]?.['id'])))).toBe(true);
    // What was used is empty, and what was sent is not kept.
    const kept = await of.rows(
      'select count(*)::int as n from holdfast.provider_requests where result is not null or params is not null',
    );
    expect(kept).toEqual([{ n: 0 }]);
  });

  test.each([
    ['errored overloaded_error', 'is asked again'],
    ['expired', 'goes into the next batch'],
    ['canceled', 'goes into the next batch'],
    ['missing', 'goes into the next batch after a second reading'],
    ['broken', 'goes into the next batch after a second reading'],
  ])('a request that ends %s %s, and the good answers of its batch are kept', async (outcome) => {
    const of = await makeRig();
    const bad = await of.send('bad', `[[batch: ${outcome}]] [[reply: at last]]`, { via: 'provider-batch' });
    const good = await of.send('good', '[[reply: at once]]', { via: 'provider-batch' });
    await of.untilSettled(of.lane());
    expect(await repliesOf(of, [bad, good])).toEqual(['at last', 'at once']);
    expect((await of.submissions()).map((row) => row['request_count'])).toEqual([2, 1]);
  });

  test('a submission that is refused for one request is halved until that request is alone, and only its turn fails', async () => {
    const of = await makeRig({ batches: { windowMs: 0 } });
    const ids = await sendMany(of, 4);
    // Each of these refuses once: the whole, then its halves down to single requests.
    of.scripted.batches.faults = { ...NO_FAULTS, refusals: 3, refuseStatus: 400 };
    await of.untilSettled(of.lane());
    const replies = await repliesOf(of, ids);
    expect(replies.filter((reply) => reply === null)).toHaveLength(1);
    const failed = await of.rows(`select error ->> 'code' as code from holdfast.turns where status = 'failed'`);
    expect(failed).toEqual([{ code: 'model_invalid_request' }]);
  });

  test('a submission that is refused with 429 is made again after retry-after', async () => {
    const of = await makeRig();
    const ids = await sendMany(of, 2);
    of.scripted.batches.faults = { ...NO_FAULTS, refusals: 1, refuseStatus: 429, retryAfter: 0 };
    await of.untilSettled(of.lane());
    expect(await repliesOf(of, ids)).toEqual(repliesExpected(2));
  });

  test('results that break off in the middle are read again', async () => {
    const of = await makeRig();
    const ids = await sendMany(of, 3);
    of.scripted.batches.faults = { ...NO_FAULTS, brokenResults: 2 };
    await of.untilSettled(of.lane());
    expect(await repliesOf(of, ids)).toEqual(repliesExpected(3));
  });

  test('a request whose deadline is near becomes a live call, and its late answer is counted as wasted', async () => {
    const of = await makeRig();
    const id = await of.send('late', '[[reply: live]]', { via: 'provider-batch' });
    await of.runDue();
    const lane = of.lane();
    await of.round(lane);
    await of.rows('update holdfast.provider_requests set leave_at = clock_timestamp()');
    await of.untilSettled(lane);
    expect(await repliesOf(of, [id])).toEqual(['live']);
    await of.untilRead(lane);
    expect(await of.submissions()).toMatchObject([{ status: 'read', wasted: { answers: 1 } }]);
  });

  test('a batch for which no turn waits any more is cancelled', async () => {
    const of = await makeRig({ batchDelayMs: 60_000 });
    await of.send('gone', '[[reply: never]]', { via: 'provider-batch' });
    await of.runDue();
    const lane = of.lane();
    await of.round(lane);
    await of.send('gone', 'instead [[reply: instead]]', { mode: 'interrupt' });
    await of.runDue();
    await expect.poll(async () => (await of.round(lane), ownBatches(of)[0]?.isCancelled), { interval: 5 }).toBe(true);
  });
});

describe('a submission with an unknown outcome', () => {
  test.each([0, 40])(
    'is found in the list and adopted when its answer broke off after %i bytes, and is not made twice',
    async (cutAfterBytes) => {
      const of = await makeRig();
      const ids = await sendMany(of, 2);
      of.scripted.batches.faults = { ...NO_FAULTS, cutAnswers: 2, cutAfterBytes };
      const lane = of.lane();
      await of.untilSettled(lane);
      expect(await repliesOf(of, ids)).toEqual(repliesExpected(2));
      await of.untilRead(lane);
      const submissions = await of.submissions();
      expect(submissions.map((row) => row['is_adopted'])).toEqual([true, true, false]);
      expect(ownBatches(of).map(({ id }) => id)).toEqual(submissions.map((row) => row['provider_id']));
    },
  );

  test('is told from similar batches of other programs, which are neither cancelled nor kept', async () => {
    const of = await makeRig();
    const ids = await sendMany(of, 2);
    of.scripted.batches.faults = { ...NO_FAULTS, cutAnswers: 3, foreignBatches: 3 };
    const lane = of.lane();
    await of.untilSettled(lane);
    expect(await repliesOf(of, ids)).toEqual(repliesExpected(2));
    await of.untilRead(lane);
    const submissions = await of.submissions();
    expect(ownBatches(of).map(({ id }) => id)).toEqual(submissions.map((row) => row['provider_id']));
    const foreign = of.scripted.batches.records.filter(({ isForeign }) => isForeign);
    expect(foreign.map(({ isCancelled }) => isCancelled)).not.toContain(true);
  });

  test('is found although the list lags a quarter of settleMs', async () => {
    const of = await makeRig({ batches: { settleMs: 400 } });
    const ids = await sendMany(of, 2);
    of.scripted.batches.faults = { ...NO_FAULTS, cutAnswers: 3, listingLagMs: 100 };
    const lane = of.lane();
    await of.untilSettled(lane);
    expect(await repliesOf(of, ids)).toEqual(repliesExpected(2));
    expect(ownBatches(of)).toHaveLength(3);
  });

  test('is made again when nothing was made, after settleMs', async () => {
    const of = await makeRig({ batches: { settleMs: 50 } });
    const ids = await sendMany(of, 2);
    let refused = 1;
    const port = {
      ...of.port,
      submit: async (...args: Parameters<typeof of.port.submit>) => {
        if (refused === 0) return await of.port.submit(...args);
        refused -= 1;
        return { kind: 'unknown' as const, message: 'connect ECONNREFUSED' };
      },
    };
    await of.untilSettled(of.lane({ port }));
    expect(await repliesOf(of, ids)).toEqual(repliesExpected(2));
    expect((await of.submissions()).map((row) => row['status'])[0]).toBe('lost');
    expect(ownBatches(of)).toHaveLength(3);
  });

  test('is paid for twice and answered once when the list lags longer than settleMs, and the waste is recorded', async () => {
    const of = await makeRig({ batches: { settleMs: 20 } });
    const ids = await sendMany(of, 2);
    of.scripted.batches.faults = { ...NO_FAULTS, listingLagMs: 100_000 };
    const lane = of.lane({ port: losingAnswers(of.port, 1) });
    await of.untilSettled(lane);
    expect(await repliesOf(of, ids)).toEqual(repliesExpected(2));
    expect(ownBatches(of)).toHaveLength(4);
    of.scripted.batches.faults = { ...NO_FAULTS };
    await of.rows(`update holdfast.provider_batches set due_at = clock_timestamp() where status = 'lost'`);
    const isRead = async (): Promise<unknown> => {
      await of.round(lane);
      return (await of.submissions())[0];
    };
    await expect.poll(isRead, { interval: 5 }).toMatchObject({ status: 'read', wasted: { answers: 2 } });
  });
});
