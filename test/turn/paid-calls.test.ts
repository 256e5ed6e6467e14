// The number of paid model calls is bounded: a result that cannot be stored ends the turn, and
// calls with an unknown end are counted.
import { describe, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { joinText } from '../../src/core/content.ts';
import { eventsOfBody } from '../../src/model/stream/stream-event.ts';
import type { Model } from '../../src/model/model.ts';
import type { TransportCall } from '../../src/model/transport.ts';
import { readTransport } from '../../src/plugins/read-registrations.ts';
import { pluginsWith } from '../plugins/plugins-with.ts';
import { readInputs } from '../rows/inputs.ts';
import { refuseWrites } from '../rows/refuse-writes.ts';
import { readTurns } from '../rows/turns.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { createTurnRig, type TurnRig } from './turn-rig.ts';

const asked: string[] = [];

/** Answers every prompt with the same word; the usage figures are the JSON in it. */
const transport = readTransport('/p.ts', {
  name: 'wire',
  provider: 'wire',
  async send({ request, onEvent, headers }: TransportCall) {
    asked.push(headers['x-holdfast-session'] ?? '');
    const text = joinText(request.messages.at(-1)?.content ?? []);
    const usage: unknown = /usage=(\S+)/.exec(text)?.[1];
    const body = {
      id: 'm',
      model: request.model,
      content: [{ type: 'text', text: 'answered' }],
      stop_reason: 'end_turn',
      ...(typeof usage === 'string' ? { usage: JSON.parse(usage) as unknown } : {}),
    };
    for (const event of eventsOfBody(body)) if (onEvent(event)) return;
  },
});

let rig: TurnRig;

shareAmongTests(async (onEnd) => {
  const database = await withTestDatabase();
  onEnd(() => database.drop());
  const { plugins } = pluginsWith([], { transports: [transport] });
  rig = await createTurnRig(database.url, { plugins });
  const made = rig;
  onEnd(() => made.close());
});

async function turnOf(name: string): Promise<Record<string, unknown> | undefined> {
  const turn = (await readTurns(rig, { sessionId: await rig.sessionOf(name) })).at(-1);
  return turn;
}

async function messageOf(id: string): Promise<Record<string, unknown> | undefined> {
  return (await readInputs(rig, { id }, 'status', 'error'))[0];
}

const callsOf = (name: string): number => asked.filter((session) => session === `agent:main:${name}`).length;

describe('a provider that reports no figures', () => {
  test.each([
    ['fraction', '{"output_tokens":12.5}'],
    ['word', '{"output_tokens":"many"}'],
    ['huge', '{"output_tokens":1e30,"input_tokens":1e308}'],
    ['negative', '{"output_tokens":-4,"cache_read_input_tokens":-0.5}'],
    ['list', '[1,2]'],
    ['text', '"none"'],
  ])('or %s is paid once and answered', async (name, usage) => {
    const worker = rig.worker();
    const message = await rig.send(name, `usage=${usage}`, { model: 'wire/m' });
    expect(await worker.run(name)).toMatchObject({ kind: 'ended' });
    expect(await messageOf(message)).toMatchObject({ status: 'answered' });
    expect(callsOf(name)).toBe(1);
    worker.stop();
  });
});

describe('a commit that the database refuses permanently', () => {
  test('ends the turn as failed after one call, and the session continues with the next message', async () => {
    const worker = rig.worker();
    const sessionId = await rig.sessionOf('refused');
    const when = `new.session_id = '${sessionId}' and new.kind = 'answer'`;
    const accept = await refuseWrites(rig, { table: 'entries', when });
    const message = await rig.send('refused', 'hello', { model: 'wire/m' });
    expect(await worker.run('refused')).toMatchObject({ kind: 'ended' });
    expect(await messageOf(message)).toMatchObject({ status: 'failed' });
    expect(await turnOf('refused')).toMatchObject({ status: 'failed', error: { code: 'commit_failed' } });
    expect(callsOf('refused')).toBe(1);
    await accept();
    const next = await rig.send('refused', 'again', { model: 'wire/m' });
    await worker.run('refused');
    expect(await messageOf(next)).toMatchObject({ status: 'answered' });
    worker.stop();
  });

  test('also ends the turn when it refuses what is stored with the end of a failed turn', async () => {
    const worker = rig.worker();
    const accept = await refuseWrites(rig, { table: 'model_calls', when: 'true' });
    const message = await rig.send('twice', '[[error: 400]]');
    expect(await worker.run('twice')).toMatchObject({ kind: 'ended' });
    expect(await messageOf(message)).toMatchObject({ status: 'failed' });
    expect(await turnOf('twice')).toMatchObject({ status: 'failed', error: { code: 'commit_failed' } });
    await accept();
    worker.stop();
  });
});

describe('model calls whose end is never stored', () => {
  test('are charged, and after ten in a row the turn fails instead of paying for another (G16)', async () => {
    const worker = rig.worker();
    const message = await rig.send('lost', '[[stall: after=1 times=always]]');
    const requests = (): number =>
      rig.scripted.requests.filter(({ headers }) => headers['x-holdfast-session'] === 'agent:main:lost').length;
    for (let call = 1; call <= 10; call += 1) {
      const running = worker.run('lost');
      await expect.poll(requests, { interval: 5 }).toBe(call);
      worker.context.store.locks.stopAll({ kind: 'shutdown', message: 'The worker leaves in the middle of a call.' });
      expect(await running).toMatchObject({ kind: 'released' });
    }
    expect(await worker.run('lost')).toMatchObject({ kind: 'ended' });
    expect(await messageOf(message)).toMatchObject({ status: 'failed' });
    expect(await turnOf('lost')).toMatchObject({ status: 'failed', calls: 10, error: { code: 'calls_lost' } });
    expect(requests()).toBe(10);
    worker.stop();
  });
});

test('a worker that was paused past its lease right before a call makes no call (G7)', async () => {
  const database = await withTestDatabase();
  onTestFinished(() => database.drop());
  let sleptMs = 0;
  const clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + sleptMs };
  const slept = await createTurnRig(database.url, { clock });
  onTestFinished(() => slept.close());
  const { context, run } = slept.worker();
  const { client: model } = context.models;
  // After the last check of the turn, and before the request is sent.
  const sleepy: Model = {
    ...model,
    ask(request, options) {
      sleptMs += 3_600_000;
      return model.ask(request, options);
    },
  };
  Object.assign(context.models, { client: sleepy });
  await slept.send('sleepy', 'x [[reply: Yes.]]');
  expect(await run('sleepy')).toEqual({ kind: 'lost' });
  expect(slept.scripted.requests).toEqual([]);
});
