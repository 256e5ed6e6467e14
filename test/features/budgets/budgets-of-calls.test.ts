// Every call of a turn counts in its budgets: also calls after a compaction, after a refusal for
// the length, and in provider batches.
import { beforeEach, expect, test } from 'vitest';
import { newId } from '../../../src/ids.ts';
import { changeBudget, createBudget } from '../../../src/features/budgets/store/budgets.ts';
import { storeResults } from '../../../src/features/provider-batches/store/store-results.ts';
import { changeBudgets, readBudgetWindows } from '../../rows/budgets.ts';
import { readModelCalls } from '../../rows/calls.ts';
import { changeProviderRequests } from '../../rows/provider-batches.ts';
import { now, sumOf } from '../../rows/table.ts';
import { withTestDatabase } from '../../servers/postgres.ts';
import { shareAmongTests } from '../../servers/share-among-tests.ts';
import { seedHistory } from '../../turn/seed-history.ts';
import { createTurnRig, type TurnRig } from '../../turn/turn-rig.ts';

/**
 * A window of 20,000 tokens, 4,000 of them reserved; the provider accepts fewer from `refusing`.
 */
const small = { contextTokens: 20_000, compaction: { reserveTokens: 4_000, keepRecentTokens: 3_000 } };

let rig: TurnRig;
let refusing: TurnRig;
let limited: TurnRig;

shareAmongTests(async (onEnd) => {
  const database = await withTestDatabase();
  onEnd(() => database.drop());
  rig = await createTurnRig(database.url, { settings: { agents: { defaults: small } } });
  onEnd(() => rig.close());
  refusing = await createTurnRig(database.url, {
    settings: { agents: { defaults: { ...small, contextTokens: 60_000 } } },
    windowTokens: 16_000,
  });
  onEnd(() => refusing.close());
  const limits = [{ model: 'anthropic/*', requestsPerMinute: 1 }];
  limited = await createTurnRig(database.url, { settings: { models: { limits } } });
  onEnd(() => limited.close());
});

let budgetId: string;

beforeEach(async () => {
  await changeBudgets(rig, { removedAt: null }, { removedAt: now });
  budgetId = newId<string>();
  const settings = {
    scope: 'all',
    per: 'total',
    zone: 'UTC',
    warnPercent: 80,
    action: 'pause',
    strict: false,
  } as const;
  await createBudget(
    rig.database,
    { id: budgetId, ...settings, limitMicros: 1_000_000_000 },
    { createdBy: 'admin', idempotency: null },
  );
  for (const each of [rig, refusing, limited]) await each.budgets.read();
});

test('a turn that a budget holds back returns its place in the rate limits', async () => {
  const worker = limited.worker();
  await changeBudgets(rig, { id: budgetId }, { limitMicros: 0 });
  await limited.send('held', '[[reply: Done.]]');
  expect(await worker.run('held')).toMatchObject({ kind: 'parked' });
  const { after } = await changeBudget(rig.database, budgetId, { limitMicros: 1_000_000 });
  expect(after?.rings).toHaveLength(1);
  // The limit lets one call through in a minute.
  expect(await worker.run('held')).toMatchObject({ kind: 'ended' });
});

/** The calls of a session, and the amounts that its budget has counted. */
async function countedOf(name: string) {
  const calls = await readModelCalls(rig, { sessionId: await rig.sessionOf(name) }, 'purpose', 'costMicros');
  const [window] = await readBudgetWindows(rig, { budgetId }, 'spentMicros', 'reservedMicros');
  return {
    purposes: calls.map(({ purpose }) => purpose),
    cost: sumOf(calls, 'costMicros'),
    spent: window?.spentMicros,
    reserved: window?.reservedMicros,
  };
}

test('the call after a compaction reserves its cost', async () => {
  await seedHistory(rig, 'full', { turns: 10, tokens: 17_000 });
  await rig.send('full', 'Go on. [[reply: Done.]]');
  expect(await rig.worker().run('full')).toMatchObject({ kind: 'ended' });
  const counted = await countedOf('full');
  expect(counted?.['purposes']).toEqual(['compaction', 'answer']);
  expect(counted).toMatchObject({ spent: counted?.['cost'], reserved: 0 });
});

test('so does the call after one that the provider refused for its length', async () => {
  await seedHistory(refusing, 'long', { turns: 10, tokens: 17_000 });
  await refusing.send('long', 'Go on. [[reply: Done.]]');
  expect(await refusing.worker().run('long')).toMatchObject({ kind: 'ended' });
  const counted = await countedOf('long');
  expect(counted?.['purposes']).toEqual(['answer', 'compaction', 'answer']);
  expect(counted).toMatchObject({ spent: counted?.['cost'], reserved: 0 });
});

test('an unusable answer in a provider batch counts, too', async () => {
  await seedHistory(refusing, 'cut', { turns: 10, tokens: 17_000 });
  await refusing.send('cut', 'Go on. [[reply: Done.]]', { via: 'provider-batch' });
  expect(await refusing.worker().run('cut')).toMatchObject({ kind: 'parked' });
  const usage = { input_tokens: 17_000, output_tokens: 100, service_tier: 'batch' };
  const message = {
    id: 'msg_cut',
    type: 'message',
    role: 'assistant',
    model: 'claude-sonnet-5-5',
    content: [{ type: 'text', text: 'Do' }],
    stop_reason: 'model_context_window_exceeded',
    usage,
  };
  const providerBatchId = newId<string>();
  await changeProviderRequests(
    rig,
    { sessionId: await refusing.sessionOf('cut') },
    { status: 'assigned', providerBatchId, requestNo: 0 },
  );
  const result = { requestNo: 0, status: 'answered', result: message, error: null } as const;
  await storeResults(rig.database, { providerBatchId, results: [result] });
  expect(await refusing.worker().run('cut')).toMatchObject({ kind: 'parked' });
  const counted = await countedOf('cut');
  expect(counted?.['purposes']).toEqual(['answer', 'compaction']);
  expect(counted).toMatchObject({ spent: counted?.['cost'] });
});
