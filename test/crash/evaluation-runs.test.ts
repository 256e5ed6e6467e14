// Goal: an evaluation asks stored turns again, whose tools change things, without any effect: no file,
// no delivery, no request but those to the model, no row outside of its own tables, its batch and
// tries. Each run is made once, its costs are those of the provider, and only what differs from the
// recorded turn diverges, at its step. Method: turns with commands, files, messages, searches of the
// memory and requests are recorded, and asked again by two candidates while workers and schedulers
// are killed at random. `HOLDFAST_CRASH_SWEEP=full`: a thousand turns; the long form has fewer.
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadConfig, priceBookOf } from '../../src/config.ts';
import { priceCall } from '../../src/core/prices.ts';
import { openDatabase } from '../../src/database/database.ts';
import { startEvaluation } from '../../src/features/evaluations/start-evaluation.ts';
import { readModelCalls } from '../rows/calls.ts';
import { countDeliveries } from '../rows/deliveries.ts';
import { readDatasetItems, readEvaluationRuns, readEvaluations } from '../rows/evaluations.ts';
import { countInputs } from '../rows/inputs.ts';
import { countTurns, readTurns } from '../rows/turns.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { isLongForm } from '../servers/test-form.ts';
import { killAtRandom } from './rig/kill-at-random.ts';
import { randomOf, seedOfRun } from './rig/random-of.ts';
import { countRowsOutsideTries } from './rig/rows-outside-tries.ts';
import { startScheduledRig, type ScheduledRig } from './rig/scheduled-rig.ts';
import { isFullSweep } from './rig/sweep-points.ts';
import { waitUntil } from './rig/wait-until.ts';

const seed = seedOfRun();
const items = isFullSweep() ? 1_000 : 40;
const killsMax = isFullSweep() ? 60 : 6;
const killEveryMs = isFullSweep() ? { min: 500, max: 3_000 } : { min: 100, max: 600 };
const overMsMax = isFullSweep() ? 3_000_000 : 400_000;
const OTHER = 'claude-haiku-4-5';

let rig: ScheduledRig;
let databaseUrl: string;

shareAmongTests(async (onEnd) => {
  const testDatabase = await withTestDatabase();
  onEnd(() => testDatabase.drop());
  databaseUrl = testDatabase.url;
  rig = await startScheduledRig({
    databaseUrl,
    workers: 3,
    schedulers: 2,
    settings: { lanes: { batch: 16, main: 16 } },
  });
  onEnd(() => rig.close());
});

/** The calls of a turn, one for each step; all of them change something but the last. */
function callsOf(n: number): string[] {
  return [
    `exec ${JSON.stringify({ command: `echo case ${n} >> log.txt && cat log.txt | wc -l` })}`,
    `write ${JSON.stringify({ file_path: `memory/case-${n}.md`, content: `The case ${n} is about rivers.` })}`,
    `http_effect ${JSON.stringify({ key: `case-${n}` })}`,
    `message ${JSON.stringify({ action: 'send', message: `Note of case ${n}.` })}`,
    `memory_search ${JSON.stringify({ query: 'rivers', maxResults: 1 })}`,
  ];
}

/** The step at which the other model makes another call, from 1; null: it makes the same. */
function plantedStep(n: number): number | null {
  return n % 10 === 0 ? 1 + (((n / 10) * 7) % callsOf(n).length) : null;
}

function textOf(n: number): string {
  const calls = callsOf(n).map((call) => `[[tool: ${call}]]`);
  const end = `[[reply: done ${n}]]`;
  const step = plantedStep(n);
  if (step === null) return `Case ${n}. ${calls.join(' ')} ${end}`;
  const other = `[[tool: exec ${JSON.stringify({ command: `echo other ${n} >> other.txt` })}]]`;
  const [before, after] = [calls.slice(0, step - 1), calls.slice(step - 1)];
  return `Case ${n}. ${before.join(' ')} [[for: ${OTHER}]] ${other} ${end} [[for: others]] ${after.join(' ')} ${end}`;
}

/** Records the turns; each is the first of its session. */
async function recordAll(): Promise<void> {
  const numbers = Array.from({ length: items }, (_, index) => index + 1);
  for (const n of numbers) {
    const more = { deliver: { url: rig.effects.url }, tags: { origin: 'recorded' } };
    await rig.client.send(`case-${n}`, textOf(n), more);
  }
  await waitUntil('all turns have ended', overMsMax, async () => {
    const open = await Promise.all([
      countTurns(rig, { endedAt: null }),
      countInputs(rig, { settledAt: null }),
      countDeliveries(rig, { status: ['pending', 'sending'] }),
    ]);
    return open.every((count) => count === 0);
  });
}

/** The files of all agents with the hashes of their contents. */
function listFiles(): Record<string, string> {
  const files = readdirSync(rig.workspaceDir, { recursive: true, withFileTypes: true }).filter((file) => file.isFile());
  return Object.fromEntries(
    files
      .map(({ parentPath, name }) => join(parentPath, name))
      .map((path) => [path, createHash('sha256').update(readFileSync(path)).digest('hex')]),
  );
}

