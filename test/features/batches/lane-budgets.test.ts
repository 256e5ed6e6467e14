// Batches by way of the provider under budgets: all their calls reserve before the first of them
// has ended, so what is reserved fills a budget of which little is spent.
import { budgetBookOf } from '../../../src/features/budgets/rounds.ts';
import { expect, test } from 'vitest';
import { decideExit } from '../../../src/features/batches/commands/batch-watch.ts';
import { useApiRig } from '../../api/use-api-rig.ts';
import { collectRequests } from '../../../src/features/provider-batches/collect-requests.ts';
import { laneBatchRig } from './lane-batch-rig.ts';

const shared = useApiRig();

/** The first calls reserve about half a cent each, and each item costs much less. */
const LIMIT_USD = 0.02;
const lines = Array.from({ length: 10 }, (_, n) => JSON.stringify({ text: `item ${n} [[reply: done ${n}]]` })).join(
  '\n',
);

test('a batch whose cap is full of reservations submits them, and continues when they cost less', async () => {
  const batches = laneBatchRig(shared.rig);
  const { body } = await batches.submitLines(lines, `?via=provider-batch&maxCostUsd=${LIMIT_USD}`);
  await batches.round();
  await batches.workAll();
  await batches.round();
  const paused = await batches.show(body.id);
  expect(paused).toMatchObject({ status: 'paused', pauseReason: 'cost_cap', costUsd: 0 });
  // The command line waits on.
  expect([decideExit(paused), decideExit({ ...paused, reservedUsd: 0 })]).toEqual([null, 8]);
  expect(await collectRequests(batches.laneParts())).toBe(true);
  const ended = await batches.runByLane(body.id);
  expect(ended).toMatchObject({ outcome: 'completed', counts: { answered: 10 }, reservedUsd: 0 });
  expect(ended.costUsd).toBeLessThan(LIMIT_USD);
});

test('so does a batch under another budget, which is not reached any more', async () => {
  const batches = laneBatchRig(shared.rig);
  const { body: budget } = await shared.rig.post('/v1/budgets', { scope: 'all', per: 'total', limitUsd: LIMIT_USD });
  for (const process of [shared.rig.context.service, shared.rig.turns]) await budgetBookOf(process).read();
  const { body } = await batches.submitLines(lines, '?via=provider-batch');
  await batches.round();
  await batches.workAll();
  await budgetBookOf(shared.rig.context.service).read();
  await batches.round();
  expect(await batches.show(body.id)).toMatchObject({ status: 'paused', pauseReason: 'budget' });
  expect(await batches.runByLane(body.id)).toMatchObject({ outcome: 'completed', counts: { answered: 10 } });
  const { items } = (await shared.rig.get('/v1/budgets')).body;
  const [shown] = items.filter(({ id }: { id: string }) => id === budget.id);
  expect(shown).toMatchObject({ isReached: false, reservedUsd: 0 });
});
