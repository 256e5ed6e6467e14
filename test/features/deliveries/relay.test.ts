// Webhooks: their order, their addresses, and what becomes of one whose receiver or relay fails.
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { createWebhookChannel, type WebhookOptions } from '../../../src/features/deliveries/webhook-channel.ts';
import { systemClock } from '../../../src/clock.ts';
import { createLogger } from '../../../src/logger.ts';
import { loadConfig } from '../../../src/config.ts';
import { createRedact } from '../../../src/config/secrets.ts';
import type { DeliveryId, SessionId } from '../../../src/core/ids.ts';
import { newId } from '../../../src/ids.ts';
import { createPublish, createWake } from '../../../src/kernel/queue/rings.ts';
import { redriveDelivery, sendDelivery } from '../../../src/features/deliveries/decide.ts';
import { claimDelivery } from '../../../src/features/deliveries/store/claims.ts';
import { readDueDeliveries } from '../../../src/features/deliveries/store/due.ts';
import { relayDeliveries, type WebhookRelay } from '../../../src/features/deliveries/relay.ts';
import { readDeadLetters } from '../../rows/dead-letters.ts';
import { changeDeliveries, countDeliveries, readDeliveries } from '../../rows/deliveries.ts';
import { readEvents } from '../../rows/events.ts';
import { above, ahead, atMost, now } from '../../rows/table.ts';
import { createStoreRig, goodEnd, type StoreRig } from '../../store/store-rig.ts';

const SECRET = `whsec_${Buffer.from('a secret for these tests only').toString('base64')}`;

/** A secret that a receiver returns in its answer. */
const KEY = 'key-of-the-model-that-stays-secret';
/** A service that listens on loopback only and has no configured webhook. */
const onLoopback: WebhookOptions = {
  secrets: [SECRET],
  // The receiver is in this process: when it gets no processor, an answer must not be too late.
  timeoutMs: 120_000,
  clock: systemClock,
  trustedUrl: undefined,
  allowPrivate: [],
  mayReachLoopback: true,
  redact: createRedact([KEY]),
};

interface Received {
  headers: IncomingHttpHeaders;
  body: string;
}

let rig: StoreRig;
let receiver: Server;
let received: Received[];
/** The answers of the receiver, in turn; then 200. */
let answers: { status: number; headers?: Record<string, string>; body?: string }[];
let relay: WebhookRelay;
const never = new AbortController().signal;

beforeAll(async () => {
  rig = await createStoreRig();
  receiver = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      received.push({ headers: request.headers, body });
      const { status, headers, body: said = 'no' } = answers.shift() ?? { status: 200 };
      response.writeHead(status, headers).end(status === 200 ? '' : said);
    });
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  receiver.listen(0, '127.0.0.1', resolve);
  await promise;
  relay = {
    database: rig.database,
    config: loadConfig({ env: {}, cwd: '/' }),
    owner: 'relay',
    webhook: createWebhookChannel(onLoopback),
    publish: createPublish({ wake: createWake(), doorbell: { ring: async () => undefined } }),
    random: () => 0,
    redact: createRedact([KEY]),
    logger: createLogger({ level: 'silent', format: 'json', name: 'test' }),
  };
});
beforeEach(() => {
  received = [];
  answers = [];
});
afterAll(async () => {
  receiver.close();
  await rig.drop();
});

function ownUrl(host = '127.0.0.1'): string {
  return `http://${host}:${(receiver.address() as AddressInfo).port}/hook`;
}

/** Ends a turn that leaves replies behind, and returns the session. */
async function sessionWithReplies(
  texts: string[],
  more: { expiresMs?: number; url?: string } = {},
): Promise<SessionId> {
  const sessionId = await rig.session();
  await rig.accept(rig.input(sessionId));
  const { write } = await rig.opened(sessionId);
  const url = more.url ?? ownUrl();
  await rig.finishTurn(
    goodEnd(write, {
      deliveries: texts.map((text) => ({
        id: newId<DeliveryId>(),
        channel: 'webhook',
        target: { url },
        payload: { type: 'reply', text },
        expiresMs: more.expiresMs ?? 60_000,
      })),
    }),
  );
  return sessionId;
}

