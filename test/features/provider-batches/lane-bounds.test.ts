// Bounds of the wait of requests in the provider lane: key rotations, batches that the provider
// does not know, and adoptions without proof.
import { expect, test } from 'vitest';
import { createAnthropicBatches } from '../../../src/features/provider-batches/anthropic-batches.ts';
import { viewMessage } from '../../../src/kernel/views/messages.ts';
import { withTestDatabase } from '../../servers/postgres.ts';
import { shareAmongTests } from '../../servers/share-among-tests.ts';
import { collectRequests } from '../../../src/features/provider-batches/collect-requests.ts';
import { followSubmission } from '../../../src/features/provider-batches/follow-submission.ts';
import { changeProviderBatches, countProviderBatches, readProviderBatches } from '../../rows/provider-batches.ts';
import { earlier, not, now } from '../../rows/table.ts';
import { createLaneRig, type LaneRig } from './lane-rig.ts';

let rig: LaneRig;

shareAmongTests(async (onEnd) => {
  const database = await withTestDatabase();
  onEnd(() => database.drop());
  rig = await createLaneRig(database.url, { batchDelayMs: 5 });
  onEnd(() => rig.close());
});

const messageOf = async (id: string) => await viewMessage(rig.database.views, id);

/**
 * Sends a message by the lane and submits its request; resolves with the ids of the message and the
 * submission.
 */
async function submitted(name: string, lane = rig.lane()) {
  const messageId = await rig.send(name, `[[reply: ${name}]]`, { via: 'provider-batch' });
  await rig.runDue();
  await collectRequests(lane);
  const [submission] = (await rig.submissions()).toReversed();
  return { messageId, submissionId: String(submission?.['id']) };
}

const statusOf = async (submissionId: string) =>
  (await rig.submissions()).find((row) => row['id'] === submissionId)?.['status'];

test('after a rotation of the key, submitted batches are polled with the new key', async () => {
  const { messageId } = await submitted('rotated');
  const port = createAnthropicBatches({ apiKey: 'rotated', baseUrl: rig.scripted.url });
  await rig.untilSettled(rig.lane({ port }));
  expect(await messageOf(messageId)).toMatchObject({ status: 'answered', reply: 'rotated' });
});

test('requests of a batch that the provider has not known for 10 minutes go into another batch', async () => {
  const { messageId, submissionId } = await submitted('unknown');
  const warnings: unknown[] = [];
  const lane = rig.lane({ port: { ...rig.port, poll: async () => null } });
  lane.logger = lane.logger.child({});
  lane.logger.warn = (_: unknown, text?: unknown) => void warnings.push(text);
  const isAbsent = async () => {
    await rig.round(lane);
    return countProviderBatches(rig, { id: submissionId, absentSince: not(null) });
  };
  await expect.poll(isAbsent, { interval: 5 }).toBe(1);
  expect(await statusOf(submissionId)).toBe('submitted');
  await changeProviderBatches(rig, { id: submissionId }, { absentSince: earlier('10 minutes'), dueAt: now });
  await rig.round(lane);
  expect(await statusOf(submissionId)).toBe('failed');
  expect(warnings).toContain('Provider did not find a batch for 10 minutes; its requests are queued again');
  await rig.untilSettled(rig.lane());
  expect(await messageOf(messageId)).toMatchObject({ status: 'answered', reply: 'unknown' });
});

test('an adopted batch that was not proved within unprovenMs is given up, and its place in the list is searched again', async () => {
  const foreign = await rig.port.submit({
    requests: [{ customId: 'other', params: '{}' }],
    beforeSend: () => undefined,
  });
  expect(foreign.kind).toBe('submitted');
  const { messageId, submissionId } = await submitted('unproven');
  const adopted = foreign.kind === 'submitted' ? foreign.batch.id : '';
  // The batch of another program was adopted by mistake, and is still running.
  await changeProviderBatches(
    rig,
    { id: submissionId },
    { providerId: adopted, isAdopted: true, isProved: false, dueAt: now },
  );
  const running = { id: adopted, hasEnded: false, expiresAt: null, counts: {} };
  const lane = rig.lane({ port: { ...rig.port, poll: async () => running } });
  lane.config = { ...lane.config, batches: { ...lane.config.batches, unprovenMs: 0 } };
  const isUnknown = async () => {
    await followSubmission(lane);
    const [row] = await readProviderBatches(rig, { id: submissionId }, 'providerId', 'disprovedIds');
    return row;
  };
  await expect.poll(isUnknown, { interval: 5 }).toEqual({ providerId: null, disprovedIds: [adopted] });
  // The list shows the right one.
  await rig.untilSettled(rig.lane());
  expect(await messageOf(messageId)).toMatchObject({ status: 'answered', reply: 'unproven' });
  expect(rig.scripted.batches.records.filter(({ isCancelled }) => isCancelled)).toEqual([]);
});
