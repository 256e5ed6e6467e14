// Unusual polls, on a real database with a real worker: a message that joins one, one that uses tools, one that fails.
import { expect, test } from 'vitest';
import type { Tool } from '../../src/tools/tool.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { createTurnRig, type TurnRig } from './turn-rig.ts';

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
  await rig.rows(
    `insert into holdfast.heartbeats (id, agent_id, session_id, scheduled_for, trigger, status, message_id)
     values (gen_random_uuid(), 'main', $1, clock_timestamp(), 'manual', 'fired', $2)`,
    [await rig.sessionOf(name), id],
  );
  return id;
}

async function resultOf(messageId: string): Promise<unknown> {
  return (await rig.rows('select result from holdfast.heartbeats where message_id = $1', [messageId]))[0]?.['result'];
}

async function states(name: string): Promise<string[]> {
  const rows = await rig.rows('select kind, state from holdfast.entries where session_id = $1 order by seq', [
    await rig.sessionOf(name),
  ]);
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
  const [session] = await rig.rows('select leaf_seq, waiting, turn_id from holdfast.sessions where id = $1', [
    await rig.sessionOf('tools'),
  ]);
  expect(session).toEqual({ leaf_seq: null, waiting: 0, turn_id: null });
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
  const [row] = await rig.rows(
    'select i.status, t.reply from holdfast.inbox i join holdfast.turns t on t.id = i.turn_id where i.id = $1',
    [message],
  );
  expect(row).toMatchObject({ status: 'answered', reply: expect.stringContaining('Noon it is.') });
  expect(await resultOf(id)).toBe('alert');
  expect((await states('steered')).every((state) => state.endsWith('active'))).toBe(true);
});

test('a poll that fails keeps its entries and reports the error', async () => {
  const id = await poll('failing', 'Look. [[error: 401]]');
  await rig.worker().run('failing');
  expect(await resultOf(id)).toBe('failed');
});
