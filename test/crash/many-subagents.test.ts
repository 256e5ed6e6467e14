// Goal: with many subagents of many parents and workers that keep crashing, the end of each
// subagent is announced to its parent exactly once (G18). Method: parents spawn as many subagents
// as the limits allow; meanwhile workers are killed one after the other, at random.
// `HOLDFAST_CRASH_SWEEP=full`: a thousand subagents of fifty parents.
import { expect, test } from 'vitest';
import { setTimeout as delay } from 'node:timers/promises';
import { readDeadLetters } from '../rows/dead-letters.ts';
import { countSessions, readSessions } from '../rows/sessions.ts';
import { countSubagentRuns } from '../rows/subagents.ts';
import { above, atLeast, like, not } from '../rows/table.ts';
import { countTurns } from '../rows/turns.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { isLongForm } from '../servers/test-form.ts';
import { startCrashRig, type CrashRig } from './rig/crash-rig.ts';
import { randomOf, seedOfRun } from './rig/random-of.ts';
import { isFullSweep } from './rig/sweep-points.ts';
import type { Victim } from './rig/victim.ts';
import { waitUntil } from './rig/wait-until.ts';

const seed = seedOfRun();
const [parents, each, kills, taskMsMax] = isFullSweep() ? [50, 20, 25, 400] : [5, 8, 3, 2_000];
const workers = 3;
const overMsMax = isFullSweep() ? 1_000_000 : 400_000;
/** Between two kills, in milliseconds. */
const killEveryMs = { min: 500, max: 1_500 };

let rig: CrashRig;

shareAmongTests(async (onEnd) => {
  const testDatabase = await withTestDatabase();
  onEnd(() => testDatabase.drop());
  const made = await startCrashRig({
    databaseUrl: testDatabase.url,
    workers,
    agentDefaults: { subagents: { maxChildrenPerSession: each, announceDebounce: 200 } },
  });
  onEnd(() => made.close());
  rig = made;
});

async function isOver(): Promise<boolean> {
  return (
    (await countSubagentRuns(rig.database, { status: not('running') })) === parents * each &&
    (await countSessions(rig.database)) ===
      (await countSessions(rig.database, { waiting: 0, turnId: null, owner: null, runId: null }))
  );
}

/**
 * The live workers that hold a session with an open turn; an owner's name contains its host and
 * process id.
 */
async function busyWorkers(): Promise<Victim[]> {
  const held = await readSessions(rig.database, { owner: not(null), turnId: not(null) }, 'owner');
  const pids = new Set(held.map(({ owner }) => owner?.split(':')[1]));
  return rig.workers.filter((worker) => worker.isReady && pids.has(String(worker.service.pid)));
}

/**
 * Whether one more crash of the worker would be the third of a turn, or of an input that no turn
 * has been opened for.
 */
async function holdsEndangered(worker: Victim): Promise<boolean> {
  const own = await readSessions(rig.database, { owner: like(`%:${worker.service.pid}:%`) }, 'turnId', 'lostClaims');
  const turnIds = own.flatMap(({ turnId }) => turnId ?? []);
  return (
    own.some(({ lostClaims }) => lostClaims >= 2) ||
    (await countTurns(rig.database, { id: turnIds, deaths: atLeast(2) })) > 0
  );
}

test.runIf(isLongForm())(
  `${parents * each} subagents of ${parents} parents are announced once each, with crashes meanwhile`,
  async () => {
    const random = randomOf(seed);
    for (let parent = 1; parent <= parents; parent += 1) {
      const calls = Array.from({ length: each }, (_, n) => {
        const label = `p${parent}c${n + 1}`;
        const task = `[[delay: ${Math.floor(random() * taskMsMax)}]] [[reply: the result of ${label}]]`;
        return `[[tool: sessions_spawn ${JSON.stringify({ label, task })}]]`;
      });
      await rig.client.send(`many-${parent}`, `${calls.join(' & ')} [[reply: Begun.]]`);
    }
    const killing = killWorkers(random);
    await waitUntil(`all is over (seed ${seed})`, overMsMax, isOver);
    await killing;
    await waitUntil(`all is over (seed ${seed})`, overMsMax, isOver);

    const story = `seed ${seed}`;
    const runs = await rig.database.query(
      `select count(*)::int as runs, count(*) filter (where r.status = 'ok')::int as completed,
       count(*) filter (where i.n = 1 and r.announced_to = r.parent_id)::int as announced,
       count(*) filter (where i.settled = 1)::int as heard, count(*) filter (where said.n = 1)::int as said
     from holdfast.subagent_runs r
     cross join lateral (
       select count(*) as n, count(*) filter (where status in ('answered', 'silent')) as settled from holdfast.inbox i
       where i.session_id = r.parent_id and i.body -> 'announcement' ->> 'runId' = r.id::text
     ) as i
     cross join lateral (
       select sum((length(e.content::text) - length(replace(e.content::text, 'the result of ' || r.label || '\\n', '')))
         / length('the result of ' || r.label || '\\n'))::int as n
       from holdfast.entries e where e.session_id = r.parent_id and e.kind in ('prompt', 'steer') and e.provenance ->> 'kind' = 'others'
         and e.content::text like '%System Message%'
     ) as said`,
    );
    const all = parents * each;
    expect(runs.rows[0], story).toEqual({ runs: all, completed: all, announced: all, heard: all, said: all });
    const letters = await readDeadLetters(rig.database, {}, 'kind', 'code', 'reason');
    expect(letters, story).toEqual([]);
    expect(
      (await countTurns(rig.database, { deaths: above(0) })) +
        (await countTurns(rig.database, { crowdDeaths: above(0) })),
      story,
    ).toBeGreaterThan(0);
    expect(await readSessions(rig.database, {}, 'liveChildren', 'liveDescendants'), story).toSatisfy(
      (rows: Record<string, number>[]) =>
        rows.every((row) => row['liveChildren'] === 0 && row['liveDescendants'] === 0),
    );
  },
);

/**
 * Kills a worker that runs a turn at random intervals and restarts it; at least one is always
 * alive. A worker is spared while it holds what would not survive another crash: after the third
 * one it is given up, as G17 requires.
 */
async function killWorkers(random: () => number): Promise<void> {
  for (let n = 0; n < kills; n += 1) {
    await delay(killEveryMs.min + random() * (killEveryMs.max - killEveryMs.min));
    const ending = await waitUntil('a worker that runs a turn is killed, or all is over', overMsMax, async () => {
      if (await isOver()) return 'over';
      const alive = rig.workers.filter((worker) => worker.isReady);
      const busy = await busyWorkers();
      const victim = busy[Math.floor(random() * busy.length)];
      if (alive.length < 2 || victim === undefined) return false;
      // Frozen, it claims nothing between the look and the kill.
      victim.freeze();
      if (await holdsEndangered(victim)) {
        victim.thaw();
        return false;
      }
      await victim.kill();
      void victim.revive().catch(() => undefined);
      return 'killed';
    });
    if (ending === 'over') break;
  }
  await Promise.all(rig.workers.map((worker) => worker.revive()));
}
