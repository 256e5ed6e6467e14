// Goal: a batch of many conversations with two tool calls each, by way of provider batches, gives
// the same results as a run without faults, line by line, while schedulers, workers and the API
// crash at random: each item has one input and one prompt, each of its calls one answer, no tool
// acts twice, and every provider batch is known (G1, G2, G7, G11). Method: run the same batch
// twice, without and with crashes. `HOLDFAST_CRASH_SWEEP=full`: a thousand conversations; the long
// form has fewer, and the short form leaves it to scheduled-sweep.test.ts.
import { expect, test } from 'vitest';
import { withTestDatabase } from '../servers/postgres.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { isLongForm } from '../servers/test-form.ts';
import { batchPlay, type BatchScene } from './rig/batch-play.ts';
import { killAtRandom } from './rig/kill-at-random.ts';
import { randomOf, seedOfRun } from './rig/random-of.ts';
import { startScheduledRig, type ScheduledRig } from './rig/scheduled-rig.ts';
import { isFullSweep } from './rig/sweep-points.ts';
import { waitUntil } from './rig/wait-until.ts';

const seed = seedOfRun();
const [items, killsMax, killEveryMs] = isFullSweep()
  ? [1_000, 40, { min: 500, max: 2_000 }]
  : [24, 6, { min: 100, max: 400 }];
const overMsMax = isFullSweep() ? 900_000 : 400_000;
const apiKey = 'crash-tests-0123456789';

let rig: ScheduledRig;

shareAmongTests(async (onEnd) => {
  const testDatabase = await withTestDatabase();
  onEnd(() => testDatabase.drop());
  const made = await startScheduledRig({
    databaseUrl: testDatabase.url,
    workers: 3,
    schedulers: 2,
    settings: { batches: { windowMs: 200, pollMs: { min: 50, max: 200 }, settleMs: 1_000 }, lanes: { batch: 16 } },
  });
  onEnd(() => made.close());
  rig = made;
});

/**
 * Sends a request until the API answers, as a client with an idempotency key does while the process
 * restarts.
 */
async function askAgain(method: string, path: string, body?: object): Promise<string> {
  const key = crypto.randomUUID();
  return await waitUntil(`${method} ${path} is answered`, overMsMax, async () => {
    const headers = {
      authorization: `Bearer ${apiKey}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json', 'idempotency-key': key }),
    };
    const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
    const answer = await fetch(rig.api.service.url + path, init).catch(() => null);
    const text = await answer?.text().catch(() => null);
    if (answer === null || text === null || text === undefined || answer.status >= 500) return null;
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return text;
  });
}

/**
 * The results as lines, without the fields that differ between two runs of one file: ids, times,
 * and the effect of the provider's cache on cost.
 */
async function linesOf({ batchId }: BatchScene): Promise<object[]> {
  const text = await askAgain('GET', `/v1/batches/${batchId}/results`);
  return text
    .trimEnd()
    .split('\n')
    .map((line) => {
      const { n, customId, status, reply, error, attempt } = JSON.parse(line) as Record<string, unknown>;
      return { n, customId, status, reply, error, attempt };
    });
}

test.runIf(isLongForm())(
  `${items} conversations of a batch are each answered once, with the results of a run without faults, while schedulers, workers and the API crash (G1, G2, G7, G11)`,
  async () => {
    const ask = async <Answer>(method: string, path: string, body?: object): Promise<Answer> =>
      JSON.parse(await askAgain(method, path, body)) as Answer;
    const play = batchPlay({ ...rig, ask }, 'provider-batch', { items, withinMs: overMsMax });
    const calmFromMs = performance.now();
    const calm = await play.begin();
    await play.settle(calm);
    expect(await play.judge(calm)).toEqual([]);

    const disturbedFromMs = performance.now();
    const disturbance = killAtRandom(rig, {
      alone: [rig.api],
      groups: [rig.schedulers, rig.workers],
      killsMax,
      killEveryMs,
      random: randomOf(seed),
    });
    const disturbed = await play.begin();
    await play.settle(disturbed);
    const overAtMs = performance.now();
    const kills = await disturbance.stop();
    const counts = Map.groupBy(kills, (name) => name.replace(/-\d+$/, ''));
    const killed = [...counts].map(([role, names]) => `${names.length} of ${role}`).join(', ');
    process.stderr.write(
      `${items} conversations: ${Math.round((disturbedFromMs - calmFromMs) / 1000)} s without faults, ` +
        `${Math.round((overAtMs - disturbedFromMs) / 1000)} s with ${kills.length} kills (${killed}); seed ${seed}\n`,
    );
    expect(kills.length, `seed ${seed}`).toBeGreaterThan(0);
    expect(await play.judge(disturbed), `seed ${seed}`).toEqual([]);
    const lines = await linesOf(disturbed);
    expect(lines).toHaveLength(items);
    expect(lines, `seed ${seed}`).toEqual(await linesOf(calm));
  },
);