async function statusesOf(sessionId: SessionId): Promise<string[]> {
  const rows = await readDeliveries(rig, { sessionId }, 'status');
  return rows.map((row) => row.status);
}

test('replies are sent in order, signed, each with its own dedupe key (G21)', async () => {
  const sessionId = await sessionWithReplies(['one', 'two', 'three']);
  expect(await relayDeliveries(relay, sessionId, never)).toBe(3);
  expect(received.map(({ body }) => JSON.parse(body).text)).toEqual(['one', 'two', 'three']);
  expect(new Set(received.map(({ headers }) => headers['webhook-id'])).size).toBe(3);
  const { body, headers } = received[0] as Received;
  expect(() => new Webhook(SECRET).verify(body, headers as Record<string, string>)).not.toThrow();
  expect(() => new Webhook(SECRET).verify(`${body} `, headers as Record<string, string>)).toThrow();
  expect(await statusesOf(sessionId)).toEqual(['sent', 'sent', 'sent']);
});

test('a delivery with a temporary failure waits, and no later one overtakes it (G21)', async () => {
  const sessionId = await sessionWithReplies(['first', 'second']);
  answers = [{ status: 503 }];
  await relayDeliveries(relay, sessionId, never);
  expect(await statusesOf(sessionId)).toEqual(['pending', 'pending']);
  expect(await relayDeliveries(relay, sessionId, never)).toBe(0);
  await changeDeliveries(rig, { sessionId }, { dueAt: now });
  await relayDeliveries(relay, sessionId, never);
  expect(received.map(({ body }) => JSON.parse(body).text)).toEqual(['first', 'first', 'second']);
  expect(received[0]?.headers['webhook-id']).toBe(received[1]?.headers['webhook-id']);
});

test('a delivery that is settled while it is asked to be sent now stays as it was settled, and the next one is due', async () => {
  const sessionId = await sessionWithReplies(['settled', 'second']);
  const deliveries = await readDeliveries(rig, { sessionId }, 'id');
  const late = await rig.database.views.connect();
  await late.query('begin');
  const [first, second] = deliveries.map(({ id }) => ({ id }));
  await changeDeliveries(rig, second!, { dueAt: ahead('1 hour') });
  await changeDeliveries(late, first!, { status: 'sent', dueAt: ahead('1 hour') });
  const settled = await readDeliveries(late, first!, 'status', 'dueAt', 'wakes');
  const asked = deliveries.map(({ id }) => sendDelivery(rig.database, id));
  const areWaiting = () =>
    rig.rows(`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`);
  await expect.poll(areWaiting, { interval: 5 }).toHaveLength(2);
  await late.query('commit');
  late.release();
  expect(await Promise.all(asked)).toEqual(['conflict', 'done']);
  expect(await readDeliveries(rig, first!, 'status', 'dueAt', 'wakes')).toEqual(settled);
  expect(await countDeliveries(rig, { ...second!, dueAt: atMost(now) })).toBe(1);
});

test('a receiver that is repaired gets one delivery that is sent now, and then the others, ten at a time (G21)', async () => {
  await changeDeliveries(rig, { status: 'pending' }, { status: 'discarded' });
  const sessions = await Promise.all(Array.from({ length: 25 }, (_, n) => sessionWithReplies([`${n}`, 'second'])));
  const isBroken = { status: 503, headers: { 'retry-after': '1800' } };
  const relayDue = async () => {
    const { rings } = await readDueDeliveries(rig.database);
    for (const { sessionId } of rings) await relayDeliveries(relay, sessionId, never);
    return rings.length;
  };
  answers = Array.from({ length: 26 }, () => isBroken);
  expect(await relayDue()).toBe(25);
  expect(await relayDue()).toBe(0);
  const [head, second] = await readDeliveries(rig, { sessionId: sessions[7]! }, 'id', 'expiresAt');

  // The one behind it was asked for: it does not overtake. The receiver is still broken.
  expect(await sendDelivery(rig.database, second!.id)).toBe('done');
  expect([await relayDue(), await relayDue(), received.length]).toEqual([1, 0, 26]);

  expect(await sendDelivery(rig.database, head!.id)).toBe('done');
  const rounds: number[] = [];
  for (let due = await relayDue(); due > 0; due = await relayDue()) rounds.push(due);
  expect(rounds[0]).toBe(1);
  expect(Math.max(...rounds)).toBeLessThanOrEqual(10);
  expect(rounds.reduce((sum, due) => sum + due, 0)).toBe(25);
  const sent = { sessionId: sessions[7]!, status: 'sent' };
  expect(await readDeliveries(rig, sent, 'attempts', 'expiresAt')).toEqual([
    { attempts: 3, expiresAt: head!.expiresAt },
    { attempts: 1, expiresAt: second!.expiresAt },
  ]);
  expect(received.slice(26).map(({ body }) => JSON.parse(body).text)[1]).toBe('second');
  expect(await countDeliveries(rig, { status: 'pending' })).toBe(0);
});

