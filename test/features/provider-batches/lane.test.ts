// The provider lane end to end: turns whose model calls go through message batches, with every
// possible end of a submission and a request.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { NO_FAULTS } from '../../../scripted-model/batches/batch-faults.ts';
import { formatPrefix } from '../../../src/features/provider-batches/rules/request-end.ts';
import type { BatchPort } from '../../../src/features/provider-batches/batch-port.ts';
import { viewMessage } from '../../../src/kernel/views/messages.ts';
import type { Tool } from '../../../src/tools/tool.ts';
import { collectRequests } from '../../../src/features/provider-batches/collect-requests.ts';
import { withTestDatabase } from '../../servers/postgres.ts';
import type { LaneParts } from '../../../src/features/provider-batches/lane-parts.ts';
import { changeProviderBatches, changeProviderRequests, countProviderRequests } from '../../rows/provider-batches.ts';
import { above, ago, not, now } from '../../rows/table.ts';
import { readTurns } from '../../rows/turns.ts';
import { isFullForm, isLongForm } from '../../servers/test-form.ts';
import { createLaneRig, losingAnswers, QUICK, type LaneRig } from './lane-rig.ts';

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

/** Of the answer to a submission; it may be a few more or less. */
const ANSWER_BYTES = 480;

let rig: LaneRig;
let closers: (() => Promise<unknown>)[] = [];
/** The batches from before the test. */
let earlier = { submissions: 0, batches: 0 };
let tests = 0;

async function makeRig(options: Parameters<typeof createLaneRig>[1] = {}): Promise<LaneRig> {
  const database = await withTestDatabase();
  const made = await createLaneRig(database.url, { tools: [note], batchDelayMs: 5, ...options });
  closers.push(
    () => database.drop(),
    () => made.close(),
  );
  return made;
}

beforeAll(async () => {
  rig = await makeRig();
});
afterAll(async () => {
  for (const close of closers.toReversed()) await close();
  closers = [];
});
beforeEach(async () => {
  tests += 1;
  rig.scripted.batches.faults = { ...NO_FAULTS };
  // None is searched for any more.
  await changeProviderBatches(rig, { status: 'lost' }, { submitStartedAt: ago('2 days') });
  earlier = { submissions: (await rig.submissions()).length, batches: rig.scripted.batches.records.length };
});

const submissionsNow = async () => (await rig.submissions()).slice(earlier.submissions);

/** A lane with other settings. */
const laneWith = (batches: Partial<typeof QUICK>, more: Partial<LaneParts> = {}): LaneParts =>
  rig.lane({ config: { ...rig.config, batches: { ...QUICK, ...batches } }, ...more });

/** Sends this many conversations with two tool hops each, and resolves with their messages. */
async function sendMany(count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let n = 0; n < count; n += 1) {
    const call = (word: string): string => `[[tool: note {"word": "${tests}-${n}-${word}"}]]`;
    const text = `${call('a')} ${call('b')} [[reply: done ${n}]]`;
    ids.push(await rig.send(`conversation-${tests}-${n}`, text, { via: 'provider-batch' }));
  }
  return ids;
}

async function repliesOf(ids: readonly string[]): Promise<(string | null)[]> {
  const views = rig.database.views;
  return Promise.all(ids.map(async (id) => (await viewMessage(views, id))?.reply ?? null));
}

const repliesExpected = (count: number): string[] => Array.from({ length: count }, (_, n) => `done ${n}`);

/** The batches that the lane has made since the test began. */
function ownBatches(of = rig) {
  const from = of === rig ? earlier.batches : 0;
  return of.scripted.batches.records.slice(from).filter(({ isForeign }) => !isForeign);
}

