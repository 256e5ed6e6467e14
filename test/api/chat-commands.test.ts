// Chat commands and queue modes as a sender sees them: the immediate answer, and the change.
import { describe, expect, test } from 'vitest';
import { eventually, useApiRig } from './use-api-rig.ts';

const holder = useApiRig({ ownerIds: ['the-owner'] });

const say = (session: string, text: string, more: object = {}, headers: Record<string, string> = {}) =>
  holder.rig.post(`/v1/sessions/${session}/messages`, { text, ...more }, headers);

/** A session whose turn waits for a slow model. */
async function busy(session: string): Promise<{ done: Promise<unknown> }> {
  await say(session, '[[delay: 60000]] [[reply: slow]]');
  const done = holder.rig.work(session);
  await eventually(async () => (await holder.rig.get(`/v1/sessions/${session}`)).body.status).toBe('running');
  return { done };
}

describe('a chat command', () => {
  test('is executed and answered when it is accepted', async () => {
    const answer = await say('status', '/status');
    expect(answer.status).toBe(202);
    expect(answer.body).toMatchObject({
      disposition: 'command',
      message: { status: 'answered', turnId: null, reply: expect.stringContaining('agent:main:status') },
      session: { status: 'idle', waitingMessages: 0 },
    });
    expect((await holder.rig.get(`/v1/messages/${answer.body.message.id}`)).body).toMatchObject(answer.body.message);
  });

  test('/status names the model in use and its source, and the day on which it ends', async () => {
    const { rig } = holder;
    const { body } = await say('model', '/status');
    expect(body.message.reply).toContain('Model: anthropic/claude-sonnet-5-5 (default) · thinking off (default)');
    await rig.ask('PATCH', '/v1/sessions/model', { payload: { model: 'anthropic/claude-sonnet-4-5' } });
    const { reply } = (await say('model', '/status')).body.message;
    expect(reply).toContain('Model: anthropic/claude-sonnet-4-5 (session)');
    expect(reply).toMatch(/⚠️ anthropic\/claude-sonnet-4-5 (is deprecated|has ended).* 2026-11-30\./);
  });

  test('/stop ends the turn and cancels waiting messages, once per key (G2, G24, G29)', async () => {
    const { rig } = holder;
    const { done } = await busy('stop');
    await say('stop', 'wait for me');
    const stopped = await say('stop', '/stop', {}, { 'idempotency-key': 'stop-1' });
    expect(stopped.body).toMatchObject({
      disposition: 'command',
      message: { reply: '⚙️ Agent was aborted. Cancelled 1 waiting message.' },
    });
    await done;
    expect((await rig.get('/v1/turns?session=stop')).body.items).toMatchObject([{ status: 'aborted' }]);
    const next = await busy('stop');
    const again = await say('stop', '/stop', {}, { 'idempotency-key': 'stop-1' });
    expect(again.body).toEqual(stopped.body);
    expect((await rig.get('/v1/sessions/stop')).body.status).toBe('running');
    await rig.post('/v1/sessions/stop/abort', {});
    await next.done;
  });

  test('/think and /queue set values for the session, and /queue default removes them', async () => {
    const { rig } = holder;
    await say('settings', '/think high');
    await say('settings', '/queue steer debounce:2s cap:25 drop:old');
    const set = { thinking: 'high', queueMode: 'steer', queueDebounceMs: 2000, queueCap: 25, queueDrop: 'old' };
    expect((await rig.get('/v1/sessions/settings')).body).toMatchObject(set);
    await say('settings', '/queue default');
    expect((await rig.get('/v1/sessions/settings')).body).toMatchObject({ queueMode: null, queueCap: null });
    expect((await say('settings', '/queue sideways')).body.message.reply).toContain('"sideways" is not valid here');
  });

  test('from an unauthorised sender is a message like any other', async () => {
    const stranger = await say('stranger', '/stop', { sender: { id: 'somebody' } });
    expect(stranger.body).toMatchObject({ disposition: 'queued', message: { status: 'waiting' } });
    const owner = await say('stranger', '/stop', { sender: { id: 'the-owner' } });
    expect(owner.body.disposition).toBe('command');
  });

  test('/compact waits for its turn in the session', async () => {
    const answer = await say('compact', '/compact keep the numbers');
    expect(answer.body).toMatchObject({ disposition: 'command', message: { kind: 'compaction', status: 'waiting' } });
  });
});

describe('a message to a busy session', () => {
  test.each([
    ['steer', 'steered', 'waiting'],
    ['steer-backlog', 'steered', 'waiting'],
    ['followup', 'queued', 'waiting'],
    ['collect', 'queued', 'waiting'],
    ['reject', 'rejected', 'dropped'],
    ['interrupt', 'interrupting', 'waiting'],
    ['rollback', 'interrupting', 'waiting'],
  ])('in mode %s is %s', async (mode, disposition, status) => {
    const session = `busy-${mode}`;
    const { done } = await busy(session);
    expect((await say(session, 'meanwhile', { mode })).body).toMatchObject({ disposition, message: { status } });
    await holder.rig.post(`/v1/sessions/${session}/abort`, {});
    await done;
  });

  test('uses its own mode, then that of the session', async () => {
    const { rig } = holder;
    await say('order', '/queue followup');
    const { done } = await busy('order');
    expect((await say('order', 'as the session says')).body.disposition).toBe('queued');
    expect((await say('order', '/queue reject as I say')).body).toMatchObject({
      disposition: 'rejected',
      message: { text: 'as I say', error: { code: 'busy' } },
    });
    await rig.post('/v1/sessions/order/abort', {});
    await done;
  });

  test('over the cap replaces the oldest, or is refused itself, with the reason on the row (G5)', async () => {
    const { rig } = holder;
    await say('cap', '/queue cap:2 drop:old');
    const { done } = await busy('cap');
    const sent = [];
    for (const text of ['one', 'two', 'three']) sent.push((await say('cap', text)).body.message.id);
    expect((await rig.get(`/v1/messages/${sent[0]}`)).body).toMatchObject({
      status: 'dropped',
      error: { code: 'overflow' },
    });
    await say('cap', '/queue drop:new');
    expect((await say('cap', 'four')).body).toMatchObject({
      disposition: 'rejected',
      message: { error: { code: 'overflow' } },
    });
    await rig.post('/v1/sessions/cap/abort', {});
    await done;
  });
});
