// A model outage: its turns wait without a lock and without a slot, say why, and end only after the
// maximum wait, when their messages have expired, or when they are stopped.
import { describe, expect, test } from 'vitest';
import { modelOfRef } from '../../src/core/models.ts';
import { abortTurn } from '../../src/kernel/effects/control.ts';
import { viewMessage } from '../../src/kernel/views/messages.ts';
import { viewSession } from '../../src/kernel/views/sessions.ts';
import { viewTurn } from '../../src/kernel/views/turns.ts';
import { readTransport } from '../../src/plugins/read-registrations.ts';
import type { TurnOutcome } from '../../src/kernel/turn/run/steps.ts';
import { pluginsWith } from '../plugins/plugins-with.ts';
import { readEvents } from '../rows/events.ts';
import { countModelBlocks } from '../rows/pauses.ts';
import { refuseWrites } from '../rows/refuse-writes.ts';
import { above, ago, ahead, below, earlier, like, not } from '../rows/table.ts';
import { changeTurns, countTurns, readTurns } from '../rows/turns.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { seedHistory } from './seed-history.ts';
import { away, holdOf } from './gate/ask-check.ts';
import { createTurnRig, type TurnRig } from './turn-rig.ts';

let rig: TurnRig;
let patientRig: TurnRig;

shareAmongTests(async (onEnd) => {
  const databases = await Promise.all([withTestDatabase(), withTestDatabase()]);
  for (const database of databases) onEnd(() => database.drop());
  const outage = { giveUpAfter: 1_500, probeMs: { min: 10, max: 50 } };
  rig = await createTurnRig(databases[0]?.url ?? '', { settings: { models: { outage } } });
  patientRig = await createTurnRig(databases[1]?.url ?? '', {
    settings: { models: { outage: { ...outage, giveUpAfter: '24h' } } },
  });
  const made = [rig, patientRig];
  onEnd(async () => void (await Promise.all(made.map((one) => one.close()))));
});

type Worker = ReturnType<TurnRig['worker']>;

/** Runs a session's turn whenever it becomes due, until it ends. */
async function runToEnd(worker: Worker, name: string): Promise<TurnOutcome> {
  let outcome: TurnOutcome = { kind: 'idle' };
  const runOnce = async (): Promise<string> => (outcome = await worker.run(name)).kind;
  await expect.poll(runOnce, { interval: 5 }).toBe('ended');
  return outcome;
}

async function openTurnOf(of: TurnRig, name: string): Promise<{ id: string; calls: number; retries: number }> {
  const turn = (await readTurns(of, { sessionId: await of.sessionOf(name) }, 'id', 'calls', 'retries')).at(-1);
  return turn as { id: string; calls: number; retries: number };
}

const views = (of: TurnRig) => of.database.views;

/** The prompts that the model received for a session, in the order of the requests. */
function requestsOf(of: TurnRig, name: string) {
  return of.scripted.requests.filter(({ headers }) => headers['x-holdfast-session'] === `agent:main:${name}`);
}

