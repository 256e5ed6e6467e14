// The same file by live calls and by batches of the provider: the results are equal, line by line, but for ids and costs.
import { expect, test } from 'vitest';
import { createLogger } from '../../src/logger.ts';
import { newId } from '../../src/ids.ts';
import type { SessionId } from '../../src/core/ids.ts';
import { createAnthropicBatches } from '../../src/model/anthropic-batches.ts';
import { collectRequests } from '../../workers/provider-lane/collect-requests.ts';
import { followSubmission } from '../../workers/provider-lane/follow-submission.ts';
import { useApiRig } from '../api/use-api-rig.ts';
import { QUICK } from '../workers/provider-lane-rig.ts';
import { batchRig } from './batch-rig.ts';

const shared = useApiRig();

function laneParts() {
  const { turns, context } = shared.rig;
  return {
    database: turns.database,
    publish: context.service.publish,
    logger: createLogger({ level: 'silent', format: 'json', name: 'test' }),
    config: { batches: QUICK },
    port: createAnthropicBatches({ apiKey: 'test', baseUrl: turns.scripted.url }),
    owner: newId<string>(),
    leaseMs: 15_000,
    newId: () => newId<string>(),
    random: () => 0.5,
    monotonicMs: () => performance.now(),
  };
}

/** Rounds of the feeder, of the lane and of the turns that are due, until the batch has ended. */
async function runByLane(id: string) {
  const { rig } = shared;
  const batches = batchRig(rig);
  const worker = rig.turns.worker();
  const lane = laneParts();
  const step = async (): Promise<string> => {
    await batches.round();
    const due = await rig.rows(
      `select d.session_id from holdfast.doorbells d join holdfast.sessions s on s.id = d.session_id where d.due_at <= clock_timestamp() and s.owner is null`,
    );
    for (const { session_id: sessionId } of due) await worker.runSession(sessionId as SessionId);
    await collectRequests(lane);
    await followSubmission(lane);
    return (await batches.show(id)).status;
  };
  await expect.poll(step, { interval: 5, timeout: 30_000 }).toBe('ended');
  return await batches.show(id);
}

const lines = ['a', 'b', 'c']
  .map((word) => JSON.stringify({ text: `[[tool: echo {"word": "${word}"}]] [[reply: ${word}]]`, customId: word }))
  .join('\n');

test('a file gives the same results by batches of the provider as by live calls', async () => {
  const batches = batchRig(shared.rig);
  const live = await batches.submitLines(lines, '?via=live');
  await batches.run(live.body.id);
  const lane = await batches.submitLines(lines, '?via=provider-batch');
  expect(lane.body).toMatchObject({ via: 'provider-batch', concurrency: 10_000 });
  const changed = await shared.rig.ask('PATCH', `/v1/batches/${lane.body.id}`, { payload: { via: 'live' } });
  expect(changed).toMatchObject({
    status: 400,
    body: { detail: expect.stringContaining('runs with "provider-batch"') },
  });
  const ended = await runByLane(lane.body.id);
  expect(ended).toMatchObject({ status: 'ended', outcome: 'completed', counts: { answered: 3 } });
  const shown = async (id: string) =>
    (await batches.results(id)).map(({ n, customId, status, reply, error, attempt }) => [
      n,
      customId,
      status,
      reply,
      error,
      attempt,
    ]);
  expect(await shown(lane.body.id)).toEqual(await shown(live.body.id));
  const requests = await shared.rig.rows('select distinct batch_id, status from holdfast.provider_requests');
  expect(requests).toEqual([{ batch_id: lane.body.id, status: 'answered' }]);
}, 60_000);

test('requests of a paused batch are submitted when it runs again', async () => {
  const { rig } = shared;
  const batches = batchRig(rig);
  const made = await batches.submitLines(lines, '?via=provider-batch');
  await batches.round();
  await batches.workAll();
  await rig.post(`/v1/batches/${made.body.id}/pause`);
  expect(await collectRequests(laneParts())).toBe(false);
  expect((await batches.show(made.body.id)).counts).toMatchObject({ parked: 3 });
  await rig.post(`/v1/batches/${made.body.id}/resume`);
  expect(await runByLane(made.body.id)).toMatchObject({ outcome: 'completed' });
}, 60_000);
