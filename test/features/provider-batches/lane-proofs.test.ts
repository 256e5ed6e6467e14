// What must not happen to the submissions of an account, whatever other processes and programs do
// at the same time.
import { beforeEach, expect, test } from 'vitest';
import { NO_FAULTS } from '../../../scripted-model/batches/batch-faults.ts';
import { newId } from '../../../src/ids.ts';
import { openSubmission } from '../../../src/features/provider-batches/store/submissions.ts';
import { viewMessage } from '../../../src/kernel/views/messages.ts';
import { collectRequests } from '../../../src/features/provider-batches/collect-requests.ts';
import { followSubmission } from '../../../src/features/provider-batches/follow-submission.ts';
import type { LaneParts } from '../../../src/features/provider-batches/lane-parts.ts';
import { changeProviderBatches, readProviderBatches, readProviderRequests } from '../../rows/provider-batches.ts';
import { atNoTime, not, now } from '../../rows/table.ts';
import { withTestDatabase } from '../../servers/postgres.ts';
import { shareAmongTests } from '../../servers/share-among-tests.ts';
import { createLaneRig, losingAnswers, QUICK, type LaneRig } from './lane-rig.ts';

let rig: LaneRig;

shareAmongTests(async (onEnd) => {
  const database = await withTestDatabase();
  onEnd(() => database.drop());
  rig = await createLaneRig(database.url, { batchDelayMs: 5 });
  onEnd(() => rig.close());
});
beforeEach(() => {
  rig.scripted.batches.faults = { ...NO_FAULTS };
});

/** Sends a message by the lane, up to its queued request; resolves with the id of the message. */
async function queued(name: string): Promise<string> {
  const id = await rig.send(name, `[[reply: ${name}]]`, { via: 'provider-batch' });
  await rig.runDue();
  return id;
}

/** Ends the turn that waits for the lane. */
async function interrupted(name: string): Promise<void> {
  await rig.send(name, 'instead [[reply: instead]]', { mode: 'interrupt' });
  await rig.runDue();
}

const laneWith = (batches: Partial<typeof QUICK>, more: Partial<LaneParts> = {}): LaneParts =>
  rig.lane({ config: { ...rig.config, batches: { ...QUICK, ...batches } }, ...more });

const replyOf = async (id: string) => (await viewMessage(rig.database.views, id))?.reply;

const rowOf = async (id: string | undefined) => (await readProviderBatches(rig, { id }))[0];

const newest = async () => (await rig.submissions()).at(-1);

