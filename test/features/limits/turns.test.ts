// Goal: four workers share one rate limit: the provider refuses almost nothing, and the limit is
// used. Method: a provider that enforces a bucket, over HTTP, and sessions that always have a
// message to answer. The long form measures for half a minute.
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { ModelError } from '../../../src/model/model.ts';
import type { Tool } from '../../../src/tools/tool.ts';
import { addRateWindows } from '../../rows/pauses.ts';
import { withTestDatabase } from '../../servers/postgres.ts';
import { startLimitedProvider, type LimitedRequest } from '../../turn/limited-provider.ts';
import { createTurnRig, type TurnRig } from '../../turn/turn-rig.ts';

const WORKERS = 4;
const SESSIONS_EACH = 16;
const PER_MINUTE = 600;
/** A worker with running turns polls for blocks four times a second. */
const RETRY_AFTER_MS = 5_000;
const CALLS_OF_LONG_TURN = 80;
const [SETTLE_MS, MEASURED_MS] = [10_000, 20_000];
const SETTINGS = { models: { limits: [{ model: 'anthropic/*', requestsPerMinute: PER_MINUTE }] } };

type Worker = ReturnType<TurnRig['worker']>;

/** A session that always has a message to answer. */
async function converse(
  rig: TurnRig,
  worker: Worker,
  { name, isOver }: { name: string; isOver: () => boolean },
): Promise<void> {
  while (!isOver()) {
    await rig.send(name, '[[reply: ok]]');
    while (!isOver() && (await worker.run(name)).kind !== 'ended') await delay(20);
  }
}

test(
  'four workers share one limit: together they make no more calls than it refills',
  { timeout: 60_000 },
  async () => {
    const database = await withTestDatabase();
    const rig = await createTurnRig(database.url, { settings: SETTINGS });
    // Room for the calls of several seconds, in case the machine stalls for that long.
    const provider = await startLimitedProvider(rig.scripted.url, { perMinute: PER_MINUTE, capacity: 60 });
    const workers = Array.from({ length: WORKERS }, () => rig.worker({ modelUrl: provider.url }));
    const account = workers[0]?.context.models.client.accountOf({});
    // The limit begins empty.
    await addRateWindows(rig, { limitId: `${account} anthropic/*`, unit: 'requests', amount: 0 });
    const beganAtMs = performance.now();
    let isOver = false;
    const sessions = workers.flatMap((worker, no) =>
      Array.from({ length: 4 }, (_, index) =>
        converse(rig, worker, { name: `shared-${no}-${index}`, isOver: () => isOver }),
      ),
    );
    await expect.poll(() => provider.requests.length, { timeout: 240_000 }).toBeGreaterThanOrEqual(20);
    isOver = true;
    await Promise.all(sessions);
    const { requests } = provider;
    expect(requests.filter(({ isRefused }) => isRefused)).toEqual([]);
    const elapsedMs = (requests.at(-1)?.atMs ?? 0) - beganAtMs;
    expect(requests.length).toBeLessThanOrEqual((elapsedMs * PER_MINUTE) / 60_000 + 2);
    workers.forEach((worker) => worker.stop());
    await provider.close();
    await rig.close();
    await database.drop();
  },
);

test('a limit that is scarce is used, and the provider refuses almost nothing', async () => {
  const database = await withTestDatabase();
  const rig = await createTurnRig(database.url, { settings: SETTINGS });
  // The bucket of the provider holds a second; that of the limit, which begins full, is too large
  // at first.
  const provider = await startLimitedProvider(rig.scripted.url, { perMinute: PER_MINUTE, capacity: PER_MINUTE / 60 });
  const beganAtMs = performance.now();
  const endsAtMs = beganAtMs + SETTLE_MS + MEASURED_MS;
  const workers = Array.from({ length: WORKERS }, () => rig.worker({ modelUrl: provider.url }));
  await Promise.all(
    workers.flatMap((worker, no) =>
      Array.from({ length: SESSIONS_EACH }, (_, index) =>
        converse(rig, worker, { name: `limited-${no}-${index}`, isOver: () => performance.now() >= endsAtMs }),
      ),
    ),
  );
  const measured = provider.requests.filter(({ atMs }) => atMs >= beganAtMs + SETTLE_MS && atMs < endsAtMs);
  const refused = measured.filter(({ isRefused }) => isRefused).length;
  const allowed = (PER_MINUTE * MEASURED_MS) / 60_000;
  expect(refused).toBeLessThanOrEqual(measured.length / 100);
  expect(measured.length).toBeGreaterThanOrEqual(allowed * 0.9);
  workers.forEach((worker) => worker.stop());
  await provider.close();
  await rig.close();
  await database.drop();
});

/** A worker of a blocked model: what it knew, and when. */
interface WatchedWorker {
  worker: Worker;
  /** When it first learned of the block; `known` resolves then. */
  knownAtMs: number;
  known: Promise<void>;
  /** When the block that it caused itself was committed. */
  committedAtMs: number;
}