describe('by way of message batches', () => {
  test('conversations with tools end as live ones do, one batch for each hop, and no effect happens twice (G11)', async () => {
    const ids = await sendMany(4);
    const lane = rig.lane();
    await rig.untilSettled(lane);
    expect(await repliesOf(ids)).toEqual(repliesExpected(4));
    const own = effects.filter((word) => word.startsWith(`${tests}-`));
    expect(own.toSorted()).toEqual(
      ['0-a', '0-b', '1-a', '1-b', '2-a', '2-b', '3-a', '3-b'].map((word) => `${tests}-${word}`),
    );
    await rig.untilRead(lane);
    const submissions = await submissionsNow();
    expect(submissions.map((row) => [row['status'], row.requestCount])).toEqual([
      ['read', 4],
      ['read', 4],
      ['read', 4],
    ]);
    expect(ownBatches().map(({ id }) => id)).toEqual(submissions.map((row) => row.providerId));
    expect(ownBatches()[0]?.customIds[0]?.startsWith(formatPrefix(String(submissions[0]?.['id'])))).toBe(true);
    // Used rows are emptied, and sent requests are not kept.
    expect(await countProviderRequests(rig, { result: not(null) })).toBe(0);
    expect(await countProviderRequests(rig, { params: not(null) })).toBe(0);
  });

  test.each([
    ['errored overloaded_error', 'is asked again'],
    ['expired', 'goes into the next batch'],
    ['canceled', 'goes into the next batch'],
    ['missing', 'goes into the next batch after a second reading'],
    ['broken', 'goes into the next batch after a second reading'],
  ])('a request that ends %s %s, and the good answers of its batch are kept', async (outcome) => {
    const bad = await rig.send(`bad-${tests}`, `[[batch: ${outcome}]] [[reply: at last]] ${outcome}`, {
      via: 'provider-batch',
    });
    const good = await rig.send(`good-${tests}`, '[[reply: at once]]', { via: 'provider-batch' });
    await rig.untilSettled(rig.lane());
    expect(await repliesOf([bad, good])).toEqual(['at last', 'at once']);
    expect((await submissionsNow()).map((row) => row.requestCount)).toEqual([2, 1]);
  });

  test('a submission that is refused for one request is halved until that request is alone, and only its turn fails', async () => {
    const ids = await sendMany(4);
    // Each of these refuses once: the whole, then its halves down to single requests.
    rig.scripted.batches.faults = { ...NO_FAULTS, refusals: 3, refuseStatus: 400 };
    await rig.untilSettled(rig.lane());
    const replies = await repliesOf(ids);
    expect(replies.filter((reply) => reply === null)).toHaveLength(1);
    const failed = (await readTurns(rig, { status: 'failed' }, 'code')).slice(-1);
    expect(failed).toEqual([{ code: 'model_invalid_request' }]);
  });

  test.each([
    ['a submission that is refused with 429 is made', { refusals: 1, refuseStatus: 429, retryAfter: 0 }],
    ['results whose stream breaks are read', { brokenResults: 2 }],
  ])('%s again', async (_name, faults) => {
    const ids = await sendMany(3);
    rig.scripted.batches.faults = { ...NO_FAULTS, ...faults };
    await rig.untilSettled(rig.lane());
    expect(await repliesOf(ids)).toEqual(repliesExpected(3));
  });

  test('a request whose deadline is near becomes a live call, and its late answer is counted as wasted', async () => {
    const id = await rig.send(`late-${tests}`, '[[reply: live]]', { via: 'provider-batch' });
    await rig.runDue();
    const lane = rig.lane();
    // Submitted, and not polled: its answer may already exist.
    await collectRequests(lane);
    await changeProviderRequests(rig, {}, { leaveAt: now });
    await rig.untilSettled(lane);
    expect(await repliesOf([id])).toEqual(['live']);
    await rig.untilRead(lane);
    expect(await submissionsNow()).toMatchObject([{ status: 'read', wasted: { answers: 1 } }]);
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
      const ids = await sendMany(2);
      rig.scripted.batches.faults = { ...NO_FAULTS, cutAnswers: 2, cutAfterBytes };
      const lane = rig.lane();
      await rig.untilSettled(lane);
      expect(await repliesOf(ids)).toEqual(repliesExpected(2));
      await rig.untilRead(lane);
      const submissions = await submissionsNow();
      expect(submissions.map((row) => row.isAdopted)).toEqual([true, true, false]);
      expect(ownBatches().map(({ id }) => id)).toEqual(submissions.map((row) => row.providerId));
    },
  );

  test('is distinguished from similar batches of other programs, which are neither cancelled nor adopted', async () => {
    const ids = await sendMany(2);
    rig.scripted.batches.faults = { ...NO_FAULTS, cutAnswers: 3, foreignBatches: 3 };
    const lane = rig.lane();
    await rig.untilSettled(lane);
    expect(await repliesOf(ids)).toEqual(repliesExpected(2));
    await rig.untilRead(lane);
    const submissions = await submissionsNow();
    expect(ownBatches().map(({ id }) => id)).toEqual(submissions.map((row) => row.providerId));
    const foreign = rig.scripted.batches.records.filter(({ isForeign }) => isForeign);
    expect(foreign.map(({ isCancelled }) => isCancelled)).not.toContain(true);
  });

  test('is found although the list lags a quarter of settleMs', async () => {
    const ids = await sendMany(2);
    rig.scripted.batches.faults = { ...NO_FAULTS, cutAnswers: 3, listingLagMs: 100 };
    const lane = laneWith({ settleMs: 400 });
    await rig.untilSettled(lane);
    expect(await repliesOf(ids)).toEqual(repliesExpected(2));
    expect(ownBatches()).toHaveLength(3);
  });

  test('is made again after settleMs when none was made', async () => {
    const ids = await sendMany(2);
    let refused = 1;
    const port = {
      ...rig.port,
      submit: async (...args: Parameters<typeof rig.port.submit>) => {
        if (refused === 0) return await rig.port.submit(...args);
        refused -= 1;
        return { kind: 'unknown' as const, message: 'connect ECONNREFUSED' };
      },
    };
    await rig.untilSettled(laneWith({ settleMs: 50 }, { port }));
    expect(await repliesOf(ids)).toEqual(repliesExpected(2));
    expect((await submissionsNow()).map((row) => row['status'])[0]).toBe('lost');
    expect(ownBatches()).toHaveLength(3);
  });

  test('is paid for twice and answered once when the list lags longer than settleMs, and the waste is recorded', async () => {
    const ids = await sendMany(2);
    rig.scripted.batches.faults = { ...NO_FAULTS, listingLagMs: 100_000 };
    const lane = laneWith({ settleMs: 20 }, { port: losingAnswers(rig.port, 1) });
    await rig.untilSettled(lane);
    expect(await repliesOf(ids)).toEqual(repliesExpected(2));
    expect(ownBatches()).toHaveLength(4);
    rig.scripted.batches.faults = { ...NO_FAULTS };
    await changeProviderBatches(rig, { status: 'lost', submitStartedAt: above(ago('1 day')) }, { dueAt: now });
    const isRead = async (): Promise<unknown> => {
      await rig.round(lane);
      return (await submissionsNow())[0];
    };
    await expect.poll(isRead, { interval: 5 }).toMatchObject({ status: 'read', wasted: { answers: 2 } });
  });

  test('of many, none is made twice and no batch of another program is cancelled or adopted, with an exact list and with one that lags', async () => {
    const rounds = isFullForm() ? 100 : isLongForm() ? 20 : 2;
    const each = 5;
    let submissions = 0;
    const port: BatchPort = {
      ...rig.port,
      submit: (submission) => {
        // The full form cuts after each byte, from none to all of them.
        const cutAfterBytes = Math.floor((submissions * ANSWER_BYTES) / (rounds * each));
        submissions += 1;
        Object.assign(rig.scripted.batches.faults, { cutAfterBytes });
        return rig.port.submit(submission);
      },
    };
    for (let round = 0; round < rounds; round += 1) {
      const listingLagMs = round % 2 === 0 ? 0 : 50;
      rig.scripted.batches.faults = { ...NO_FAULTS, cutAnswers: 10, listingLagMs, foreignBatches: 1 };
      const from = rig.scripted.batches.records.length;
      const known = (await rig.submissions()).length;
      const names = Array.from({ length: each }, (_, n) => `many-${tests}-${round}-${n}`);
      const ids: string[] = [];
      // Each is a submission of its own.
      const lane = laneWith({ settleMs: 200, requestsMax: 1 }, { port });
      for (const name of names) ids.push(await rig.send(name, `[[reply: done ${name}]]`, { via: 'provider-batch' }));
      await rig.untilSettled(lane);
      await rig.untilRead(lane);
      expect(await repliesOf(ids)).toEqual(names.map((name) => `done ${name}`));
      const made = rig.scripted.batches.records.slice(from);
      const rows = (await rig.submissions()).slice(known);
      expect(made.filter(({ isForeign }) => !isForeign).map(({ id }) => id)).toEqual(rows.map((row) => row.providerId));
      expect(made.filter(({ isCancelled }) => isCancelled)).toEqual([]);
    }
  }, 400_000);
});
