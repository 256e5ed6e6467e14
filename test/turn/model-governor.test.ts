// The calls of one worker under a rate limit, with real windows in the database.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { rateLimitsOf, type WrittenLimit } from '../../src/core/governor/rate-limit.ts';
import { openRateWindows, takeAllowance } from '../../src/store/governor/take-allowance.ts';
import { ModelGovernor, type GovernedCall } from '../../src/turn/loop/model-governor.ts';
import { createStoreRig, type StoreRig } from '../store/store-rig.ts';

let rig: StoreRig;
const governors: ModelGovernor[] = [];
beforeAll(async () => (rig = await createStoreRig()));
afterAll(async () => {
  governors.forEach((governor) => governor.stop());
  await rig.drop();
});

function governorOf(
  account: string,
  limit: Partial<WrittenLimit>,
): { governor: ModelGovernor; statements: () => number } {
  let statements = 0;
  const limits = rateLimitsOf([{ model: 'anthropic/*', batchSharePercent: 100, counts: 'uncached', ...limit }]);
  const governor = new ModelGovernor({
    limits: () => limits,
    clock: systemClock,
    accountOf: () => account,
    store: {
      open: (asks) => openRateWindows(rig.database, asks),
      take(asks) {
        statements += 1;
        return takeAllowance(rig.database, account, asks);
      },
    },
    onFault: (error) => expect(error).toBeNull(),
  });
  governors.push(governor);
  return { governor, statements: () => statements };
}

function call(more: Partial<GovernedCall> = {}): GovernedCall {
  return {
    model: { model: 'claude' },
    lane: 'main',
    turnId: '1',
    tokens: () => ({ uncachedTokens: 10, cacheReadTokens: 0, outputTokens: 10 }),
    waitMsMax: 20_000,
    signal: new AbortController().signal,
    ...more,
  };
}

test('a call without a limit is admitted without a statement', async () => {
  const { governor, statements } = governorOf('free', { model: 'other/*', requestsPerMinute: 1 });
  expect(await governor.admit(call())).toMatchObject({ kind: 'admitted', waitedMs: 0 });
  expect(statements()).toBe(0);
});

test('a call that the allowance covers immediately has not waited, however long the clock says it took', async () => {
  const { governor } = governorOf('covered', { requestsPerMinute: 600 });
  // The first one waits for the statement that claims the allowance for both.
  const first = await governor.admit(call());
  expect(first.kind === 'admitted' && first.waitedMs > 0).toBe(true);
  expect(await governor.admit(call())).toMatchObject({ kind: 'admitted', waitedMs: 0 });
});

test('calls within the limit do not need a statement each', async () => {
  const { governor, statements } = governorOf('plenty', { requestsPerMinute: 1000 });
  for (let made = 0; made < 40; made += 1) expect(await governor.admit(call())).toMatchObject({ kind: 'admitted' });
  expect(statements()).toBeLessThan(10);
});

test('calls of main precede those of batches, and those of older turns precede those of newer ones', async () => {
  const { governor } = governorOf('ordered', { requestsPerMinute: 600 });
  const admitted: string[] = [];
  // They begin to wait together: there is no allowance before the first statement.
  await Promise.all(
    (
      [
        ['batch', '1'],
        ['main', '3'],
        ['cron', '2'],
        ['main', '2'],
        ['subagent', '9'],
      ] as const
    ).map(async ([lane, turnId]) => {
      await governor.admit(call({ lane, turnId }));
      admitted.push(`${lane} ${turnId}`);
    }),
  );
  expect(admitted).toEqual(['main 2', 'main 3', 'subagent 9', 'cron 2', 'batch 1']);
});

test('a call that would have to wait longer than its limit is refused immediately', async () => {
  const { governor } = governorOf('late', { requestsPerMinute: 600, outputTokensPerMinute: 6000 });
  const large = { uncachedTokens: 1, cacheReadTokens: 0, outputTokens: 6000 };
  expect(await governor.admit(call({ tokens: () => large }))).toMatchObject({ kind: 'admitted' });
  const late = await governor.admit(call({ tokens: () => large, waitMsMax: 5_000 }));
  // 6000 tokens refill in a minute.
  expect(late).toMatchObject({ kind: 'late' });
  if (late.kind === 'late') expect(late.waitMs).toBeGreaterThan(50_000);
});

test('a call that used less than expected returns the rest', async () => {
  const { governor } = governorOf('settled', { outputTokensPerMinute: 6000 });
  const large = { uncachedTokens: 1, cacheReadTokens: 0, outputTokens: 6000 };
  const first = await governor.admit(call({ tokens: () => large }));
  if (first.kind === 'admitted') first.settle({ uncachedTokens: 1, cacheReadTokens: 0, outputTokens: 100 });
  const next = { uncachedTokens: 1, cacheReadTokens: 0, outputTokens: 5800 };
  expect(await governor.admit(call({ tokens: () => next }))).toMatchObject({ kind: 'admitted' });
});

test('a call whose turn is stopped stops waiting', async () => {
  const { governor } = governorOf('stopped', { requestsPerMinute: 1 });
  await governor.admit(call());
  const stop = new AbortController();
  const waiting = governor.admit(call({ signal: stop.signal, waitMsMax: 600_000 }));
  stop.abort(new Error('stopped'));
  await expect(waiting).rejects.toThrow('stopped');
});
