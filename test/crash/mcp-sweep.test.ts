// Goal: a worker that is killed at any point of a turn with calls of MCP servers runs none of them
// twice and loses none in silence. Method: record the database round trips of a turn that calls a
// server over HTTP and one of its own over stdio, then play such a turn again for each of them with
// a worker that is killed right before or right after it; the servers note what they have really
// run.
import { expect, test } from 'vitest';
import { countingServer } from '../features/mcp/mcp-rig.ts';
import { judgeCalls } from '../features/mcp/judge-calls.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { startCrashRig, type CrashRig } from './rig/crash-rig.ts';
import { sweepKills } from './rig/sweep-kills.ts';
import { sweptWorkers } from './rig/sweep-points.ts';
import { waitUntil } from './rig/wait-until.ts';

const SETTLED_MS = 240_000;
/** The long form strikes one point in so many. */
const EVERY = 5;

let rig: CrashRig;
let servers: Awaited<ReturnType<typeof countingServer>>[];
let plays = 0;

shareAmongTests(async (onEnd) => {
  const testDatabase = await withTestDatabase();
  onEnd(() => testDatabase.drop());
  const [far, own] = [await countingServer(), await countingServer()];
  servers = [far, own];
  onEnd(() => Promise.all(servers.map((server) => server.remove())));
  const url = `http://127.0.0.1:${await far.listen()}/mcp`;
  const mcp = { servers: { far: { url, trust: 'hints' }, own: { ...own.settings, sandbox: 'auto', trust: 'hints' } } };
  const made = await startCrashRig({ databaseUrl: testDatabase.url, workers: sweptWorkers, settings: { mcp } });
  onEnd(() => made.close());
  rig = made;
});

/** A turn with two answers that call both servers; resolves when it is over. */
async function play(): Promise<void> {
  plays += 1;
  const batch = ['far__add', 'own__put', 'own__add', 'far__put'].map((tool) => `[[tool: ${tool} {}]]`).join(' & ');
  const { id } = await rig.client.send(`mcp-${plays}`, `${batch} ${batch} [[reply: Done.]]`);
  await waitUntil('the turn is over', SETTLED_MS, async () => (await rig.client.message(id)).status === 'answered');
}

async function judge(): Promise<string[]> {
  const runs = await Promise.all(servers.map((server) => server.runs()));
  return (await judgeCalls(rig.database, runs.flat())).faults;
}

test('a worker that is killed at any round trip runs no call twice and loses none in silence (G11)', async () => {
  const { workers } = rig;
  const { trips, faults, missed, missedMax } = await sweepKills({
    name: 'a turn with MCP servers',
    workers,
    every: EVERY,
    play,
    judge,
  });
  expect(faults).toEqual([]);
  expect([...trips.keys()]).toEqual(
    expect.arrayContaining(['read-mcp-versions', 'open-turn', 'commit-step', 'finish-turn']),
  );
  expect(missed.length, `not reached: ${missed.join('; ')}`).toBeLessThanOrEqual(missedMax);
});