/** What the provider has counted for the calls of some turns; `lost`: for calls of killed workers. */
async function readBill(turnIds: ReadonlySet<string>): Promise<{ stored: number; lost: number }> {
  const calls = await readModelCalls(rig, {}, 'turnId', 'callNo');
  const known = new Set(calls.map(({ turnId, callNo }) => `${turnId} ${callNo}`));
  const dir = mkdtempSync(join(tmpdir(), 'holdfast-prices-'));
  const book = priceBookOf(loadConfig({ env: { HOLDFAST_DATA_DIR: dir }, cwd: dir }));
  rmSync(dir, { recursive: true, force: true });
  const bill = { stored: 0, lost: 0 };
  for (const { headers, body, usage } of rig.requests) {
    const turnId = headers['x-holdfast-turn'] ?? '';
    if (usage === null || !turnIds.has(turnId)) continue;
    const call = {
      model: `anthropic/${(body as { model: string }).model}`,
      tier: 'standard' as const,
      startedAt: new Date(),
    };
    const { costMicros } = priceCall(book, call, {
      inputTokens: usage.input_tokens,
      outputTokens: usage.output_tokens,
      cacheReadTokens: usage.cache_read_input_tokens,
      cacheWriteTokens: usage.cache_creation_input_tokens,
      cacheWrite1hTokens: 0,
    });
    const isKnown = known.has(`${turnId} ${headers['x-holdfast-call']}`);
    bill[isKnown ? 'stored' : 'lost'] += costMicros ?? Number.NaN;
  }
  return bill;
}

test.runIf(isLongForm())(
  `${items} stored turns whose tools change things are asked again without any effect, each run once, while workers and schedulers are killed (G1, G2, G11, G15, G45)`,
  async () => {
    await recordAll();
    const { id: datasetId } = await rig.ask<{ id: string }>('POST', '/v1/datasets', { name: 'recorded' });
    const filter = { tag: { origin: 'recorded' }, limit: items };
    expect(await rig.ask('POST', `/v1/datasets/${datasetId}/items`, { filter })).toMatchObject({ added: items });
    const before = { files: listFiles(), effects: rig.effects.effects.length, rows: await countRowsOutsideTries(rig) };
    expect(Object.keys(before.files)).toHaveLength(items + 1);

    const began = performance.now();
    const killing = killAtRandom(rig, {
      alone: [],
      groups: [rig.schedulers, rig.workers],
      killsMax,
      killEveryMs,
      random: randomOf(seed),
    });
    const id = await start(datasetId);
    await waitUntil('the evaluation has ended', overMsMax, async () => {
      const [row] = await readEvaluations(rig, { id }, 'status');
      return row?.status === 'ended';
    });
    const kills = await killing.stop();
    const [evaluation] = await readEvaluations(rig, { id });
    expect(evaluation, `seed ${seed}`).toMatchObject({ outcome: 'completed', itemCount: items, runCount: items * 2 });

    // No effect.
    expect(listFiles(), `seed ${seed}`).toEqual(before.files);
    expect(rig.effects.effects.length, `seed ${seed}`).toBe(before.effects);
    expect(await countRowsOutsideTries(rig), `seed ${seed}`).toEqual(before.rows);

    // Each run once.
    const runs = await readEvaluationRuns(rig, { evaluationId: id });
    expect(runs.map(({ candidate, repeat, part }) => [candidate, repeat, part])).toEqual(
      Array.from({ length: items }, () => [
        [0, 1, 0],
        [1, 1, 0],
      ]).flat(),
    );
    expect(new Set(runs.map(({ sessionKey }) => sessionKey)).size).toBe(items * 2);
    expect(await countInputs(rig, { kind: 'batch' })).toBe(items * 2);
    const turnIds = new Set(runs.map(({ turnId }) => turnId ?? ''));
    expect((await readTurns(rig, { kind: 'batch' }, 'id')).map((turn) => turn.id).toSorted()).toEqual(
      [...turnIds].toSorted(),
    );

    // What differs.
    const cases = await readDatasetItems(rig, { datasetId }, 'n', 'input');
    const caseOf = new Map(cases.map(({ n, input }) => [n, Number(/Case (\d+)/.exec(input ?? '')?.[1])]));
    const differing = runs.map((run) => ({
      case: caseOf.get(run.n) ?? 0,
      candidate: run.candidate,
      status: run.status,
      step: (run.divergence as { step: number } | null)?.step ?? null,
      pass: run.pass,
    }));
    const expected = differing.map((run) => {
      const step = run.candidate === 0 ? null : plantedStep(run.case);
      return { ...run, status: step === null ? 'answered' : 'diverged', step, pass: step === null };
    });
    expect(differing, `seed ${seed}`).toEqual(expected);
    const planted = expected.filter(({ step }) => step !== null).length;
    expect(planted).toBe(Math.floor(items / 10));

    // What it has cost.
    const costs = runs.reduce((sum, { costMicros }) => sum + (costMicros ?? Number.NaN), 0);
    const bill = await readBill(turnIds);
    expect(costs, `seed ${seed}`).toBe(bill.stored);
    process.stderr.write(
      `${items} turns asked again by 2 candidates: ${Math.round((performance.now() - began) / 1000)} s with ${kills.length} kills; ` +
        `0 effects; ${planted} of ${planted} planted differences found, and no other; ${costs} micro-dollars, and ${bill.lost} for calls that were lost with their workers; seed ${seed}\n`,
    );
    expect(kills.length, `seed ${seed}`).toBeGreaterThan(0);
  },
);

async function start(datasetId: string): Promise<string> {
  const dir = mkdtempSync(join(tmpdir(), 'holdfast-start-'));
  const config = loadConfig({ env: { HOLDFAST_DATA_DIR: dir }, cwd: dir });
  const database = openDatabase({ url: databaseUrl, role: 'test' });
  const candidates = [{ name: 'now' }, { name: 'small', model: `anthropic/${OTHER}` }];
  const request = { dataset: datasetId, candidates, graders: [{ type: 'equal' as const }], repeats: 1 };
  const started = await startEvaluation({ config, database }, { request, createdBy: 'admin', idempotency: null });
  await database.close();
  rmSync(dir, { recursive: true, force: true });
  if (started.kind !== 'started') throw new Error(JSON.stringify(started));
  return started.id;
}
