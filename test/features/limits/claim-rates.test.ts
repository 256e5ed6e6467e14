// The calls of one worker under a rate limit, with real windows in the database.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { toRateLimits, type CallTokens, type WrittenLimit } from '../../../src/core/rate-limit.ts';
import { claimRates, openRateWindows } from '../../../src/features/limits/claim-rates.ts';
import type { ModelCallRow } from '../../../src/kernel/turn/journal/journal.ts';
import type { ComingCall } from '../../../src/kernel/turn/gate-check.ts';
import { RateLimits } from '../../../src/features/limits/rate-limits.ts';
import { createStoreRig, type StoreRig } from '../../store/store-rig.ts';

let rig: StoreRig;
const made: RateLimits[] = [];
beforeAll(async () => (rig = await createStoreRig()));
afterAll(async () => {
  made.forEach((limits) => limits.stop());
  await rig.drop();
});

/** A call of which the check reads this alone. */
interface TestCall {
  lane?: string;
  turnId?: string;
  tokens?: CallTokens;
  signal?: AbortSignal;
}

const tokensOf = new WeakMap<ComingCall, CallTokens>();

function limitsOf(account: string, limit: Partial<WrittenLimit>, waitMsMax = 20_000) {
  let statements = 0;
  const written = toRateLimits([{ model: 'anthropic/*', batchSharePercent: 100, counts: 'uncached', ...limit }]);
  const limits = new RateLimits({
    limits: () => written,
    clock: systemClock,
    accountOf: () => account,
    tokensOf: (call) => tokensOf.get(call)!,
    store: {
      open: (asks) => openRateWindows(rig.database, asks),
      claim(asks) {
        statements += 1;
        return claimRates(rig.database, account, asks);
      },
    },
    onFault: (error) => expect(error).toBeNull(),
    waitMsMax,
  });
  made.push(limits);
  const ask = ({ lane = 'main', turnId = '1', tokens, signal = new AbortController().signal }: TestCall = {}) => {
    const turn = { id: turnId, session: { lane }, held: { signal } };
    const call = { way: 'live', model: { model: 'claude' }, turn } as unknown as ComingCall;
    tokensOf.set(call, tokens ?? { uncachedTokens: 10, cacheReadTokens: 0, outputTokens: 10 });
    return limits.ask(call);
  };
  return { ask, statements: () => statements };
}

test('a call without a limit passes without a statement', async () => {
  const { ask, statements } = limitsOf('free', { model: 'other/*', requestsPerMinute: 1 });
  expect(await ask()).toEqual({ kind: 'pass' });
  expect(statements()).toBe(0);
});

test('a call that is covered immediately has not waited, however long the clock says it took', async () => {
  const { ask } = limitsOf('covered', { requestsPerMinute: 600 });
  // The first one waits for the statement that claims enough for both.
  const first = await ask();
  expect(first.kind === 'pass' && Number(first.waitedMs) > 0).toBe(true);
  expect(await ask()).toMatchObject({ kind: 'pass', waitedMs: 0 });
});

test('calls within the limit do not need a statement each', async () => {
  const { ask, statements } = limitsOf('plenty', { requestsPerMinute: 1000 });
  for (let calls = 0; calls < 40; calls += 1) expect(await ask()).toMatchObject({ kind: 'pass' });
  expect(statements()).toBeLessThan(10);
});

test('calls of main precede those of batches, and those of older turns precede those of newer ones', async () => {
  const { ask } = limitsOf('ordered', { requestsPerMinute: 600 });
  const passed: string[] = [];
  // They begin to wait together: nothing is claimed before the first statement.
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
      await ask({ lane, turnId });
      passed.push(`${lane} ${turnId}`);
    }),
  );
  expect(passed).toEqual(['main 2', 'main 3', 'subagent 9', 'cron 2', 'batch 1']);
});

test('a call that would have to wait longer than a worker does is parked immediately', async () => {
  const { ask } = limitsOf('late', { requestsPerMinute: 600, outputTokensPerMinute: 6000 }, 5_000);
  const tokens = { uncachedTokens: 1, cacheReadTokens: 0, outputTokens: 6000 };
  expect(await ask({ tokens })).toMatchObject({ kind: 'pass' });
  const late = await ask({ tokens });
  // 6000 tokens refill in a minute.
  expect(late).toMatchObject({ kind: 'wait', isParked: true, reason: { code: 'rate_limited' } });
  if (late.kind === 'wait') expect(late.forMs).toBeGreaterThan(47_500);
});

test('a call that used less than expected returns the rest', async () => {
  const { ask } = limitsOf('settled', { outputTokensPerMinute: 6000 });
  const first = await ask({ tokens: { uncachedTokens: 1, cacheReadTokens: 0, outputTokens: 6000 } });
  const used = { inputTokens: 1, cacheWriteTokens: 0, cacheReadTokens: 0, outputTokens: 100 } as ModelCallRow;
  if (first.kind === 'pass') first.hold?.used?.(used);
  const tokens = { uncachedTokens: 1, cacheReadTokens: 0, outputTokens: 5800 };
  expect(await ask({ tokens })).toMatchObject({ kind: 'pass' });
});

test('a call whose turn is stopped stops waiting', async () => {
  const { ask } = limitsOf('stopped', { requestsPerMinute: 1 }, 600_000);
  await ask();
  const stop = new AbortController();
  const waiting = ask({ signal: stop.signal });
  stop.abort(new Error('stopped'));
  await expect(waiting).rejects.toThrow('stopped');
});
