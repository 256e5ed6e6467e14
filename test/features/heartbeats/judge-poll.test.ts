// Unusual polls, on a real database with a real worker: a message that joins one, one that uses
// tools, one that fails.
import { expect, test } from 'vitest';
import { newId } from '../../../src/ids.ts';
import type { Tool } from '../../../src/tools/tool.ts';
import { readEntries } from '../../rows/entries.ts';
import { addHeartbeats, readHeartbeats } from '../../rows/heartbeats.ts';
import { readInputsWithTurns } from '../../rows/inputs.ts';
import { readSessions } from '../../rows/sessions.ts';
import { now } from '../../rows/table.ts';
import { withTestDatabase } from '../../servers/postgres.ts';
import { shareAmongTests } from '../../servers/share-among-tests.ts';
import { createTurnRig, type TurnRig } from '../../turn/turn-rig.ts';

let rig: TurnRig;
let entered: PromiseWithResolvers<void>;
let gate: PromiseWithResolvers<void>;

const hold: Tool = {
  spec: { name: 'hold', description: 'Waits', input_schema: { type: 'object' } },
  summary: 'Waits',
  isIdempotent: true,
  async run() {
    entered.resolve();
    await gate.promise;
    return { content: 'held', isError: false };
  },
};

shareAmongTests(async (onEnd) => {
  const database = await withTestDatabase();
  onEnd(() => database.drop());
  rig = await createTurnRig(database.url, { tools: [hold] });
  const made = rig;
  onEnd(() => made.close());
});

/** A poll in the inbox of a session, with its row. */
async function poll(name: string, text: string): Promise<string> {
  const id = await rig.send(name, text, {}, 'heartbeat');
  await addHeartbeats(rig, {
    id: newId<string>(),
    agentId: 'main',
    sessionId: await rig.sessionOf(name),
    scheduledFor: now,
    trigger: 'manual',
    status: 'fired',
    messageId: id,
  });
  return id;
}

async function resultOf(messageId: string): Promise<unknown> {
  return (await readHeartbeats(rig, { messageId }, 'result'))[0]?.['result'];
}

async function states(name: string): Promise<string[]> {
  const rows = await readEntries(rig, { sessionId: await rig.sessionOf(name) }, 'kind', 'state');
  return rows.map(({ kind, state }) => `${String(kind)} ${String(state)}`);
}

test('a poll that used tools is pruned with all its steps', async () => {
  gate = Promise.withResolvers();
  entered = Promise.withResolvers();
  gate.resolve();
  const id = await poll('tools', 'Look. [[tool: hold {}]] [[reply: HEARTBEAT_OK]]');
  await rig.worker().run('tools');
  expect(await resultOf(id)).toBe('acknowledged');
  expect(await states('tools')).toEqual(['prompt pruned', 'answer pruned', 'results pruned', 'answer pruned']);
  const [session] = await readSessions(rig, { id: await rig.sessionOf('tools') }, 'leafSeq', 'waiting', 'turnId');
  expect(session).toEqual({ leafSeq: null, waiting: 0, turnId: null });
});

test('a message that joined a poll is answered like any other, and the poll is kept', async () => {
  gate = Promise.withResolvers();
  entered = Promise.withResolvers();
  const id = await poll('steered', 'Look. [[tool: hold {}]] [[reply: Noon it is. HEARTBEAT_OK]]');
  const worker = rig.worker();
  const running = worker.run('steered');
  await entered.promise;
  const message = await rig.send('steered', 'What time is it?', { mode: 'steer' });
  gate.resolve();
  await running;
  const [input] = await readInputsWithTurns(rig, { id: message });
  expect(input).toMatchObject({ status: 'answered', turn: { reply: expect.stringContaining('Noon it is.') } });
  expect(await resultOf(id)).toBe('alert');
  expect((await states('steered')).every((state) => state.endsWith('active'))).toBe(true);
});

test('a poll that fails keeps its entries and reports the error', async () => {
  const id = await poll('failing', 'Look. [[error: 401]]');
  await rig.worker().run('failing');
  expect(await resultOf(id)).toBe('failed');
});
