// Goal: no call of an MCP server runs twice, and none is lost without its result saying so, while
// both its server and its worker are killed (G11). Method: turns call tools of a server over HTTP
// and of one over stdio, which end, hang or cut the connection as the calls say; meanwhile workers
// and the server over HTTP are killed after a random number of calls. The servers note what they
// have really run. `HOLDFAST_CRASH_SWEEP=full` runs it.
import { expect, test } from 'vitest';
import { judgeCalls } from '../features/mcp/judge-calls.ts';
import { countingServer } from '../features/mcp/mcp-rig.ts';
import { above } from '../rows/table.ts';
import { countTurns } from '../rows/turns.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { startCrashRig, type CrashRig } from './rig/crash-rig.ts';
import { randomOf, seedOfRun } from './rig/random-of.ts';
import { isFullSweep } from './rig/sweep-points.ts';
import { waitUntil } from './rig/wait-until.ts';

const CALLS_PER_TURN = 6;
const TURNS_AT_ONCE = 10;
const WAVES = 5;
const CALLS = CALLS_PER_TURN * TURNS_AT_ONCE * WAVES;
/** In each wave one worker is spared: a third crash would end a turn (G17). */
const WORKERS = 3;
const SETTLED_MS = 240_000;
const SEED = seedOfRun();
const FAULTS = { far: ['none', 'none', 'cut', 'hang'], own: ['none', 'none', 'hang', 'die', 'die-first'] };

let rig: CrashRig;
let far: Awaited<ReturnType<typeof countingServer>>;
let own: Awaited<ReturnType<typeof countingServer>>;
let port: number;

shareAmongTests(async (onEnd) => {
  const testDatabase = await withTestDatabase();
  onEnd(() => testDatabase.drop());
  [far, own] = [await countingServer(), await countingServer()];
  onEnd(() => Promise.all([far.remove(), own.remove()]));
  port = await far.listen();
  const common = { trust: 'hints', timeoutSeconds: 5 };
  const servers = { far: { url: `http://127.0.0.1:${port}/mcp`, ...common }, own: { ...own.settings, ...common } };
  const made = await startCrashRig({ databaseUrl: testDatabase.url, workers: WORKERS, settings: { mcp: { servers } } });
  onEnd(() => made.close());
  rig = made;
});

const readRuns = async (): Promise<string[]> => [...(await far.runs()), ...(await own.runs())];

test.runIf(isFullSweep())(
  `of ${CALLS} calls, none is run twice or lost in silence while servers and workers are killed (G11)`,
  async () => {
    const random = randomOf(SEED);
    const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item;

    async function turn(session: string): Promise<void> {
      const calls = Array.from({ length: CALLS_PER_TURN }, () => {
        const server = pick(['far', 'own'] as const);
        return `[[tool: ${server}__${pick(['add', 'put'])} ${JSON.stringify({ fault: pick(FAULTS[server]) })}]]`;
      });
      const { id } = await rig.client.send(session, `${calls.join(' & ')} [[reply: Done.]]`);
      const isAnswered = async () => (await rig.client.message(id)).status === 'answered';
      await waitUntil(`${session} is answered (seed ${SEED})`, SETTLED_MS, isAnswered);
    }

    for (let wave = 1; wave <= WAVES; wave += 1) {
      const before = (await readRuns()).length;
      const turns = Array.from({ length: TURNS_AT_ONCE }, (_, at) => turn(`wave-${wave}-${at}`));
      let isOver = false;
      const over = Promise.all(turns).finally(() => (isOver = true));
      const killAfterSome = async (kill: () => Promise<unknown>): Promise<void> => {
        const runs = before + Math.ceil((random() * TURNS_AT_ONCE * CALLS_PER_TURN) / 2);
        const hasRun = async () => isOver || (await readRuns()).length >= runs;
        await waitUntil('the servers have run some calls', SETTLED_MS, hasRun);
        await kill();
      };
      const spared = pick(rig.workers);
      const killed = rig.workers.filter((worker) => worker !== spared);
      await Promise.all([
        over,
        ...killed.map((worker) => killAfterSome(() => worker.kill().then(() => worker.revive()))),
        killAfterSome(() => far.stop().then(() => far.listen(port))),
      ]);
    }

    const { statuses, faults } = await judgeCalls(rig.database, await readRuns());
    expect(faults, `seed ${SEED}`).toEqual([]);
    expect(Object.values(statuses).reduce((sum, count) => sum + count, 0)).toBe(CALLS);
    expect(Object.keys(statuses)).toEqual(expect.arrayContaining(['done', 'unknown']));
    const struck = await Promise.all(
      [{ deaths: above(0) }, { crowdDeaths: above(0) }].map((where) => countTurns(rig.database, where)),
    );
    expect(Math.max(...struck)).toBeGreaterThan(0);
  },
);
