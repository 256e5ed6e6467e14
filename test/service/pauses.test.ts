// Goal: what is paused stays paused through a crash and a restart, running turns finish, and all
// messages are answered after the pause. Method: pause while a turn runs and others wait, kill the
// worker that runs it, start another, end the pause; judged by the rows.
import { describe, expect, test } from 'vitest';
import { waitUntil } from '../crash/rig/wait-until.ts';
import { countTurns } from '../rows/turns.ts';
import { openServiceRig, queues } from './rig/service-rig.ts';

const SOON_MS = 150_000;
const MESSAGES = 20;

describe.each(queues)('with the queue in $queue', ({ queue }) => {
  test('a pause holds all turns back through a kill and a restart, and they run when it ends (G1, G10, G22)', async ({
    onTestFinished,
  }) => {
    const rig = await openServiceRig({ queue });
    onTestFinished(() => rig.close());
    const api = rig.apiOf(await rig.start('api,scheduler'));
    const first = await rig.start('worker');
    const slow = await api.send('running', { text: '[[delay: 600000]] [[reply: never]]' });
    await waitUntil('the turn runs', SOON_MS, async () => rig.model.requests.length > 0);

    expect((await api.ask('POST', '/v1/pause', { lane: 'main', reason: 'a drill' })).status).toBe(200);
    const messages = await Promise.all(
      Array.from({ length: MESSAGES }, (_, n) => api.send(`held-${n}`, { text: `[[reply: ${n}]]` })),
    );
    await rig.kill(first);
    await rig.start('worker');
    // The new worker has looked at all jobs in the queue, and at the session of the killed one.
    await waitUntil('a reason that is not the lost worker', SOON_MS, async () => {
      const { body } = await api.ask('GET', '/v1/waiting');
      const codes = new Set(body.items.map(({ why }: { why: { code: string } }) => why.code));
      return codes.size === 1 && codes.has('paused');
    });
    expect(await countTurns(rig)).toBe(1);
    expect(rig.model.requests.length).toBe(1);

    expect((await api.ask('POST', '/v1/sessions/running/abort', {})).status).toBe(200);
    expect(await api.settled(slow)).toMatchObject({ status: 'cancelled' });
    expect((await api.ask('POST', '/v1/resume', {})).body.ended).toHaveLength(1);
    const settled = await Promise.all(messages.map((message) => api.settled(message)));
    expect(settled.map(({ status, reply }) => [status, reply])).toEqual(settled.map((_, n) => ['answered', String(n)]));
  });
});
