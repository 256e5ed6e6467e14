// A provider that asks to wait (429 or 529 with Retry-After) is not called by any worker until
// then.
import { describe, expect, test } from 'vitest';
import type { Tool } from '../../src/tools/tool.ts';
import { viewMessage } from '../../src/kernel/views/messages.ts';
import { PASS, type GateCheck } from '../../src/kernel/turn/gate-check.ts';
import { readEvents } from '../rows/events.ts';
import { readTurns } from '../rows/turns.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { createTurnRig, type TurnRig } from './turn-rig.ts';

let rig: TurnRig;

shareAmongTests(async (onEnd) => {
  const database = await withTestDatabase();
  onEnd(() => database.drop());
  rig = await createTurnRig(database.url);
  onEnd(() => rig.close());
});

const why = async (id: string) => (await viewMessage(rig.database.views, id))?.why;

/** A tool that runs until it is ended. */
function gatedTool() {
  const [begun, over] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const tool: Tool = {
    spec: { name: 'gated', description: 'Waits.', input_schema: { type: 'object' } },
    summary: 'waits',
    isIdempotent: false,
    async run() {
      begun.resolve();
      await over.promise;
      return { content: 'done', isError: false };
    },
  };
  return { tool, started: begun.promise, end: over.resolve };
}

function requestsOf(name: string) {
  return rig.scripted.requests.filter(({ headers }) => headers['x-holdfast-session'] === `agent:main:${name}`);
}

test('a turn whose call conflicts with another one waits for as long as the provider asks, and says why', async () => {
  const worker = rig.worker();
  const id = await rig.send('conflict', '[[error: 409 retry-after=600]]', { model: 'anthropic/in-conflict' });
  expect(await worker.run('conflict')).toMatchObject({ kind: 'parked' });
  expect(await why(id)).toMatchObject({ code: 'retry_wait', by: 'anthropic', until: expect.any(String) });
  worker.stop();
});

describe('a model whose provider has asked to wait', () => {
  test('is not called by a worker that claims a session later; its turn is parked and says why', async () => {
    const [first, second] = [rig.worker(), rig.worker()];
    const model = 'anthropic/held-back';
    await rig.send('met-it', '[[error: 529 retry-after=600]]', { model });
    expect(await first.run('met-it')).toMatchObject({ kind: 'parked' });
    const other = await rig.send('heard-of-it', '[[reply: never]]', { model });
    expect(await second.run('heard-of-it')).toMatchObject({ kind: 'parked' });
    expect(requestsOf('heard-of-it')).toEqual([]);
    const reason = await why(other);
    expect(reason).toMatchObject({ code: 'model_blocked', by: model });
    expect(Date.parse(reason?.until ?? '') - Date.now()).toBeGreaterThan(590_000);
    const [counts] = await readTurns(rig, { sessionId: await rig.sessionOf('heard-of-it') }, 'calls', 'retries');
    // Opening the turn charged its first call, which was not made.
    expect(counts).toEqual({ calls: 1, retries: 0 });
    const spared = await rig.send('another-model', '[[reply: here]]', { model: 'anthropic/not-held-back' });
    expect(await second.run('another-model')).toMatchObject({ kind: 'ended' });
    expect(await why(spared)).toBeNull();
    [first, second].forEach((worker) => worker.stop());
  });

  test('is not called by a turn that runs in another worker, which reads the block when it polls for stops', async () => {
    const model = 'anthropic/held-back-while-running';
    const tool = gatedTool();
    const [first, second] = [rig.worker(), rig.worker({ tools: [tool.tool] })];
    await rig.send('running', '[[tool: gated {}]] [[reply: never]]', { model });
    const running = second.run('running');
    await tool.started;
    await rig.send('meets-it', '[[error: 429 retry-after=600]]', { model });
    expect(await first.run('meets-it')).toMatchObject({ kind: 'parked' });
    await expect
      .poll(() => second.context.models.states.blockedMs({ model: model.slice(10) }), { interval: 5 })
      .toBeGreaterThan(0);
    tool.end();
    expect(await running).toMatchObject({ kind: 'parked' });
    expect(requestsOf('running')).toHaveLength(1);
    [first, second].forEach((worker) => worker.stop());
  });

  test('is not called when its block was learned while another check was asked for the call', async () => {
    const worker = rig.worker();
    const { context } = worker;
    const model = 'anthropic/held-back-meanwhile';
    const learns: GateCheck = {
      ask() {
        context.models.states.learn([
          { account: context.models.client.accountOf({}), model, leftMs: 600_000, probeInMs: null },
        ]);
        return PASS;
      },
    };
    const last = context.models.checks.length - 1;
    context.models.checks = context.models.checks.toSpliced(last, 0, learns);
    const message = await rig.send('meanwhile', '[[reply: never]]', { model });
    expect(await worker.run('meanwhile')).toMatchObject({ kind: 'parked' });
    expect(requestsOf('meanwhile')).toEqual([]);
    expect(await why(message)).toMatchObject({ code: 'model_blocked' });
    worker.stop();
  });

  test('is called again from the slot after a short wait, which costs nothing of the retry budget', async () => {
    const worker = rig.worker();
    await rig.send('short', '[[error: 429 retry-after=0.2 times=2]] [[reply: at last]]', { model: 'anthropic/short' });
    expect(await worker.run('short')).toMatchObject({ kind: 'ended' });
    const [turn] = await readTurns(rig, { sessionId: await rig.sessionOf('short') }, 'calls', 'retries', 'status');
    expect(turn).toEqual({ calls: 3, retries: 0, status: 'completed' });
    const times = requestsOf('short').map(({ receivedAt }) => Date.parse(receivedAt));
    for (const [index, time] of times.slice(1).entries())
      expect(time - (times[index] ?? 0)).toBeGreaterThanOrEqual(199);
    const events = await readEvents(rig, { sessionId: await rig.sessionOf('short'), type: 'model.blocked' }, 'code');
    expect(events).toEqual([{ code: 'rate_limited' }, { code: 'rate_limited' }]);
    worker.stop();
  });
});
