// Requests of Slack at the API: a stranger is sent a code, a person who was paired reaches the
// agent, and what comes again is stored once.
import { createHmac } from 'node:crypto';
import { expect, test } from 'vitest';
import { createApiRig, type ApiRig } from '../../api/api-rig.ts';
import { readReplies, readTextsOf } from '../../rows/channels.ts';
import { withTestDatabase } from '../../servers/postgres.ts';
import { shareAmongTests } from '../../servers/share-among-tests.ts';
import { startSlackServer } from './slack-server.ts';

const SECRET = '0123456789abcdef0123456789abcdef';

const holder = {} as { rig: ApiRig };
shareAmongTests(async (onEnd) => {
  const slack = await startSlackServer();
  onEnd(() => slack.close());
  const database = await withTestDatabase();
  onEnd(() => database.drop());
  const main = { token: 'xoxb-1', signingSecret: SECRET, baseUrl: slack.baseUrl };
  const channels = { slack: { adapter: 'slack', mode: 'webhook', accounts: { main } } };
  holder.rig = await createApiRig(database.url, { file: { channels } });
  onEnd(() => holder.rig.close());
});

/** Slack sends a message of a person in a direct chat. Resolves with the status of the answer. */
async function send(user: string, ts: string, secret = SECRET): Promise<number> {
  const event = { type: 'message', channel: `D${user}`, user, text: `At ${ts}`, ts };
  const payload = JSON.stringify({ type: 'event_callback', team_id: 'T1', event });
  const at = String(Math.floor(Date.now() / 1_000));
  const signature = `v0=${createHmac('sha256', secret).update(`v0:${at}:${payload}`).digest('hex')}`;
  const headers = {
    'content-type': 'application/json',
    'x-slack-request-timestamp': at,
    'x-slack-signature': signature,
  };
  const url = '/v1/channels/slack/main/webhook';
  return (await holder.rig.app.inject({ method: 'POST', url, payload, headers })).statusCode;
}

const textsOf = (user: string): Promise<string[]> => readTextsOf(holder.rig, user);

test('a person who is paired reaches the agent, and each message once, however often Slack sends it (G2)', async () => {
  const { rig } = holder;
  expect(await send('U1', '1800000001.000100', 'f'.repeat(32))).toBe(401);
  expect(await send('U1', '1800000001.000100')).toBe(200);
  expect(await textsOf('U1')).toEqual([]);
  const [request] = (await rig.get('/v1/pairings')).body.items;
  expect(request).toMatchObject({ channel: 'slack', senderId: 'U1', chatId: 'DU1', status: 'open' });
  expect(await readReplies(rig, 'channel:slack/main/DU1')).toEqual([expect.stringContaining(request.code)]);
  expect((await rig.post(`/v1/pairings/${request.id}/approve`, {})).status).toBe(200);
  const sent = await Promise.all([2, 2, 2].map((n) => send('U1', `180000000${n}.000100`)));
  expect([...sent, await send('U1', '1800000003.000100'), await send('U1', '1800000002.000100')]).toEqual([
    200, 200, 200, 200, 200,
  ]);
  expect(await textsOf('U1')).toEqual(['At 1800000002.000100', 'At 1800000003.000100']);
  expect((await rig.get('/v1/channels')).body.items[0].accounts).toMatchObject([{ state: 'connected' }]);
});