test.each([
  ['3600', '3500 s', '1 hour'],
  ...['1798761600', '99999999999999999999', 'Thu, 01 Jan 2099 00:00:00 GMT', '86400'].map((said) => [
    said,
    '0 s',
    '1 hour',
  ]),
])(
  'a receiver with the Retry-After %s delays the next attempt by %s at least and %s at most',
  async (header, least, most) => {
    const sessionId = await sessionWithReplies(['patient'], { expiresMs: 86_400_000 });
    answers = [{ status: 503, headers: { 'retry-after': header! } }];
    await relayDeliveries(relay, sessionId, never);
    const [row] = await readDeliveries(rig, { sessionId, dueAt: atMost(ahead(most!)) }, 'status', 'attempts');
    expect(row).toEqual({ status: 'pending', attempts: 1 });
    expect(await countDeliveries(rig, { sessionId, dueAt: above(ahead(least!)) })).toBe(1);
  },
);

test.each([
  [400, 'failed'],
  [503, 'pending'],
])('a receiver that answers %i and never ends its body has answered: the delivery is %s', async (status, expected) => {
  const dripping = createServer((request, response) => {
    request.resume();
    response.writeHead(status).write('no such hook');
  });
  await new Promise<void>((resolve) => dripping.listen(0, '127.0.0.1', resolve));
  try {
    const url = `http://127.0.0.1:${(dripping.address() as AddressInfo).port}/hook`;
    const webhook = createWebhookChannel({ ...onLoopback, trustedUrl: url, timeoutMs: 3_000 });
    const sessionId = await sessionWithReplies(['dripped'], { url });
    await relayDeliveries({ ...relay, webhook }, sessionId, never);
    const rows = await readDeliveries(rig, { sessionId }, 'status', 'lastStatus', 'lastError');
    expect(rows).toEqual([{ status: expected, lastStatus: status, lastError: `HTTP ${status}: no such hook` }]);
  } finally {
    dripping.closeAllConnections();
    dripping.close();
  }
});

test('a delivery that can never succeed is a dead letter, and the next reply is sent', async () => {
  const sessionId = await sessionWithReplies(['refused', 'fine']);
  answers = [{ status: 404 }];
  await relayDeliveries(relay, sessionId, never);
  expect(await statusesOf(sessionId)).toEqual(['failed', 'sent']);
  const letters = await readDeadLetters(rig, { sessionId }, 'code', 'reason');
  expect(letters).toEqual([{ code: 'delivery_failed', reason: 'HTTP 404' }]);
});

