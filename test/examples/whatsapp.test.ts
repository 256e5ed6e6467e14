// The adapter of docs/channels.md#whatsapp in a service, against the Cloud API on loopback: signed
// webhooks in, messages out.
import { createHmac } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { openPlatform } from '../../examples/whatsapp/index.ts';
import type { Platform } from '../../src/features/channels/platform.ts';
import { createApiRig, type ApiRig } from '../api/api-rig.ts';
import { readBodies, readEventTexts } from '../rows/channels.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';

const APP_SECRET = 'the secret of the app';
const NUMBER = '106540352242922';
const ADAPTER = resolve(import.meta.dirname, '../../examples/whatsapp/index.ts');

let api: ApiRig;
let platform: Platform;
let requests: { path: string; token: string; body: unknown }[] = [];
let failure: { status: number; code: number } | undefined;

shareAmongTests(async (onEnd) => {
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const path = request.url ?? '';
      requests.push({ path, token: request.headers.authorization ?? '', body: body === '' ? null : JSON.parse(body) });
      if (path.startsWith('/files/')) return response.end('picture');
      const answers: Record<string, object> = {
        [`/v23.0/${NUMBER}?fields=display_phone_number`]: { id: NUMBER, display_phone_number: '+49 151 1' },
        [`/v23.0/${NUMBER}/messages`]: { messages: [{ id: 'wamid.sent' }] },
        '/v23.0/media-1': { url: `${root}/files/1`, file_size: 7 },
      };
      if (failure === undefined) return response.end(JSON.stringify(answers[path]));
      response.writeHead(failure.status).end(JSON.stringify({ error: { code: failure.code, message: 'no' } }));
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onEnd(() => new Promise((done) => server.close(done)));
  const root = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const main = { token: 'token', signingSecret: APP_SECRET, baseUrl: `${root}/v23.0/${NUMBER}`, dm: 'open' };
  platform = openPlatform({ channel: 'whatsapp', account: 'main', mode: 'webhook', ...main });
  const database = await withTestDatabase();
  onEnd(() => database.drop());
  const channels = { whatsapp: { adapter: ADAPTER, mode: 'webhook', accounts: { main } } };
  api = await createApiRig(database.url, { file: { channels, messages: { queue: { debounceMs: 0 } } } });
  onEnd(() => api.close());
});

/** WhatsApp sends what a person has written. Resolves with the status of the answer. */
async function push(message: object, secret = APP_SECRET): Promise<number> {
  const contacts = [{ profile: { name: 'Ada' }, wa_id: '4915100000042' }];
  const value = { messaging_product: 'whatsapp', metadata: { phone_number_id: NUMBER }, contacts, messages: [message] };
  const entry = [{ id: '1', changes: [{ field: 'messages', value }] }];
  const payload = JSON.stringify({ object: 'whatsapp_business_account', entry });
  const signature = createHmac('sha256', secret).update(payload).digest('hex');
  const headers = { 'content-type': 'application/json', 'x-hub-signature-256': `sha256=${signature}` };
  return (await api.app.inject({ method: 'POST', url: '/v1/channels/whatsapp/main/webhook', payload, headers }))
    .statusCode;
}

const FROM = { from: '4915100000042', timestamp: '1764291600' };
const SESSION = 'whatsapp:direct:4915100000042';

test('what people write is in the inbox when the request is answered, and a request without the signature is refused', async () => {
  const hello = { ...FROM, id: 'wamid.1', type: 'text', text: { body: 'Hello' } };
  expect(await push(hello, 'another secret')).toBe(401);
  expect(await push(hello)).toBe(200);
  expect(await push(hello)).toBe(200);
  const image = { id: 'media-1', mime_type: 'image/png', caption: 'See' };
  expect(await push({ ...FROM, id: 'wamid.2', type: 'image', image, context: { id: 'wamid.0' } })).toBe(200);
  expect(await readBodies(api, SESSION)).toMatchObject([
    {
      text: 'Hello',
      messageId: 'wamid.1',
      timestamp: 1_764_291_600_000,
      sender: { name: 'Ada', e164: '+4915100000042' },
    },
    { text: 'See', replyTo: { id: 'wamid.0' }, media: [{ type: 'image/png' }] },
  ]);
  const passedOn = { ...FROM, id: 'wamid.4', type: 'text', text: { body: '/status' } };
  for (const context of [{ forwarded: true }, { frequently_forwarded: true }])
    expect(await push({ ...passedOn, id: JSON.stringify(context), context })).toBe(200);
  expect(await push(passedOn)).toBe(200);
  const { items } = (await api.get(`/v1/messages?session=${SESSION}`)).body;
  expect(items.slice(0, 3)).toMatchObject([{ status: 'answered' }, { status: 'waiting' }, { status: 'waiting' }]);
  const reaction = { message_id: 'wamid.sent', emoji: '👍' };
  expect(await push({ ...FROM, id: 'wamid.3', type: 'reaction', reaction })).toBe(200);
  expect(await readEventTexts(api, SESSION)).toEqual([expect.stringContaining('reaction added: 👍 by Ada')]);
});

test('what agents say is sent with the token, and a refusal is final, or sent later, as WhatsApp says', async () => {
  const until = AbortSignal.timeout(10_000);
  expect(await platform.identify(until)).toEqual({ id: NUMBER, name: '+49 151 1' });
  requests = [];
  const part = { markdown: 'It is **done**.', replyToMessageId: 'wamid.1', deliveryId: 'd1' };
  const send = () => platform.send({ chatId: FROM.from }, part, until);
  expect(await send()).toEqual({ platformId: 'wamid.sent' });
  await platform.react!({ chatId: FROM.from }, 'wamid.1', '👀', until);
  const common = { messaging_product: 'whatsapp', recipient_type: 'individual', to: FROM.from };
  expect(requests).toEqual([
    {
      path: `/v23.0/${NUMBER}/messages`,
      token: 'Bearer token',
      body: { ...common, type: 'text', text: { body: 'It is *done*.' }, context: { message_id: 'wamid.1' } },
    },
    {
      path: `/v23.0/${NUMBER}/messages`,
      token: 'Bearer token',
      body: { ...common, type: 'reaction', reaction: { message_id: 'wamid.1', emoji: '👀' } },
    },
  ]);
  const kinds: [number, number, string][] = [
    [400, 131_047, 'refused'],
    [400, 131_056, 'later'],
    [401, 190, 'unauthorized'],
    [500, 131_000, 'unknown'],
  ];
  for (const [status, code, kind] of kinds) {
    failure = { status, code };
    await expect(send()).rejects.toMatchObject({ kind, status });
  }
  failure = undefined;
});