describe('a turn whose model is unavailable', () => {
  test('is parked after a few calls, says why and until when, and is answered when the model is back (G33)', async () => {
    const worker = patientRig.worker();
    const message = await patientRig.send('away', '[[error: 529 times=9]] [[reply: back]]');
    expect(await worker.run('away')).toMatchObject({ kind: 'parked', after: { rings: [] } });
    const { id, calls } = await openTurnOf(patientRig, 'away');
    expect(calls).toBe(3);
    const why = {
      code: 'model_away',
      text: expect.stringMatching(/overload/i) as string,
      by: 'anthropic',
      since: expect.any(String) as string,
      until: expect.any(String) as string,
    };
    expect(await viewTurn(views(patientRig), id)).toMatchObject({ status: 'parked', why });
    expect(await viewMessage(views(patientRig), message)).toMatchObject({ status: 'claimed', why });
    expect(await viewSession(views(patientRig), 'agent:main:away')).toMatchObject({ status: 'waiting', turnId: id });
    const later = await patientRig.send('away', 'and I?');
    expect(await viewMessage(views(patientRig), later)).toMatchObject({ status: 'waiting', why });
    await runToEnd(worker, 'away');
    expect(await viewMessage(views(patientRig), message)).toMatchObject({
      status: 'answered',
      why: null,
      reply: 'back',
    });
    expect(requestsOf(patientRig, 'away')).toHaveLength(10);
    await runToEnd(worker, 'away');
    expect(await viewMessage(views(patientRig), later)).toMatchObject({ status: 'answered' });
    const types = await readEvents(patientRig, { turnId: id, type: like('turn.%') }, 'type', 'code');
    expect(types.filter(({ type }) => type === 'turn.parked')).toHaveLength(7);
    expect(types.filter(({ type }) => type === 'turn.resumed')).toHaveLength(7);
    expect(types.at(-1)).toMatchObject({ type: 'turn.ended' });
    worker.stop();
  });

  test('is parked and answered by a worker without features as well', async () => {
    const worker = patientRig.worker({ hasFeatures: false });
    const message = await patientRig.send('bare', '[[error: 529 times=4]] [[reply: back]]');
    expect(await worker.run('bare')).toMatchObject({ kind: 'parked' });
    await runToEnd(worker, 'bare');
    expect(await viewMessage(views(patientRig), message)).toMatchObject({ status: 'answered', reply: 'back' });
    worker.stop();
  });

  test('fails when the database refuses to park it, and its session takes the next message', async () => {
    const worker = patientRig.worker();
    const sessionId = await patientRig.sessionOf('unparkable');
    const when = `new.session_id = '${sessionId}' and new.status = 'parked'`;
    await refuseWrites(patientRig, { table: 'turns', on: 'update', when });
    const message = await patientRig.send('unparkable', '[[error: 529 times=3]]');
    expect(await worker.run('unparkable')).toMatchObject({ kind: 'ended' });
    expect(await viewMessage(views(patientRig), message)).toMatchObject({
      status: 'failed',
      error: { code: 'commit_failed' },
    });
    const next = await patientRig.send('unparkable', '[[reply: here]]');
    await runToEnd(worker, 'unparkable');
    expect(await viewMessage(views(patientRig), next)).toMatchObject({ status: 'answered', reply: 'here' });
    worker.stop();
  });

  test('is asked again by a worker that does not know of the outage, from the same journal (G13)', async () => {
    const message = await patientRig.send('taken-over', '[[error: 503 times=5]] [[reply: here]]');
    for (let round = 1; round <= 3; round += 1) {
      const worker = patientRig.worker();
      await expect.poll(async () => (await worker.run('taken-over')).kind, { interval: 5 }).toBe('parked');
      worker.stop();
    }
    const worker = patientRig.worker();
    await runToEnd(worker, 'taken-over');
    expect(await viewMessage(views(patientRig), message)).toMatchObject({ status: 'answered', reply: 'here' });
    const bodies = requestsOf(patientRig, 'taken-over').map(({ body }) => JSON.stringify(body));
    expect(bodies).toHaveLength(6);
    expect(new Set(bodies).size).toBe(1);
    worker.stop();
  });

  test('is not asked before the time that the provider sets (G16)', async () => {
    const worker = patientRig.worker();
    const message = await patientRig.send('limited', '[[error: 429 retry-after=600]] [[reply: later]]', {
      model: 'anthropic/limited',
    });
    const sentAt = Date.now();
    expect(await worker.run('limited')).toMatchObject({ kind: 'parked', after: { rings: [] } });
    const view = await viewMessage(views(patientRig), message);
    expect(view).toMatchObject({ why: { code: 'rate_limited' } });
    expect(Date.parse(view?.why?.until ?? '')).toBeGreaterThanOrEqual(sentAt + 600_000);
    expect(await worker.run('limited')).toMatchObject({ kind: 'early', after: { rings: [] } });
    expect(requestsOf(patientRig, 'limited')).toHaveLength(1);
    worker.stop();
  });

  test.each([
    '429 retry-after=2600000',
    '529 retry-after=2600000',
    '503 retry-after=2600000',
    '503 retry-after=1798761600',
    '409 retry-after=2600000',
  ])('waits no longer than models.outage.giveUpAfter for a provider that answers %s', async (answer) => {
    const worker = patientRig.worker();
    const name = `asks-much-${answer.replaceAll(/\W/g, '-')}`;
    const message = await patientRig.send(name, `[[error: ${answer} times=always]]`, { model: `anthropic/${name}` });
    expect(await worker.run(name)).toMatchObject({ kind: 'parked' });
    const view = await viewMessage(views(patientRig), message);
    expect(Date.parse(view?.why?.until ?? '') - Date.now()).toBeLessThanOrEqual(86_400_000 + 60_000);
    const dayAhead = above(ahead('24 hours'));
    expect(await countModelBlocks(patientRig, { until: dayAhead })).toBe(0);
    expect(await countTurns(patientRig, { status: 'parked', parkNotBefore: dayAhead })).toBe(0);
    worker.stop();
  });

  test("has waited since its model's last answer, also when the reason changes meanwhile", async () => {
    const worker = patientRig.worker();
    await patientRig.send('alternating', '[[error: 529 times=3]] [[error: 429 retry-after=600 times=always]]', {
      model: 'anthropic/alternating',
    });
    expect(await worker.run('alternating')).toMatchObject({ kind: 'parked' });
    const { id } = await openTurnOf(patientRig, 'alternating');
    await changeTurns(patientRig, { id }, { parkSince: earlier('23 hours') });
    await expect.poll(async () => (await worker.run('alternating')).kind, { interval: 5 }).toBe('parked');
    expect(await readTurns(patientRig, { id, parkSince: below(ago('22 hours')) }, 'parkCode', 'parks')).toEqual([
      { parkCode: 'rate_limited', parks: 2 },
    ]);
    worker.stop();
  });

  test('ends immediately when it is aborted (G24)', async () => {
    const worker = patientRig.worker();
    const message = await patientRig.send('aborted', '[[error: 429 retry-after=600]] [[reply: never]]', {
      model: 'anthropic/aborted',
    });
    await worker.run('aborted');
    const { id } = await openTurnOf(patientRig, 'aborted');
    expect(await abortTurn(patientRig.database, { turnId: id })).toMatchObject({
      after: { rings: [{ lane: 'main' }] },
    });
    expect(await worker.run('aborted')).toMatchObject({ kind: 'ended' });
    expect(await viewTurn(views(patientRig), id)).toMatchObject({ status: 'aborted', why: null });
    expect(await viewMessage(views(patientRig), message)).toMatchObject({ status: 'cancelled' });
    expect(requestsOf(patientRig, 'aborted')).toHaveLength(1);
    worker.stop();
  });

  test('runs no finished tool again (G11)', async () => {
    const runs: string[] = [];
    const tool = {
      spec: { name: 'effect', description: 'counts', input_schema: { type: 'object' as const } },
      summary: 'counts',
      isIdempotent: false,
      run: () => {
        runs.push('run');
        return Promise.resolve({ content: 'done', isError: false });
      },
    };
    const worker = patientRig.worker({ tools: [tool] });
    const message = await patientRig.send('tools', '[[tool: effect {}]] [[error: 500 times=6]] [[reply: once]]');
    expect(await worker.run('tools')).toMatchObject({ kind: 'parked' });
    await runToEnd(worker, 'tools');
    expect(await viewMessage(views(patientRig), message)).toMatchObject({ status: 'answered', reply: 'once' });
    expect(runs).toHaveLength(1);
    worker.stop();
  });

  test('fails after an outage of models.outage.giveUpAfter, with the last fault in its error', async () => {
    const worker = rig.worker();
    const message = await rig.send('given-up', '[[error: 529 times=always]]');
    await runToEnd(worker, 'given-up');
    expect(await viewMessage(views(rig), message)).toMatchObject({
      status: 'failed',
      error: { code: 'model_away', message: expect.stringMatching(/giveUpAfter.*overload/is) as string },
    });
    worker.stop();
  });

  test('fails when its message expires while it waits (expiresAt)', async () => {
    const worker = patientRig.worker();
    const message = await patientRig.send('expiring', '[[error: 529 times=always]]', { expiresAt: Date.now() + 400 });
    await runToEnd(worker, 'expiring');
    expect(await viewMessage(views(patientRig), message)).toMatchObject({
      status: 'failed',
      error: { code: 'expired', message: expect.stringMatching(/expiresAt/) as string },
    });
    worker.stop();
  });

  test('is not opened for an expired message, which shares no turn with others', async () => {
    const worker = patientRig.worker();
    const expired = await patientRig.send('expired', 'too late', { expiresAt: Date.now() - 1 });
    const next = await patientRig.send('expired', 'in time');
    await worker.run('expired');
    await runToEnd(worker, 'expired');
    expect(await viewMessage(views(patientRig), expired)).toMatchObject({
      status: 'failed',
      error: { code: 'expired' },
    });
    expect(await viewMessage(views(patientRig), next)).toMatchObject({ status: 'answered' });
    expect(requestsOf(patientRig, 'expired')).toHaveLength(1);
    worker.stop();
  });

  test('also waits when a session is compacted on request', async () => {
    const worker = patientRig.worker();
    await seedHistory(patientRig, 'compacted', { turns: 10, tokens: 60_000, first: '<<error: 503 times=6>> ' });
    const asked = await patientRig.send('compacted', '/compact', {}, 'compaction');
    expect(await worker.run('compacted')).toMatchObject({ kind: 'parked' });
    await runToEnd(worker, 'compacted');
    expect(await viewMessage(views(patientRig), asked)).toMatchObject({ status: 'answered' });
    worker.stop();
  });
});

