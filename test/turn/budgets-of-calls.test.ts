// Every call of a turn counts in its budgets: also calls after a compaction, after a refusal for the length, and in provider batches.
import { beforeEach, expect, test } from 'vitest';
import { newId } from '../../src/ids.ts';
import { createBudget, patchBudget } from '../../src/store/budgets/budgets.ts';
import { storeResults } from '../../src/store/provider-lane/store-results.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { seedHistory } from './seed-history.ts';
import { createTurnRig, type TurnRig } from './turn-rig.ts';

/** A window of 20,000 tokens, 4,000 of them reserved; the provider accepts fewer from `refusing`. */
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
  await rig.rows('update holdfast.budgets set removed_at = clock_timestamp() where removed_at is null');
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

test('a turn that a budget holds back returns its allowance of the rate limits', async () => {
  const worker = limited.worker();
  await rig.rows('update holdfast.budgets set limit_micros = 0 where id = $1', [budgetId]);
  await limited.send('held', '[[reply: Done.]]');
  expect(await worker.run('held')).toMatchObject({ kind: 'parked' });
  const { after } = await patchBudget(rig.database, budgetId, { limitMicros: 1_000_000 });
  expect(after?.rings).toHaveLength(1);
  // The limit lets one call through in a minute.
  expect(await worker.run('held')).toMatchObject({ kind: 'ended' });
});

/** The calls of a session, and the amounts that its budget has counted. */
async function countedOf(name: string) {
  const [row] = await rig.rows(
    `select array_agg(c.purpose order by c.call_no) as purposes, sum(c.cost_micros)::int as cost, w.spent_micros::int as spent,
       w.reserved_micros::int as reserved
     from holdfast.budget_windows w, holdfast.model_calls c join holdfast.turns t on t.id = c.turn_id
     where t.session_id = $1 and w.budget_id = $2 group by w.spent_micros, w.reserved_micros`,
    [await rig.sessionOf(name), budgetId],
  );
  return row;
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
  await rig.rows(
    `update holdfast.provider_requests set status = 'assigned', provider_batch_id = $2, request_no = 0 where session_id = $1`,
    [await refusing.sessionOf('cut'), providerBatchId],
  );
  const result = { requestNo: 0, status: 'answered', result: JSON.stringify(message), error: null } as const;
  await storeResults(rig.database, { providerBatchId, results: [result] });
  expect(await refusing.worker().run('cut')).toMatchObject({ kind: 'parked' });
  const counted = await countedOf('cut');
  expect(counted?.['purposes']).toEqual(['answer', 'compaction']);
  expect(counted).toMatchObject({ spent: counted?.['cost'] });
});
