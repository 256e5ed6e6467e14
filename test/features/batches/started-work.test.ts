// What the turns of items start: subagents and the answers to their results. Their costs count for
// the item and its batch, its cap covers them, and the batch ends after them.
import { expect, test } from 'vitest';
import type { SessionId } from '../../../src/core/ids.ts';
import { createSessionTools } from '../../../src/features/subagents/tools.ts';
import { useApiRig } from '../../api/use-api-rig.ts';
import { changeBatches, readBatchItems } from '../../rows/batches.ts';
import { changeBudgets, readBudgetWindows } from '../../rows/budgets.ts';
import { endGathering, readDoorbells } from '../../rows/doorbells.ts';
import { readSessions } from '../../rows/sessions.ts';
import { readSubagentRuns } from '../../rows/subagents.ts';
import { above, atMost, not, now, sumOf } from '../../rows/table.ts';
import { readTurns } from '../../rows/turns.ts';
import { spawnCall } from '../../turn/family-rig.ts';
import { batchRig } from './batch-rig.ts';

const shared = useApiRig();

const SPAWNING = { text: `${spawnCall('[[reply: found it]]')} [[reply: I have started a helper.]]` };

function familyBatches() {
  const { rig } = shared;
  const batches = batchRig(rig);
  const worker = rig.turns.worker({ tools: createSessionTools(rig.context.service) });

  /** Runs a turn in every session that has work now. */
  async function workOnce(): Promise<number> {
    const parked = await readTurns(rig, { status: 'parked' }, 'sessionId');
    const due = await readDoorbells(rig, { sessionId: parked.map(({ sessionId }) => sessionId), dueAt: atMost(now) });
    const idle = await readSessions(rig, { waiting: above(0), turnId: null }, 'id');
    // Announcements are gathered.
    await endGathering(rig, { quietMs: not(null) });
    const ids = [...idle.map(({ id }) => id), ...due.map(({ sessionId }) => sessionId)];
    for (const id of ids) await worker.runSession(id as SessionId);
    return ids.length;
  }

  /** Rounds and turns until nothing more happens. */
  async function workAll(): Promise<void> {
    do await batches.round();
    while ((await workOnce()) > 0);
    while (await batches.round());
  }

  return { ...batches, workOnce, workAll };
}

/** The cost of all turns in the sessions of a batch's items and of the subagents below them. */
async function costOfTurns(batchId: string): Promise<number> {
  const items = new Set((await readBatchItems(shared.rig, { batchId }, 'sessionId')).map(({ sessionId }) => sessionId));
  const family = (await readSessions(shared.rig, {}, 'id', 'ancestors')).filter(({ id, ancestors }) =>
    [id, ...ancestors].some((one) => items.has(one)),
  );
  return sumOf(await readTurns(shared.rig, { sessionId: family.map(({ id }) => id) }), 'costMicros');
}

test('the subagents of items count for the item, the batch and its cap, and the batch ends after them', async () => {
  const batches = familyBatches();
  const { body } = await batches.submit({
    tools: { allow: ['*'] },
    items: [SPAWNING, { text: 'alone [[reply: yes]]' }],
    maxCostUsd: 5,
  });
  await batches.round();
  await batches.workOnce();
  await batches.round();
  // Its items have ended, and what the first of them has started has not.
  expect(await batches.show(body.id)).toMatchObject({ status: 'running', counts: { answered: 2 }, followUps: 1 });
  await batches.workAll();
  const ended = await batches.show(body.id);
  expect(ended).toMatchObject({ status: 'ended', outcome: 'completed', followUps: 0, maxCostUsd: 5 });
  expect(ended.costMicros).toBe(await costOfTurns(body.id));
  const [spawning, alone] = await batches.results(body.id);
  expect(spawning).toMatchObject({ reply: 'I have started a helper.' });
  // Three turns: the item, its subagent, and the answer to the result.
  expect(spawning.costUsd).toBeGreaterThan(alone.costUsd * 2);
  expect(Math.round((spawning.costUsd + alone.costUsd) * 1e6)).toBe(ended.costMicros);
  const [cap] = await readBudgetWindows(shared.rig, { budgetId: body.id }, 'spentMicros');
  expect(cap?.spentMicros).toBe(ended.costMicros);
});

test('a batch whose subagents reach its cap pauses, and resumes with a higher one', async () => {
  const batches = familyBatches();
  const { body } = await batches.submit({ tools: { allow: ['*'] }, items: [SPAWNING], maxCostUsd: 5 });
  await batches.round();
  await batches.workOnce();
  await changeBudgets(shared.rig, { id: body.id }, { limitMicros: 1, changedAt: now });
  await changeBatches(shared.rig, { id: body.id }, { maxCostMicros: 1 });
  await shared.rig.turns.budgets.read();
  await batches.workAll();
  expect(await batches.show(body.id)).toMatchObject({
    status: 'paused',
    pauseReason: 'cost_cap',
    counts: { answered: 1 },
  });
  await shared.rig.ask('PATCH', `/v1/batches/${body.id}`, { payload: { maxCostUsd: 5 } });
  await shared.rig.turns.budgets.read();
  await batches.workAll();
  expect(await batches.show(body.id)).toMatchObject({ status: 'ended', outcome: 'completed', followUps: 0 });
});

test.each([
  ['stop', 'waiting'],
  ['finish', 'parked'],
])('a batch that is cancelled with running "%s" ends what its items have started and is %s', async (running, state) => {
  const batches = familyBatches();
  const { body } = await batches.submit({ tools: { allow: ['*'] }, items: [SPAWNING] });
  await batches.round();
  await batches.workOnce();
  if (state === 'parked') {
    await shared.rig.post('/v1/budgets', { scope: 'all', per: 'month', limitUsd: 0 });
    await shared.rig.turns.budgets.read();
    await batches.workOnce();
    await changeBudgets(shared.rig, { removedAt: null }, { removedAt: now });
  }
  await shared.rig.post(`/v1/batches/${body.id}/cancel`, { running });
  await batches.workAll();
  await batches.workAll();
  expect(await batches.show(body.id)).toMatchObject({ status: 'ended', followUps: 0, counts: { answered: 1 } });
  const items = await readBatchItems(shared.rig, { batchId: body.id }, 'sessionId');
  const parentId = items.flatMap(({ sessionId }) => sessionId ?? []);
  const runs = await readSubagentRuns(shared.rig, { parentId }, 'status');
  expect(runs).toEqual([{ status: 'killed' }]);
});
