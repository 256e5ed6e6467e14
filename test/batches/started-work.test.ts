// What the turns of items start: subagents and the answers to their results. Their costs count for the item and its
// batch, its cap covers them, and the batch ends after them.
import { expect, test } from 'vitest';
import type { SessionId } from '../../src/core/ids.ts';
import { createSessionTools } from '../../src/tools/session-tools.ts';
import { createSessionsPort } from '../../workers/sessions-port.ts';
import { useApiRig } from '../api/use-api-rig.ts';
import { spawnCall } from '../turn/family-rig.ts';
import { batchRig } from './batch-rig.ts';

const shared = useApiRig();

const SPAWNING = { text: `${spawnCall('[[reply: found it]]')} [[reply: I have started a helper.]]` };

function familyBatches() {
  const { rig } = shared;
  const batches = batchRig(rig);
  const worker = rig.turns.worker({ tools: createSessionTools(createSessionsPort(rig.context.service)) });

  /** Runs a turn in every session that has work now. */
  async function workOnce(): Promise<number> {
    const rows = await rig.rows(
      `select s.id from holdfast.sessions s left join holdfast.turns t on t.id = s.turn_id where s.waiting > 0 and s.turn_id is null
         or t.status = 'parked' and exists (select from holdfast.doorbells d where d.session_id = s.id and d.due_at <= clock_timestamp())`,
    );
    // Announcements are gathered.
    await rig.rows('update holdfast.doorbells set gather_until = now(), due_at = now() where quiet_ms is not null');
    for (const { id } of rows) await worker.runSession(id as SessionId);
    return rows.length;
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
  const [row] = await shared.rig.rows(
    `select sum(t.cost_micros)::int as cost from holdfast.turns t join holdfast.sessions s on s.id = t.session_id
     where exists (select from holdfast.batch_items i where i.batch_id = $1 and i.session_id = any (s.ancestors || s.id))`,
    [batchId],
  );
  return Number(row?.['cost']);
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
  const [cap] = await shared.rig.rows(
    'select spent_micros::int as spent from holdfast.budget_windows where budget_id = $1',
    [body.id],
  );
  expect(cap?.['spent']).toBe(ended.costMicros);
});

test('a batch whose subagents reach its cap pauses, and resumes with a higher one', async () => {
  const batches = familyBatches();
  const { body } = await batches.submit({ tools: { allow: ['*'] }, items: [SPAWNING], maxCostUsd: 5 });
  await batches.round();
  await batches.workOnce();
  await shared.rig.rows('update holdfast.budgets set limit_micros = 1, changed_at = clock_timestamp() where id = $1', [
    body.id,
  ]);
  await shared.rig.rows('update holdfast.batches set max_cost_micros = 1 where id = $1', [body.id]);
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
    await shared.rig.rows('update holdfast.budgets set removed_at = clock_timestamp() where removed_at is null');
  }
  await shared.rig.post(`/v1/batches/${body.id}/cancel`, { running });
  await batches.workAll();
  await batches.workAll();
  expect(await batches.show(body.id)).toMatchObject({ status: 'ended', followUps: 0, counts: { answered: 1 } });
  const runs = await shared.rig.rows(
    `select r.status from holdfast.subagent_runs r join holdfast.batch_items i on i.session_id = r.parent_id where i.batch_id = $1`,
    [body.id],
  );
  expect(runs).toEqual([{ status: 'killed' }]);
});
