// The receiver in the documentation, as a separate process, and deliveries that the webhook channel
// sends to it.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { beforeEach, expect, test } from 'vitest';
import { createWebhookChannel } from '../../src/features/deliveries/webhook-channel.ts';
import { systemClock } from '../../src/clock.ts';
import type { DeliveryId, SessionId } from '../../src/core/ids.ts';
import { newId } from '../../src/ids.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const EXAMPLE = 'examples/webhook-receiver/receiver.mjs';
const SECRET = `whsec_${Buffer.from('a secret for these tests only').toString('base64')}`;
const never = new AbortController().signal;

let url: string;
let said: string[];

shareAmongTests(async (onEnd) => {
  const env = { ...process.env, HOLDFAST_WEBHOOK_SECRET: SECRET, PORT: '0' };
  const receiver: ChildProcess = spawn(process.execPath, [join(ROOT, EXAMPLE)], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onEnd(async () => {
    const ended = once(receiver, 'exit');
    receiver.kill();
    await ended;
  });
  if (receiver.stdout === null) throw new Error('The receiver has no output.');
  const lines = createInterface({ input: receiver.stdout });
  const [first] = (await once(lines, 'line')) as [string];
  url = first.replace('listening on ', '');
  lines.on('line', (line) => said.push(line));
});
beforeEach(() => {
  said = [];
});

const OTHER_SECRET = `whsec_${Buffer.from('the secret of another service').toString('base64')}`;

const channelWith = (...secrets: string[]) =>
  createWebhookChannel({
    secrets,
    timeoutMs: 10_000,
    clock: systemClock,
    trustedUrl: url,
    allowPrivate: [],
    mayReachLoopback: true,
    redact: (text) => text,
  });

const deliveryOf = (payload: object) => ({
  id: newId<DeliveryId>(),
  sessionId: newId<SessionId>(),
  turnId: null,
  channel: 'webhook',
  target: { url },
  payload: { sessionKey: 'agent:main:main', ...payload },
  attempts: 1,
  origin: null,
});

test('the documentation shows the example', async () => {
  const [example, page] = await Promise.all([
    readFile(join(ROOT, EXAMPLE), 'utf8'),
    readFile(join(ROOT, 'docs/deliveries.md'), 'utf8'),
  ]);
  expect(page).toContain(`\`\`\`js\n${example}\`\`\``);
});

test('handles each delivery once, also when it is sent again (G21)', async () => {
  const channel = channelWith(SECRET);
  const reply = deliveryOf({ type: 'reply', text: 'Hello.', recipient: { channel: 'telegram', chatId: '42' } });
  expect(await channel.send(reply, never)).toEqual({ kind: 'sent', status: 204 });
  expect(await channel.send(reply, never)).toEqual({ kind: 'sent', status: 204 });
  const failure = deliveryOf({ type: 'failure', text: 'x', error: { code: 'turn_timeout', message: 'Too long.' } });
  await channel.send(failure, never);
  await expect.poll(() => said).toEqual(['to telegram 42: Hello.', 'to agent:main:main: no answer (turn_timeout)']);
});

test('refuses a delivery that was signed with another secret', async () => {
  const stranger = channelWith(OTHER_SECRET);
  expect(await stranger.send(deliveryOf({ type: 'reply', text: 'x' }), never)).toMatchObject({
    kind: 'refused',
    status: 401,
  });
});

test('accepts a delivery that is signed with the old and the new secret while they are exchanged', async () => {
  const rotating = channelWith(OTHER_SECRET, SECRET);
  expect(await rotating.send(deliveryOf({ type: 'reply', text: 'x' }), never)).toEqual({ kind: 'sent', status: 204 });
});