test('no process opens a submission while the outcome of another one of the account is not known', async () => {
  const ids = [await queued('first'), await queued('second')];
  const known = (await rig.submissions()).length;
  const [begun, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const submitting = laneWith(
    { requestsMax: 1 },
    {
      port: {
        ...rig.port,
        submit: async () => {
          begun.resolve();
          await answer.promise;
          return { kind: 'unknown', message: 'The connection was refused.' };
        },
      },
    },
  );
  const other = laneWith({ requestsMax: 1, settleMs: 50 });
  const first = collectRequests(submitting);
  await begun.promise;
  expect(await collectRequests(other)).toBe(false);
  answer.resolve();
  await first;
  expect((await newest())?.['status']).toBe('unknown');
  expect(await collectRequests(other)).toBe(false);
  expect((await rig.submissions()).length).toBe(known + 1);
  await rig.untilSettled(other);
  expect(await Promise.all(ids.map(replyOf))).toEqual(['first', 'second']);
});

test('two processes that open a submission at the same time open one', async () => {
  await queued('one');
  const known = (await rig.submissions()).length;
  const open = (database: typeof rig.database) => {
    const submission = { id: newId<string>(), account: rig.port.account, owner: newId<string>(), leaseMs: 15_000 };
    return openSubmission(database, submission, { requestsMax: 10, bytesMax: 1_000_000, windowMs: 0 });
  };
  const client = await rig.database.hot.connect();
  await client.query('begin');
  expect(await open({ ...rig.database, hot: client as unknown as typeof rig.database.hot })).toBe(1);
  // The second process sees another request, and not yet the first submission.
  await queued('two');
  let isOver = false;
  const second = open(rig.database).finally(() => (isOver = true));
  const isWaitingOrOver = async () =>
    isOver ||
    (
      await rig.rows(
        `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%open-submission%'`,
      )
    ).length > 0;
  await expect.poll(isWaitingOrOver, { interval: 5 }).toBe(true);
  await client.query('commit');
  client.release();
  expect(await second).toBe(0);
  expect((await rig.submissions()).length).toBe(known + 1);
  await changeProviderBatches(rig, { owner: not(null) }, { leaseExpiresAt: now });
  await rig.untilSettled(rig.lane());
});

/** A batch of another program, with one request, that has ended. */
async function foreignBatch(): Promise<string> {
  const outcome = await rig.port.submit({
    requests: [{ customId: 'other', params: '{}' }],
    beforeSend: () => undefined,
  });
  if (outcome.kind !== 'submitted') throw new Error(`The submission is ${outcome.kind}.`);
  const { id } = outcome.batch;
  await expect.poll(async () => (await rig.port.poll(id))?.hasEnded, { interval: 5 }).toBe(true);
  return id;
}

test('a batch of another program that looks like a submission with an unknown outcome is not adopted once it has ended', async () => {
  const messageId = await queued('looks-alike');
  const port = { ...rig.port, submit: async () => ({ kind: 'unknown' as const, message: 'refused' }) };
  await collectRequests(laneWith({ settleMs: 100_000 }, { port }));
  const id = (await newest())?.['id'];
  const foreign = await foreignBatch();
  await followSubmission(laneWith({ settleMs: 100_000 }));
  expect(await rowOf(id)).toMatchObject({ status: 'unknown', providerId: null, disprovedIds: [foreign] });
  await rig.untilSettled(laneWith({ settleMs: 0 }));
  expect(await replyOf(messageId)).toBe('looks-alike');
});

test('an adopted batch whose results are not those of the submission is given up before any of them is used', async () => {
  const messageId = await queued('adopted');
  await collectRequests(rig.lane());
  const [id, foreign] = [(await newest())?.['id'], await foreignBatch()];
  await changeProviderBatches(
    rig,
    { id },
    { providerId: foreign, isAdopted: true, isProved: false, status: 'ended', dueAt: now },
  );
  await followSubmission(rig.lane());
  expect(await rowOf(id)).toMatchObject({ status: 'unknown', providerId: null, disprovedIds: [foreign] });
  await rig.untilSettled(rig.lane());
  expect(await replyOf(messageId)).toBe('adopted');
});

test('an adopted batch that is not proved to be the submission is not cancelled when no turn waits for it any more', async () => {
  await queued('adopts');
  await collectRequests(rig.lane());
  const id = (await newest())?.['id'];
  // The batch of another program was adopted, and has not ended.
  await changeProviderBatches(
    rig,
    { id },
    { providerId: 'msgbatch_of_another', isAdopted: true, isProved: false, dueAt: now },
  );
  await interrupted('adopts');
  const cancelled: string[] = [];
  const port = {
    ...rig.port,
    poll: async (batchId: string) => ({ id: batchId, hasEnded: false, expiresAt: null, counts: {} }),
    cancel: async (batchId: string) => void cancelled.push(batchId),
  };
  expect(await followSubmission(rig.lane({ port }))).toBe(true);
  expect(await rowOf(id)).toMatchObject({ status: 'submitted', looks: 1 });
  expect(cancelled).toEqual([]);
  // One that is proved is cancelled.
  await changeProviderBatches(rig, { id }, { isProved: true, dueAt: now });
  expect(await followSubmission(rig.lane({ port }))).toBe(true);
  expect(cancelled).toEqual(['msgbatch_of_another']);
  await changeProviderBatches(rig, { id }, { status: 'read', owner: null });
});

test('the answers of a submission that was given up are not used for the requests of a later one', async () => {
  await queued('earlier');
  rig.scripted.batches.faults = { ...NO_FAULTS, listingLagMs: 100_000 };
  const lane = laneWith({ settleMs: 0 }, { port: losingAnswers(rig.port, 1) });
  await collectRequests(lane);
  const earlier = (await newest())?.['id'];
  // It is not in the list yet, so it counts as lost.
  await followSubmission(lane);
  expect(await rowOf(earlier)).toMatchObject({ status: 'lost' });
  await interrupted('earlier');
  const id = await queued('later');
  await collectRequests(lane);
  const later = (await newest())?.['id'];
  expect(await rowOf(later)).toMatchObject({ status: 'submitted', requestCount: 1 });
  await changeProviderBatches(rig, { id: later }, { dueAt: atNoTime });
  // The batch of the first appears after all, and is read.
  rig.scripted.batches.faults = { ...NO_FAULTS };
  const pollAgain = async () => {
    await changeProviderBatches(rig, { id: earlier }, { dueAt: now });
    await followSubmission(lane);
    return rowOf(earlier);
  };
  await expect.poll(pollAgain, { interval: 5 }).toMatchObject({ status: 'read', wasted: { answers: 1 } });
  expect(await readProviderRequests(rig, { providerBatchId: later }, 'status', 'result')).toEqual([
    { status: 'assigned', result: null },
  ]);
  await changeProviderBatches(rig, { id: later }, { dueAt: now });
  await rig.untilSettled(lane);
  expect(await replyOf(id)).toBe('later');
});