/** Records when a worker learns of a block, and when it has written one. */
function watchBlocks(worker: Worker): WatchedWorker {
  const { promise: known, resolve } = Promise.withResolvers<void>();
  const watched: WatchedWorker = { worker, knownAtMs: Infinity, known, committedAtMs: Infinity };
  const { states } = worker.context.models;
  const [learn, ask] = [states.learn.bind(states), states.away.ask.bind(states.away)];
  states.learn = (blocked) => {
    learn(blocked);
    if (blocked.length === 0) return;
    watched.knownAtMs = Math.min(watched.knownAtMs, performance.now());
    resolve();
  };
  states.away.ask = async (...asked) => {
    const answer = await ask(...asked);
    if (answer.kind !== 'pass') return answer;
    const failed = async (fault: ModelError) => {
      const setback = (await answer.hold?.failed?.(fault)) ?? null;
      if (setback?.kind === 'blocked') watched.committedAtMs = Math.min(watched.committedAtMs, performance.now());
      return setback;
    };
    return { ...answer, hold: { ...answer.hold, failed } };
  };
  return watched;
}

// Method: a call may be on its way while the block is written or read, for as long as the machine
// is busy. So each call is compared with what came right before it in its session, the claim of its
// turn or the end of a tool: a call that followed something that happened after its worker had read
// the block is a violation, and so is one of a turn that was claimed after the block was committed.
// The last worker has one session, with turns of many calls, and claims nothing while the block is
// written: a tool waits until its worker knows of the block.
test(
  'after a 429 with Retry-After no worker that has read the block, and no turn that is claimed after it, calls the model until then; then the calls resume',
  { timeout: 90_000 },
  async () => {
    const database = await withTestDatabase();
    /** When a session was ready for its next call: its turn was begun, or a tool ended. */
    const ready = new Map<string, { at: 'claim' | 'tool'; ms: number }[]>();
    const note = (session: string, at: 'claim' | 'tool'): void => {
      ready.set(session, [...(ready.get(session) ?? []), { at, ms: performance.now() }]);
    };
    const tick: Tool = {
      spec: { name: 'tick', description: 'Does nothing.', input_schema: { type: 'object' } },
      summary: 'does nothing',
      isIdempotent: true,
      run: async (input) => {
        const isCommitted = watched.some(({ committedAtMs }) => committedAtMs < Infinity);
        if (isCommitted) await watched.at(-1)?.known;
        note(String((input as { of?: unknown }).of), 'tool');
        return { content: 'done', isError: false };
      },
    };
    const rig = await createTurnRig(database.url, { tools: [tick] });
    const provider = await startLimitedProvider(rig.scripted.url, { perMinute: 1e9, capacity: 1e9 });
    const watched = Array.from({ length: WORKERS }, () => watchBlocks(rig.worker({ modelUrl: provider.url })));
    let isOver = false;
    const talk = async ({ worker }: WatchedWorker, name: string, text: string): Promise<void> => {
      while (!isOver) {
        await rig.send(name, text);
        for (let kind = ''; !isOver && kind !== 'ended'; await delay(20)) {
          note(name, 'claim');
          ({ kind } = await worker.run(name));
        }
      }
    };
    const sessions = watched.flatMap((one, no) => {
      const isLast = no === WORKERS - 1;
      return Array.from({ length: isLast ? 1 : 4 }, (_, index) => {
        const name = `held-${no}-${index}`;
        const calls = isLast ? `[[tool: tick {"of": "${name}"}]] `.repeat(CALLS_OF_LONG_TURN) : '';
        return talk(one, name, `${calls}[[reply: ok]]`);
      });
    });
    const callsOf = (name: string): LimitedRequest[] =>
      provider.requests.filter(({ session }) => session.endsWith(name));
    await expect.poll(() => callsOf('held-3-0').length, { timeout: 60_000 }).toBeGreaterThan(10);
    provider.refuseNext('held-0-0', RETRY_AFTER_MS / 1000);
    const refused = (): LimitedRequest | undefined => provider.requests.find(({ isRefused }) => isRefused);
    await expect.poll(refused, { timeout: 60_000 }).toBeDefined();
    const refusal = refused();
    if (refusal === undefined) throw new Error('No request was refused.');
    const endsAtMs = refusal.atMs + RETRY_AFTER_MS;
    // Each worker learns of the block; otherwise its calls would prove nothing.
    await expect.poll(() => watched.every(({ knownAtMs }) => knownAtMs < endsAtMs), { timeout: 60_000 }).toBe(true);
    const resumed = (): number => provider.requests.filter(({ atMs }) => atMs >= endsAtMs).length;
    await expect.poll(resumed, { timeout: 60_000 }).toBeGreaterThan(20);
    isOver = true;
    await Promise.all(sessions);

    const committedAtMs = Math.min(...watched.map((one) => one.committedAtMs));
    expect(committedAtMs).toBeLessThan(Infinity);
    const early = provider.requests.filter(({ atMs }) => atMs > refusal.atMs && atMs < endsAtMs - 10);
    const violations = early.filter(({ session, atMs }) => {
      const name = session.slice(session.indexOf('held-'));
      const before = ready.get(name)?.findLast(({ ms }) => ms <= atMs);
      if (before === undefined) throw new Error(`A call of ${session} has nothing before it.`);
      const knownAtMs = watched[Number(name.split('-')[1])]?.knownAtMs ?? 0;
      return before.ms > knownAtMs || (before.at === 'claim' && before.ms > committedAtMs);
    });
    expect(violations).toEqual([]);
    watched.forEach(({ worker }) => worker.stop());
    await provider.close();
    await rig.close();
    await database.drop();
  },
);
