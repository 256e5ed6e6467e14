// Goal: a connection to PostgreSQL that breaks at the worst time costs milliseconds and not a
// lease, and nothing is done twice (G23). Method: workers reach the database through a proxy that
// drops the connection at one chosen statement.
import { expect, test } from 'vitest';
import { waitUntil } from '../crash/rig/wait-until.ts';
import { readEvents } from '../rows/events.ts';
import { readInputsWithTurns } from '../rows/inputs.ts';
import { startPostgresProxy, type PostgresProxy } from '../servers/postgres-proxy.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { isLongForm } from '../servers/test-form.ts';
import type { Message, ServiceApi } from './rig/service-api.ts';
import { onEachQueueAtOnce, openServiceRig, type RunningProcess, type ServiceRig } from './rig/service-rig.ts';
import { startReceiver, type WebhookReceiver } from './rig/webhook-receiver.ts';

/** Much longer than anything here takes, so that waiting for an expired lock would be noticed. */
const leaseMs = 45_000;
const soonMs = 150_000;

onEachQueueAtOnce((queue) => {
  let rig: ServiceRig;
  let proxy: PostgresProxy;
  let receiver: WebhookReceiver;
  let api: ServiceApi;

  shareAmongTests(async (onEnd) => {
    const opened = await openServiceRig({ queue, env: { HOLDFAST_LEASE_MS: String(leaseMs) } });
    const { hostname: host, port } = new URL(opened.databaseUrl);
    const between = await startPostgresProxy({ host, port: Number(port) });
    const started = await startReceiver();
    onEnd(() => started.close());
    onEnd(() => between.close());
    onEnd(() => opened.close());
    [rig, proxy, receiver] = [opened, between, started];
    const [front] = await Promise.all([startWithProxy('api,scheduler'), startWorker(), startWorker()]);
    api = rig.apiOf(front);
  });

  const startWorker = (): Promise<RunningProcess> => startWithProxy('worker');

  function startWithProxy(roles: string): Promise<RunningProcess> {
    return rig.start(roles, { env: { DATABASE_URL: proxy.urlFor(rig.databaseUrl) } });
  }

  /**
   * Drops the connection at the next statement of that name, before the server receives it or
   * before its answer arrives.
   */
  function dropAt(tag: string, when: 'before' | 'after', at = 1): Promise<unknown> {
    return proxy.arm({ when, matches: (trip) => trip.tag === tag, at, hit: () => 'drop' }).reached;
  }

  /**
   * Sends a message whose turn has a failing call and a tool loop; resolves with its events, in
   * order.
   */
  async function play(session: string): Promise<string[]> {
    const text = `[[error: 529]] [[tool: http_effect {"key": "${session}"}]] [[reply: Played.]]`;
    const message = await api.settled(await api.send(session, { text }));
    expect(message).toMatchObject({ status: 'answered', reply: 'Played.' });
    const reported = await readEvents(rig, { sessionKey: `agent:main:${session}` }, 'type', 'data');
    return reported.map(({ type, data }) => {
      const { call, name, status } = data as Record<string, unknown>;
      return [type, call, name, status].filter(Boolean).join(' ');
    });
  }

  async function turnOf(message: Message): Promise<{ attempt: number; deaths: number; ms: number }> {
    const turn = (await readInputsWithTurns(rig, { id: message.id }))[0]?.turn;
    if (!turn) throw new Error('the message has no turn');
    return { attempt: turn.attempt, deaths: turn.deaths, ms: Number(turn.endedAt) - Number(turn.startedAt) };
  }

  test('a lost answer of the database changes neither what happens nor which events are sent (G23)', async () => {
    const undisturbed = await play('undisturbed');
    expect(undisturbed).toContain('model.ended 1 failed');
    const statements = [
      ['ensure-session', 1],
      ['accept', 1],
      ['claim', 1],
      ['open-turn', 1],
      ['commit-step', 1],
      ['commit-step', 2],
      ['commit-step', 3],
      ['finish-turn', 1],
    ] as const;
    for (const [tag, at] of statements) {
      const session = `unheard-${tag}-${at}`;
      const dropped = dropAt(tag, 'after', at);
      expect([session, await play(session)]).toEqual([session, undisturbed]);
      await dropped;
      expect(rig.effects.effects.filter(({ key }) => key === session)).toHaveLength(1);
    }
  });

  test.runIf(isLongForm())('a failed renewal is retried well before the lease expires (G23)', async () => {
    const gate = rig.gate();
    const message = await api.send('renewed', { text: `${gate.call} [[reply: Held on.]]` });
    for (let drops = 1; drops <= 3; drops += 1) await dropAt('renew', 'before');
    gate.open();
    expect(await api.settled(message)).toMatchObject({ status: 'answered', reply: 'Held on.' });
    expect(await turnOf(message)).toMatchObject({ attempt: 1, deaths: 0 });
  });

  test('a turn that cannot be resumed is released immediately (G10, G23)', async () => {
    const gate = rig.gate();
    const message = await api.send('resumed', {
      text: `[[tool: http_effect {"key": "before"}]] ${gate.call} [[tool: http_effect {"key": "after"}]] [[reply: Went on.]]`,
    });
    await waitUntil('it runs', soonMs, () => rig.effects.effects.some(({ key }) => key === 'before'));
    const dropped = dropAt('snapshots', 'before');
    const ended = (await rig.holderOf('resumed')).end('SIGTERM');
    await waitUntil('its worker drains', soonMs, () => rig.logs.some((line) => line.includes('"Draining')));
    gate.open();
    expect(await ended).toBe(0);
    await dropped;
    expect(await api.settled(message)).toMatchObject({ status: 'answered', reply: 'Went on.' });
    const { deaths, ms } = await turnOf(message);
    expect(deaths).toBe(0);
    expect(ms).toBeLessThan(leaseMs);
  });

  test.for(['before', 'after'] as const)(
    'an acknowledged reply is not sent again when its settlement breaks %s the server has it (G21, G23)',
    async (when, { expect: expectHere }) => {
      const reply = `Sent once, broken ${when}.`;
      const dropped = dropAt('settle-delivery', when);
      const session = `settled-${when}`;
      await api.settled(await api.send(session, { text: `[[reply: ${reply}]]`, deliver: { url: receiver.url } }));
      await dropped;
      await waitUntil('the delivery is settled', soonMs, async () => {
        const { items } = (await api.ask('GET', `/v1/deliveries?session=${session}`)).body;
        return items[0]?.status === 'sent';
      });
      expectHere(receiver.received.filter(({ body }) => body.text === reply)).toHaveLength(1);
    },
  );
});