describe('a URL that a message names', () => {
  const relayWith = (change: Partial<WebhookOptions>): WebhookRelay => ({
    ...relay,
    webhook: createWebhookChannel({ ...onLoopback, ...change }),
  });

  async function deliveryOf(sessionId: SessionId) {
    const [row] = await readDeliveries(rig, { sessionId }, 'status', 'attempts', 'lastError');
    return row;
  }

  test.each([
    ['a private address', 'http://10.0.0.7/hook'],
    ['the metadata service of a cloud', 'http://169.254.169.254/latest/meta-data/'],
    ['a private address written as IPv6', 'http://[::ffff:10.0.0.7]/hook'],
    ['every address of this machine', 'http://0.0.0.0:8080/hook'],
  ])('is not sent to %s, and the delivery says why (G30)', async (_, url) => {
    const sessionId = await sessionWithReplies(['secret'], { url });
    await relayDeliveries(relay, sessionId, never);
    expect(await deliveryOf(sessionId)).toMatchObject({
      status: 'failed',
      attempts: 1,
      lastError: expect.stringMatching(/is not on the public internet.*channels\.webhook\.allowPrivate/),
    });
  });

  test.each(['127.0.0.1', 'localhost'])('is not sent to %s when the service listens on more (G30)', async (host) => {
    const sessionId = await sessionWithReplies(['secret'], { url: ownUrl(host) });
    await relayDeliveries(relayWith({ mayReachLoopback: false }), sessionId, never);
    expect(received).toEqual([]);
    expect(await deliveryOf(sessionId)).toMatchObject({ status: 'failed', attempts: 1 });
  });

  test('is sent to a private host that `allowPrivate` names', async () => {
    const sessionId = await sessionWithReplies(['allowed']);
    const { host } = new URL(ownUrl());
    await relayDeliveries(relayWith({ mayReachLoopback: false, allowPrivate: [host] }), sessionId, never);
    expect(await deliveryOf(sessionId)).toMatchObject({ status: 'sent' });
  });

  test('is sent to any address when it is the one of the configuration', async () => {
    const sessionId = await sessionWithReplies(['configured']);
    await relayDeliveries(relayWith({ mayReachLoopback: false, trustedUrl: ownUrl() }), sessionId, never);
    expect(await deliveryOf(sessionId)).toMatchObject({ status: 'sent' });
  });

  test('is not sent to the target of a redirect (G30)', async () => {
    answers = [{ status: 302, headers: { location: '/elsewhere' } }];
    const sessionId = await sessionWithReplies(['redirected']);
    await relayDeliveries(relay, sessionId, never);
    expect(received).toHaveLength(1);
    expect(await deliveryOf(sessionId)).toMatchObject({ status: 'failed', lastError: 'HTTP 302' });
  });

  test('leaves nothing of its answer in the database; the answer of the configured host is kept (G31)', async () => {
    answers = [{ status: 404 }, { status: 404 }];
    const named = await sessionWithReplies(['named']);
    await relayDeliveries(relay, named, never);
    expect(await deliveryOf(named)).toMatchObject({ lastError: 'HTTP 404' });
    const configured = await sessionWithReplies(['configured']);
    await relayDeliveries(relayWith({ trustedUrl: ownUrl() }), configured, never);
    expect(await deliveryOf(configured)).toMatchObject({ lastError: 'HTTP 404: no' });
  });

  test('from the configuration can contain a user and a password, which are sent as a header (G31)', async () => {
    const url = ownUrl().replace('http://', 'http://user:pa%20ss@');
    const sessionId = await sessionWithReplies(['guarded'], { url });
    await relayDeliveries(relayWith({ mayReachLoopback: false, trustedUrl: url }), sessionId, never);
    expect(received[0]?.headers.authorization).toBe(`Basic ${Buffer.from('user:pa ss').toString('base64')}`);
  });
});

test('a refusal that repeats a secret is stored without it, also where it is cut (G31)', async () => {
  const sessionId = await sessionWithReplies(['echo']);
  const basic = Buffer.from(`user:${KEY}`).toString('base64');
  answers = [{ status: 400, body: `${KEY} ${encodeURIComponent(KEY)} ${basic} ${'x'.repeat(430)}${KEY}` }];
  const webhook = createWebhookChannel({ ...onLoopback, trustedUrl: ownUrl() });
  await relayDeliveries({ ...relay, webhook }, sessionId, never);
  const tables = [
    await readDeliveries(rig, { sessionId }),
    await readDeadLetters(rig, { sessionId }),
    await readEvents(rig, { sessionId }),
  ];
  const stored = JSON.stringify(tables);
  expect(stored).toContain('HTTP 400: [redacted] [redacted] ');
  expect(stored).not.toContain(KEY.slice(0, 8));
  expect(stored).not.toContain(basic.slice(8, 20));
});

