// What a turn starts counts for the cause of the turn: the API key whose message it answers, and
// the tick of the cron.
import { expect, test } from 'vitest';
import type { InboundMessage } from '../../src/core/inbound.ts';
import type { SessionId } from '../../src/core/ids.ts';
import { newId } from '../../src/ids.ts';
import { createBudget } from '../../src/features/budgets/store/budgets.ts';
import { retryTurn } from '../../src/kernel/turn/journal/retry-turn.ts';
import { causeOfRequest, spawnSubagent } from '../../src/features/subagents/use-cases.ts';
import { fires } from '../../src/features/crons/views.ts';
import { viewTopCosts } from '../../src/features/costs/views.ts';
import { readBudgetWindows } from '../rows/budgets.ts';
import { endGathering } from '../rows/doorbells.ts';
import { readSessions } from '../rows/sessions.ts';
import { above, atLeast, sumOf } from '../rows/table.ts';
import { readTurns } from '../rows/turns.ts';
import { recordedService } from '../service/recorded-service.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { fireAll, makeCron, schedulerParts } from '../features/crons/cron-rig.ts';
import { createFamilyRig, spawnCall, type FamilyRig } from './family-rig.ts';
import { EVERYTHING } from '../../src/core/scope.ts';

let rig: FamilyRig;

shareAmongTests(async (onEnd) => {
  const database = await withTestDatabase();
  onEnd(() => database.drop());
  rig = await createFamilyRig(database.url, {
    agents: { defaults: { subagents: { maxSpawnDepth: 2 } } },
    tools: { sessions: { visibility: 'all' } },
  });
  const made = rig;
  onEnd(() => made.close());
});

/** Runs turns until no session has work. */
async function workAll(): Promise<void> {
  const worker = rig.worker();
  for (;;) {
    const rows = await readSessions(rig, { waiting: above(0) }, 'id');
    if (rows.length === 0) break;
    await endGathering(rig);
    for (const { id } of rows) await worker.runSession(id as SessionId);
  }
  worker.stop();
}

/** A budget of the messages of an API key. */
async function keyBudget(name: string): Promise<string> {
  const id = newId<string>();
  const settings = { per: 'total', zone: 'UTC', warnPercent: 80, action: 'pause', strict: false } as const;
  const cause = { createdBy: 'admin', idempotency: null };
  await createBudget(rig.database, { id, scope: `key:${name}`, limitMicros: 1e9, ...settings }, cause);
  await rig.budgets.read();
  return id;
}

async function spentOf(budgetId: string): Promise<number> {
  const [row] = await readBudgetWindows(rig, { budgetId }, 'spentMicros');
  return row?.spentMicros ?? 0;
}

/** The cost of the turns of all sessions whose keys do not begin with `but`. */
async function costOfAll(since: Date): Promise<{ cost: number; turns: number }> {
  const turns = await readTurns(rig, { startedAt: atLeast(since) }, 'costMicros');
  return { cost: sumOf(turns, 'costMicros'), turns: turns.length };
}

async function now(): Promise<Date> {
  const [row] = await rig.rows('select clock_timestamp() as at');
  return row?.['at'] as Date;
}

test('the budget of an API key covers the subagents of its messages, those below them, and the answers to their results', async () => {
  const budget = await keyBudget('shop');
  const since = await now();
  const below = `${spawnCall('[[reply: deep]]')} [[reply: wait]]`;
  await rig.send('asked', `${spawnCall(below)} [[reply: started]]`, { sentBy: 'shop' } as Partial<InboundMessage>);
  await workAll();
  const { cost, turns } = await costOfAll(since);
  // Message, subagent, the one below it, and an answer to each result.
  expect(turns).toBe(5);
  expect(await spentOf(budget)).toBe(cost);
});

test('a subagent that a request spawns counts for its API key, also when it is steered and its turn is retried', async () => {
  const budget = await keyBudget('spawner');
  await rig.sessionOf('spawning');
  const since = await now();
  const { service } = recordedService(rig);
  const cause = causeOfRequest('spawner', null);
  const request = { task: '[[error: 400 times=1]] [[reply: done]]' };
  const spawned = await spawnSubagent(service, 'agent:main:spawning', { cause, request });
  expect(spawned).toMatchObject({ kind: 'spawned' });
  await workAll();
  const failed = (await readTurns(rig, { status: 'failed' }, 'id')).at(-1);
  expect(await retryTurn(rig.database, String(failed?.['id']))).toMatchObject({ kind: 'ok' });
  await workAll();
  const { cost, turns } = await costOfAll(since);
  expect(turns).toBe(3);
  expect(await spentOf(budget)).toBe(cost);
});

test('the cost of a tick has that of the subagents and of the messages to other sessions that its turn has started', async () => {
  await rig.send('colleague', 'Hello.');
  await workAll();
  const since = await now();
  const message = { sessionKey: 'agent:main:colleague', message: 'Please look. [[reply: I have.]]' };
  const cron = await makeCron(
    rig.database,
    {
      name: 'report',
      schedule: { kind: 'every', everyMs: 60_000 },
      target: 'isolated',
      payload: {
        kind: 'agentTurn',
        message: `${spawnCall('[[reply: below]]')} & [[tool: sessions_send ${JSON.stringify(message)}]] [[reply: sent]]`,
      },
    },
    { dueAgoMs: 61_000 },
  );
  await fireAll(schedulerParts(rig.database));
  await workAll();
  const { cost, turns } = await costOfAll(since);
  expect(turns).toBeGreaterThanOrEqual(5);
  const views = rig.database.views;
  const { items } = await fires.list(views, { cronId: cron.id }, { limit: 10, after: null });
  expect(items).toMatchObject([{ status: 'completed', costMicros: cost }]);
  const { crons } = await viewTopCosts(views, { from: since, limit: 5, scope: EVERYTHING });
  expect(crons).toMatchObject([{ id: cron.id, costMicros: cost, turns }]);
});
