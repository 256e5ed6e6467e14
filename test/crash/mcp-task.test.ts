// Goal: a task of an MCP server runs once and has one result, although all workers are killed again
// and again while it runs (G11). Method: the server ends the task only when the test says so; until
// then, all workers are killed while the turn waits, and while a worker asks for the task; then
// once more when one has the result and has not committed it.
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { countingServer } from '../features/mcp/mcp-rig.ts';
import { readToolCalls } from '../rows/calls.ts';
import { countTurns } from '../rows/turns.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import type { HeldBytes } from '../servers/round-trips.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { startCrashRig, type CrashRig } from './rig/crash-rig.ts';
import { waitUntil } from './rig/wait-until.ts';

const SOON_MS = 240_000;

let rig: CrashRig;
let server: Awaited<ReturnType<typeof countingServer>>;
let serverUrl: string;

shareAmongTests(async (onEnd) => {
  const testDatabase = await withTestDatabase();
  onEnd(() => testDatabase.drop());
  server = await countingServer({ script: join(import.meta.dirname, '../features/mcp/task-server.ts') });
  onEnd(() => server.remove());
  serverUrl = `http://127.0.0.1:${await server.listen()}`;
  const mcp = { servers: { far: { url: `${serverUrl}/mcp` } } };
  // All are killed at the same time, so that more than one would only take longer to start.
  const made = await startCrashRig({ databaseUrl: testDatabase.url, workers: 1, settings: { mcp } });
  onEnd(() => made.close());
  rig = made;
});

async function killAll(): Promise<void> {
  await Promise.all(rig.workers.map((worker) => worker.kill()));
}

async function reviveAll(): Promise<void> {
  await Promise.all(rig.workers.map((worker) => worker.revive()));
}

async function untilParked(id: string): Promise<void> {
  const isParked = async () => (await rig.client.message(id)).why?.code === 'task';
  await waitUntil('the turn waits for the task', SOON_MS, isParked);
}

/**
 * Starts the workers, and kills all of them when one has the answer to its next statement of this
 * name.
 */
async function killAllAfter(tag: string): Promise<void> {
  const traps = rig.workers.map((worker) =>
    worker.proxy.arm({
      when: 'after',
      at: 1,
      matches: (trip) => trip.tag === tag,
      async hit(): Promise<HeldBytes> {
        await killAll();
        return 'drop';
      },
    }),
  );
  const reached = Promise.race(traps.map((trap) => trap.reached));
  // One that is killed before it is ready rejects.
  await Promise.all([reached, ...rig.workers.map((worker) => worker.revive().catch(() => undefined))]);
  for (const trap of traps) trap.disarm();
}

test('a task whose workers are all killed three times while it runs, and once before its result is committed, runs once and ends once (G11)', async () => {
  const { id } = await rig.client.send('task', '[[tool: far__long {}]] [[reply: Done.]]');
  await untilParked(id);
  await killAll();
  await killAllAfter('read-mcp-tasks');
  await reviveAll();
  await untilParked(id);
  await killAll();
  await fetch(`${serverUrl}/end`, { method: 'POST' });
  await killAllAfter('end-mcp-task');
  await reviveAll();
  await waitUntil('the message is settled', SOON_MS, async () => (await rig.client.message(id)).status !== 'claimed');

  expect(await rig.client.message(id)).toMatchObject({ status: 'answered', reply: 'Done.' });
  const calls = await readToolCalls(rig.database, {}, 'turnId', 'callId', 'name', 'status');
  expect(calls).toMatchObject([{ name: 'far__long', status: 'done' }]);
  const key = `${calls[0]?.turnId}:${calls[0]?.callId}`;
  expect(await server.runs()).toEqual([key, `${key} completed`]);
  const transcript = await rig.client.transcript('task');
  expect(transcript.map(({ kind }) => kind)).toEqual(['prompt', 'answer', 'results', 'answer']);
  expect(JSON.stringify(transcript[2]?.content)).toContain('the result of the task');
  expect(await countTurns(rig.database)).toBe(1);
});