test('a compaction that is interrupted before its call holds back no other session', async () => {
  const worker = patientRig.worker();
  const check = worker.context.models.states.away;
  const probed = modelOfRef(patientRig.config.agents.defaults.model);
  const early = await holdOf(check, probed, 'early');
  await seedHistory(patientRig, 'probing', { turns: 10, tokens: 60_000 });
  const sessionId = await patientRig.sessionOf('probing');
  await refuseWrites(patientRig, { table: 'compactions', when: `new.session_id = '${sessionId}'` });
  for (const session of ['one', 'other']) {
    const hold = await holdOf(check, probed, session);
    await hold?.failed?.(away(0));
  }
  await expect.poll(() => check.isOpen?.(probed), { interval: 5 }).toBe(true);
  await patientRig.send('probing', '/compact', {}, 'compaction');
  expect(await worker.run('probing')).toMatchObject({ kind: 'ended' });
  expect(check.isOpen?.(probed)).toBe(true);
  // The other tests use the model.
  const blocks = () => countModelBlocks(patientRig, { probeAt: not(null), liftedAt: null });
  await expect.poll(blocks, { interval: 5 }).toBe(1);
  early?.answered?.();
  await expect.poll(blocks, { interval: 5 }).toBe(0);
  worker.stop();
});

test('a compaction whose own model is unavailable uses the model of the turn (G33)', async () => {
  const database = await withTestDatabase();
  const transport = readTransport('/p.ts', {
    name: 'spare',
    provider: 'spare',
    send: () => Promise.reject(new Error('The model that is away was asked.')),
  });
  const { plugins } = pluginsWith([], { transports: [transport] });
  const settings = { plugins: ['/spare.ts'], agents: { defaults: { compaction: { model: 'spare/first' } } } };
  const ownRig = await createTurnRig(database.url, { plugins, settings });
  const worker = ownRig.worker();
  for (const session of ['one', 'other']) {
    const hold = await holdOf(worker.context.models.states.away, { provider: 'spare', model: 'first' }, session);
    await hold?.failed?.(away(600_000));
  }
  await seedHistory(ownRig, 'full', { turns: 10, tokens: 60_000 });
  const asked = await ownRig.send('full', '/compact', {}, 'compaction');
  expect(await worker.run('full')).toMatchObject({ kind: 'ended' });
  expect(await viewMessage(views(ownRig), asked)).toMatchObject({ status: 'answered' });
  await ownRig.close();
  await database.drop();
});

test.each([
  [400, 'model_invalid_request'],
  [401, 'model_unauthorized'],
  [403, 'model_forbidden'],
  [404, 'model_not_found'],
  [413, 'model_request_too_large'],
])('a request that is refused with %i fails its turn after one call (G16)', async (status, code) => {
  const worker = patientRig.worker();
  const message = await patientRig.send(`refused-${status}`, `[[error: ${status} times=always]]`);
  await worker.run(`refused-${status}`);
  expect(await viewMessage(views(patientRig), message)).toMatchObject({ status: 'failed', error: { code } });
  expect(requestsOf(patientRig, `refused-${status}`)).toHaveLength(1);
  worker.stop();
});
