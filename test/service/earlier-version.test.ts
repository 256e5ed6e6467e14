// Goal: processes of an earlier version and of this one serve the same database side by side, and
// either may be killed: what waited, ran or was due is neither lost nor doubled nor forgotten (G1,
// G11, G18, G20, G26, G36). Method: the earlier version (a commit) begins one of everything that
// waits or runs (rig/work-in-flight.ts), under load; processes of this version join for some
// seconds (`HOLDFAST_TESTS=full`: for a minute); waits are ended by both; then the processes of one
// version are killed. Where that was the earlier one, it is started again on the layout of this
// one. Everything is judged when it is over.
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { waitUntil } from '../crash/rig/wait-until.ts';
import { countingServer } from '../features/mcp/mcp-rig.ts';
import { withBareDatabase } from '../servers/postgres.ts';
import { isFullForm } from '../servers/test-form.ts';
import { EARLIER_COMMIT, hasCommit, makeEarlierVersion } from './rig/earlier-version.ts';
import type { ServiceApi } from './rig/service-api.ts';
import { openServiceRig, type RunningProcess, type ServiceRig } from './rig/service-rig.ts';
import { judge, startLoad, toolLoop, untilQuiet, type SteadyLoad } from './rig/steady-load.ts';
import { BATCH_DELAY_MS, beginWork, settingsOfWork } from './rig/work-in-flight.ts';

/** How long both versions run at the same time, at least. */
const BESIDE_MS = isFullForm() ? 60_000 : 6_000;
const ROLES = 'api,worker,scheduler';
const ANSWERED_MIN = 6;
const WITHIN_MS = 240_000;
/** It starts four processes, each of which takes a minute on a very busy machine. */
const TEST_MS_MAX = 1_800_000;
const LOAD = { name: 'load', sessions: 3, pauseMs: 500, script: toolLoop };

const isHere = hasCommit(EARLIER_COMMIT);
const title = isHere
  ? ''
  : ` (skipped: this clone has no commit ${EARLIER_COMMIT.slice(0, 8)}; a shallow clone has only the newest)`;

/**
 * Asks a process that is alive, another one at each call, so that no client waits for one that was
 * killed.
 */
function apiOfLiving(rig: ServiceRig, fronts: readonly RunningProcess[]): ServiceApi {
  let calls = 0;
  const living = (): ServiceApi => {
    const alive = fronts.filter((front) => front.isAlive());
    return rig.apiOf(alive[(calls += 1) % alive.length]!);
  };
  return {
    ask: (...args) => living().ask(...args),
    send: (...args) => living().send(...args),
    settled: (...args) => living().settled(...args),
  };
}

async function runBeside(load: SteadyLoad): Promise<void> {
  const [until, answers] = [performance.now() + BESIDE_MS, load.answered() + ANSWERED_MIN];
  await waitUntil('both versions have run side by side', BESIDE_MS + WITHIN_MS, () => {
    return performance.now() >= until && load.answered() >= answers;
  });
}

test.runIf(isHere).each(['earlier', 'later'] as const)(
  `an earlier version and this one run side by side, and a kill of the %s one loses and doubles nothing (G1, G11, G18, G20, G26, G36)${title}`,
  async (killed) => {
    const earlier = makeEarlierVersion(EARLIER_COMMIT);
    onTestFinished(() => earlier.remove());
    const mcp = await countingServer({ script: join(import.meta.dirname, '../features/mcp/task-server.ts') });
    onTestFinished(() => mcp.remove());
    const mcpUrl = `http://127.0.0.1:${await mcp.listen()}`;
    // The earlier version lays it out, and this one migrates it.
    const database = await withBareDatabase();
    onTestFinished(() => database.drop());
    const rig = await openServiceRig({
      queue: 'postgres',
      databaseUrl: database.url,
      config: settingsOfWork(`${mcpUrl}/mcp`),
      batchDelayMs: BATCH_DELAY_MS,
    });
    onTestFinished(() => rig.close());
    const old = { rootDir: earlier.rootDir };
    const fronts: RunningProcess[] = [];
    const api = apiOfLiving(rig, fronts);

    const first = await rig.start(ROLES, old);
    fronts.push(first);
    const endTasks = async (): Promise<void> => void (await fetch(`${mcpUrl}/end`, { method: 'POST' }));
    const work = await beginWork({ rig, endTasks }, api);
    const load = startLoad([api], LOAD);
    onTestFinished(() => void load.stop());

    const second = await rig.start(ROLES);
    fronts.push(second);
    await work.endWaits(rig.apiOf(second), 1);
    await runBeside(load);
    await work.endWaits(rig.apiOf(first), 2);

    await rig.kill(killed === 'earlier' ? first : second);
    if (killed === 'earlier') {
      fronts.push(await rig.start(ROLES, old));
      await runBeside(load);
    }
    await work.endWaits(api, 3);

    const sent = await load.stop();
    await untilQuiet(rig, LOAD.name, WITHIN_MS);
    await work.settle(() => api);
    expect(await work.judge()).toEqual([]);
    expect(await judge(rig, LOAD.name, sent)).toEqual([]);
    const runs = await mcp.runs();
    expect(runs.filter((run) => run.endsWith(' completed')).toSorted()).toEqual(
      runs
        .filter((run) => !run.endsWith(' completed'))
        .map((run) => `${run} completed`)
        .toSorted(),
    );
    expect(new Set(runs).size).toBe(6);
    expect(runs).toHaveLength(6);
  },
  TEST_MS_MAX,
);