test('two relays never send the same reply at the same time', async () => {
  const sessionId = await sessionWithReplies(['once']);
  const settled = await Promise.all(
    Array.from({ length: 8 }, (_, index) => relayDeliveries({ ...relay, owner: `relay-${index}` }, sessionId, never)),
  );
  expect(settled.reduce((sum, count) => sum + count, 0)).toBe(1);
  expect(received).toHaveLength(1);
});

test('a delivery of a crashed relay is sent again with the same dedupe key', async () => {
  const sessionId = await sessionWithReplies(['interrupted']);
  const taken = await claimDelivery(rig.database, { sessionId, owner: 'dead', leaseMs: 1 });
  await expect.poll(() => relayDeliveries(relay, sessionId, never), { interval: 5 }).toBe(1);
  expect(received[0]?.headers['webhook-id']).toBe(taken?.id);
});

/** The relay, with a database that `answer` stands before. */
function relayBehind(answer: (name: string, send: () => Promise<unknown>) => Promise<unknown>): WebhookRelay {
  const query = (statement: { name: string; text: string }) =>
    answer(statement.name, () => rig.database.hot.query(statement));
  return { ...relay, database: Object.assign(Object.create(rig.database), { hot: { query } }) };
}

test('a relay that is suspended after the commit of its claim does not send what another one has sent', async () => {
  const sessionId = await sessionWithReplies(['once']);
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const suspended = relayBehind(async (_name, send) => {
    const answer = await send();
    if (received.length > 0) return answer;
    await changeDeliveries(rig, { sessionId }, { leaseExpiresAt: now });
    await relayDeliveries(relay, sessionId, never);
    vi.advanceTimersByTime(60_000);
    return answer;
  });
  await relayDeliveries(suspended, sessionId, never);
  expect(received).toHaveLength(1);
  expect(await statusesOf(sessionId)).toEqual(['sent']);
});

test('the late result of an attempt does not end a later attempt of the same process', async () => {
  const sessionId = await sessionWithReplies(['acknowledged']);
  answers = [{ status: 503 }];
  const stored = Promise.withResolvers<unknown>();
  const later = relayBehind(async (name, send) => {
    if (name.startsWith('settle-delivery')) await stored.promise;
    return send();
  });
  let laterAttempt: Promise<number> | undefined;
  const first = relayBehind(async (name, send) => {
    if (!name.startsWith('settle-delivery')) return send();
    await changeDeliveries(rig, { sessionId }, { leaseExpiresAt: now });
    laterAttempt = relayDeliveries(later, sessionId, never);
    await expect.poll(() => received).toHaveLength(2);
    const answer = send();
    stored.resolve(answer);
    return answer;
  });
  await relayDeliveries(first, sessionId, never);
  await laterAttempt;
  expect(await statusesOf(sessionId)).toEqual(['sent']);
});

test('a reply that is too old is not sent: it expires, once, as a dead letter that can be redriven', async () => {
  const sessionId = await sessionWithReplies(['stale'], { expiresMs: 0 });
  expect(await relayDeliveries(relay, sessionId, never)).toBe(0);
  const { rings, expired } = await readDueDeliveries(rig.database);
  expect(rings.map((one) => one.sessionId)).not.toContain(sessionId);
  const facts = { sessionId, turnId: expect.any(String), channel: 'webhook', attempts: 0, lastStatus: null };
  expect(expired).toEqual([{ id: expect.any(String), ...facts }]);
  expect((await readDueDeliveries(rig.database)).expired).toEqual([]);
  expect(await statusesOf(sessionId)).toEqual(['expired']);
  const letters = () => readDeadLetters(rig, { sessionId }, 'code', 'state', 'reason');
  const letter = { code: 'delivery_expired', reason: 'It expired before it could be sent.' };
  expect(await letters()).toEqual([{ ...letter, state: 'open' }]);
  expect(await redriveDelivery(rig.database, expired[0]!.id)).toBe('done');
  expect(await relayDeliveries(relay, sessionId, never)).toBe(1);
  expect(await letters()).toEqual([{ ...letter, state: 'redriven' }]);
});
