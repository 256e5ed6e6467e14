// Goal: a reply with a delivery reaches its receiver, signed, and an acknowledged delivery is not
// sent again (G21). Method: a receiver that records every request, and that is down for a while, or
// does not answer while the sending worker receives a stop signal or is killed.
import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { waitUntil } from '../crash/rig/wait-until.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { isLongForm } from '../servers/test-form.ts';
import type { ServiceApi } from './rig/service-api.ts';
import { onEachQueueAtOnce, openServiceRig, type RunningProcess, type ServiceRig } from './rig/service-rig.ts';
import { startReceiver, type ReceivedWebhook, type WebhookReceiver } from './rig/webhook-receiver.ts';

const secret = `whsec_${Buffer.from('a secret for these tests only').toString('base64')}`;
const soonMs = 150_000;
/**
 * No attempt times out, however busy the machine is: a receiver that answers too late gets its
 * reply again.
 */
const attemptMs = 120_000;
const takenOverWithinMs = 150_000;

onEachQueueAtOnce((queue) => {
  let rig: ServiceRig;
  let receiver: WebhookReceiver;
  let api: ServiceApi;
  let worker: RunningProcess;

  shareAmongTests(async (onEnd) => {
    const opened = await openServiceRig({ queue, config: { channels: { webhook: { secret, timeoutMs: attemptMs } } } });
    const started = await startReceiver();
    onEnd(() => started.close());
    onEnd(() => opened.close());
    [rig, receiver] = [opened, started];
    const processes = await Promise.all([rig.start('api,scheduler'), rig.start('worker')]);
    api = rig.apiOf(processes[0]);
    worker = processes[1];
  });

  async function send(session: string, reply: string) {
    const message = await api.send(session, { text: `[[reply: ${reply}]]`, deliver: { url: receiver.url } });
    return api.settled(message);
  }

  function arrivalsOf(reply: string): ReceivedWebhook[] {
    return receiver.received.filter(({ body }) => body.text === reply);
  }

  async function deliveryOf(session: string, status: string) {
    return waitUntil(`the delivery of ${session} is ${status}`, soonMs, async () => {
      const { body } = await api.ask('GET', `/v1/deliveries?session=${session}`);
      return body.items[0]?.status === status && body.items[0];
    });
  }

  test('a reply arrives once, signed, and names the message that it answers (G21)', async () => {
    const message = await send('plain', 'Hello.');
    const delivery = await deliveryOf('plain', 'sent');
    const [webhook, ...more] = arrivalsOf('Hello.');
    expect(more).toEqual([]);
    expect(webhook?.headers['webhook-id']).toBe(delivery.id);
    expect(webhook?.body).toMatchObject({
      sessionKey: 'agent:main:plain',
      turnId: message.turnId,
      messageIds: [message.id],
      deliveryId: delivery.id,
    });
    const headers = webhook?.headers as Record<string, string>;
    expect(() => new Webhook(secret).verify(webhook?.rawBody ?? '', headers)).not.toThrow();
    const other = `whsec_${Buffer.from('another secret for the test').toString('base64')}`;
    expect(() => new Webhook(other).verify(webhook?.rawBody ?? '', headers)).toThrow();
  });

  test('a receiver gets its replies in order after an outage (G21)', async () => {
    await receiver.down();
    await send('away', 'First.');
    await send('away', 'Second.');
    await waitUntil('it was tried', soonMs, async () => {
      const { items } = (await api.ask('GET', '/v1/deliveries?session=away')).body;
      return items.at(-1)?.attempts >= 1 && items.at(-1)?.status === 'pending';
    });
    await receiver.up();
    await deliveryOf('away', 'sent');
    const arrived = receiver.received.filter(({ body }) => body.sessionKey === 'agent:main:away');
    expect(arrived.map(({ body }) => body.text)).toEqual(['First.', 'Second.']);
  });

  test('a worker that receives a stop signal finishes the delivery that it is sending (G21, G26)', async () => {
    const release = receiver.hold();
    await send('stopping', 'Take your time.');
    await waitUntil('it is on its way', soonMs, () => arrivalsOf('Take your time.').length === 1);
    const leaving = worker.end('SIGTERM');
    await waitUntil('the worker drains', soonMs, () => rig.logs.some((line) => line.includes('"Draining')));
    release();
    expect(await leaving).toBe(0);
    await deliveryOf('stopping', 'sent');
    worker = await rig.start('worker');
    await send('stopping', 'Next.');
    await waitUntil('the next arrives', soonMs, () => arrivalsOf('Next.').length === 1);
    expect(arrivalsOf('Take your time.')).toHaveLength(1);
  });

  test.runIf(isLongForm())(
    'a delivery of a killed worker is sent again with the same id, and not again after that (G21)',
    async () => {
      const release = receiver.hold();
      await send('killed', 'Once more.');
      await waitUntil('it is on its way', soonMs, () => arrivalsOf('Once more.').length === 1);
      await rig.kill(worker);
      release();
      worker = await rig.start('worker');
      await waitUntil('it is sent again', takenOverWithinMs, () => arrivalsOf('Once more.').length === 2);
      await deliveryOf('killed', 'sent');
      await send('killed', 'After it.');
      await waitUntil('the next arrives', soonMs, () => arrivalsOf('After it.').length === 1);
      expect(new Set(arrivalsOf('Once more.').map(({ headers }) => headers['webhook-id'])).size).toBe(1);
      expect(arrivalsOf('Once more.')).toHaveLength(2);
    },
  );
});
