// Goal: a wrong address of a model costs no message. Its turns continue on a fallback or wait, say
// why, and are answered when the address is right; other addresses are not affected. Method: a
// server on loopback that answers as a web server without the API, then as the model.
import { expect, test } from 'vitest';
import { BLOCKS_SQL, markAway, type ModelBlock } from '../../src/kernel/queue/model-blocks.ts';
import { viewMessage } from '../../src/kernel/views/messages.ts';
import { viewTurn } from '../../src/kernel/views/turns.ts';
import { ofChat, startProviderServer, type ProviderServer } from '../model/provider-server.ts';
import { readEvents } from '../rows/events.ts';
import { changeModelBlocks } from '../rows/pauses.ts';
import { readTurns } from '../rows/turns.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { createTurnRig, type TurnRig } from './turn-rig.ts';

let server: ProviderServer;
let rig: TurnRig;
let impatientRig: TurnRig;
let spareRig: TurnRig;

shareAmongTests(async (onEnd) => {
  server = await startProviderServer();
  onEnd(() => server.close());
  const providers = { local: { api: 'openai-compatible', baseUrl: server.url } };
  const rigWith = async (outage: object, agents = {}) => {
    const database = await withTestDatabase();
    onEnd(() => database.drop());
    const made = await createTurnRig(database.url, { settings: { models: { providers, outage }, agents } });
    onEnd(() => made.close());
    return made;
  };
  const probeMs = { min: 10, max: 50 };
  const agents = { defaults: { model: 'local/qwen', fallbacks: ['anthropic/scripted-1'] } };
  const rigs = [rigWith({ probeMs }), rigWith({ probeMs, giveUpAfter: 300 }), rigWith({ probeMs }, agents)] as const;
  [rig, impatientRig, spareRig] = await Promise.all(rigs);
});

const STRANGER = { status: 404, body: '{"detail":"Not Found"}' };

async function send(to: TurnRig, session: string, options: Record<string, unknown> = { model: 'local/qwen' }) {
  const message = await to.send(session, 'hi [[reply: scripted]]', options);
  return { message, read: () => viewMessage(to.database.views, message) };
}

test('turns of a wrong address wait, say why in all workers, and are answered once it is right (G33)', async () => {
  server.replies = [STRANGER];
  const [worker, other] = [rig.worker(), rig.worker()];
  const first = await send(rig, 'one');
  expect(await worker.run('one')).toMatchObject({ kind: 'parked' });
  const { host } = new URL(server.url);
  const why = {
    code: 'model_wrong_address',
    by: 'local',
    text: expect.stringMatching(
      `The model local/qwen is not at its address. ${host}/chat/completions answers 404 .*baseUrl`,
    ),
  };
  expect(await first.read()).toMatchObject({ status: 'claimed', why });
  const turn = (await readTurns(rig, { sessionId: await rig.sessionOf('one') }, 'id')).at(-1) as { id: string };
  expect(await viewTurn(rig.database.views, turn.id)).toMatchObject({
    nextStep: expect.stringContaining('models.providers.<name>.baseUrl'),
  });

  // The address is known to be wrong when a second session has met it; the next one, of another
  // worker, is not sent anything.
  await send(rig, 'two');
  await worker.run('two');
  const held = await send(rig, 'three');
  const sent = server.received.length;
  expect(await other.run('three')).toMatchObject({ kind: 'parked' });
  expect(server.received.length - sent).toBeLessThanOrEqual(1);
  expect((await held.read())?.why).toMatchObject(why);

  const elsewhere = await send(rig, 'elsewhere', {});
  expect(await other.run('elsewhere')).toMatchObject({ kind: 'ended' });
  expect(await elsewhere.read()).toMatchObject({ status: 'answered', reply: 'scripted' });

  server.replies = [ofChat({ text: 'here' })];
  for (const [session, { read }] of [
    ['one', first],
    ['three', held],
  ] as const) {
    await expect.poll(async () => (await worker.run(session)).kind, { interval: 5 }).toBe('ended');
    expect(await read()).toMatchObject({ status: 'answered', reply: 'here' });
  }
  for (const each of [worker, other]) each.stop();
});

test('an outage that an earlier version writes over a wrong address is not shown as one', async () => {
  const { views } = rig.database;
  const model = { account: 'account-of-two-versions', model: 'local/other' };
  const readAbsence = async () => {
    const { rows } = await views.query<{ blocks: ModelBlock[] }>(`select ${BLOCKS_SQL} as blocks`);
    return rows[0]?.blocks.find(({ account }) => account === model.account)?.absence;
  };
  const absence = { code: 'model_wrong_address', text: 'answers 404' } as const;
  await markAway(rig.database, model, { probeInMs: 60_000, absence });
  expect(await readAbsence()).toEqual(absence);
  // It does not know of the code.
  await changeModelBlocks(rig, { account: model.account }, { detail: 'overloaded' });
  expect(await readAbsence()).toBeNull();
  await markAway(rig.database, model, { probeInMs: 60_000, absence });
  expect(await readAbsence()).toEqual(absence);
});

test('a turn of a wrong address gives up after models.outage.giveUpAfter, and names the address', async () => {
  server.replies = [STRANGER];
  const worker = impatientRig.worker();
  const { read } = await send(impatientRig, 'given-up');
  await expect.poll(async () => (await worker.run('given-up')).kind, { interval: 5 }).toBe('ended');
  expect(await read()).toMatchObject({
    status: 'failed',
    error: { code: 'model_wrong_address', message: expect.stringMatching(/giveUpAfter.*\/chat\/completions/s) },
  });
  worker.stop();
});

test('a turn of a wrong address continues on its fallback (G35)', async () => {
  server.replies = [STRANGER];
  const worker = spareRig.worker();
  const { read } = await send(spareRig, 'spared', {});
  expect(await worker.run('spared')).toMatchObject({ kind: 'ended' });
  expect(await read()).toMatchObject({ status: 'answered', reply: 'scripted' });
  const [event] = await readEvents(spareRig, { type: 'model.fallback' }, 'data');
  expect(event?.data).toMatchObject({ from: 'local/qwen', reason: expect.stringMatching(/^model_wrong_address: /) });
  worker.stop();
});
