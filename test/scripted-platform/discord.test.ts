// The scripted Discord as Discord's own clients read it: its wires, its checks, and the faults and
// people that a test plays.
import { REST, type DiscordAPIError, type RateLimitError } from '@discordjs/rest';
import { WebSocketManager, WebSocketShardEvents, type SessionInfo } from '@discordjs/ws';
import { Routes, type APIMessage, type GatewayIntentBits } from 'discord-api-types/v10';
import { afterEach, beforeEach, expect, test } from 'vitest';
// prettier-ignore
import { DISCORD_BOT, startScriptedDiscord, type ScriptedDiscord } from '../../scripted-platform/discord/scripted-discord.ts';

const CHANNEL = '2001';
const messages = Routes.channelMessages(CHANNEL);

let discord: ScriptedDiscord;
let rest: REST;
let closing: (() => unknown)[] = [];

beforeEach(async () => {
  discord = await startScriptedDiscord({ nonceMs: 500 });
  discord.setChannel({ id: CHANNEL });
  rest = new REST({ api: `${discord.url}/api`, retries: 0, rejectOnRateLimit: () => true }).setToken(DISCORD_BOT.token);
  closing = [];
});

afterEach(async () => {
  for (const close of closing) await close();
  await discord.close();
});

const refusalOf = async (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => 'not refused',
    (error: DiscordAPIError) => error.code,
  );

/** A bot that keeps its session; resolves when it is connected. */
async function connect(session: { info: SessionInfo | null }, events: string[]): Promise<WebSocketManager> {
  const manager = new WebSocketManager({
    token: DISCORD_BOT.token,
    intents: 0xfe01 as GatewayIntentBits,
    rest,
    retrieveSessionInfo: () => session.info,
    updateSessionInfo: (_, info) => void (session.info = info),
  });
  manager.on(WebSocketShardEvents.Dispatch, ({ t, d }) => events.push(t === 'MESSAGE_CREATE' ? d.content : t));
  closing.push(() => manager.destroy());
  await manager.connect();
  return manager;
}

test('a bot writes, edits, reacts, finds and deletes its messages, once for each nonce', async () => {
  const body = { content: 'Hi', nonce: 'n1', enforce_nonce: true };
  const files = [{ name: 'a.txt', data: Buffer.from('contents') }];
  const sent = (await rest.post(messages, { body, files })) as APIMessage;
  expect(sent).toMatchObject({ content: 'Hi', nonce: 'n1', attachments: [{ filename: 'a.txt', size: 8 }] });
  expect(await rest.post(messages, { body })).toMatchObject({ id: sent.id });
  await expect.poll(async () => ((await rest.post(messages, { body })) as APIMessage).id).not.toBe(sent.id);
  expect(await (await fetch(sent.attachments[0]!.url)).text()).toBe('contents');
  await rest.patch(Routes.channelMessage(CHANNEL, sent.id), { body: { content: 'Hello' } });
  await rest.put(Routes.channelMessageOwnReaction(CHANNEL, sent.id, encodeURIComponent('👍')));
  expect(await rest.get(Routes.channelMessage(CHANNEL, sent.id))).toMatchObject({
    content: 'Hello',
    reactions: [{ count: 1, me: true }],
  });
  const page = (await rest.get(messages, {
    query: new URLSearchParams({ after: sent.id, limit: '1' }),
  })) as APIMessage[];
  expect(page).toMatchObject([{ content: 'Hi' }]);
  expect(page[0]).not.toHaveProperty('nonce');
  await rest.delete(Routes.channelMessage(CHANNEL, sent.id));
  expect(discord.messages(CHANNEL)).toHaveLength(1);
});

test('what Discord refuses is refused with its code', async () => {
  const post = (body: object, route = messages) => refusalOf(rest.post(route, { body }));
  discord.setChannel({ id: '2002', isVisible: false });
  expect(await post({ content: 'x' }, Routes.channelMessages('404'))).toBe(10_003);
  expect(await post({ content: 'x' }, Routes.channelMessages('2002'))).toBe(50_001);
  expect(await post({ content: '' })).toBe(50_006);
  expect(await post({ content: 'a'.repeat(2_001) })).toBe(50_035);
  expect(await post({ content: 'x', message_reference: { message_id: '5' } })).toBe(50_035);
  const button = { type: 2, style: 2, label: 'A', custom_id: 'a' };
  expect(await post({ content: 'x', components: [{ type: 1, components: [button, button] }] })).toBe(50_035);
  discord.faults.arm({ retryAfter: 20, description: 'global' });
  const limited = (await rest.get(Routes.user()).catch((error: unknown) => error)) as RateLimitError;
  expect([limited.global, limited.retryAfter >= 20_000]).toEqual([true, true]);
});

test('a session that is cut is resumed with what it has missed, and one that is ended begins anew', async () => {
  const session: { info: SessionInfo | null } = { info: null };
  const events: string[] = [];
  await connect(session, events);
  discord.say({ channel: CHANNEL, text: 'First' });
  await expect.poll(() => events).toContain('First');
  discord.dropSockets();
  discord.say({ channel: CHANNEL, text: 'Missed' });
  await expect.poll(() => events, { timeout: 10_000 }).toContain('RESUMED');
  expect(events.slice(-3)).toEqual(['First', 'Missed', 'RESUMED']);
  discord.dropSockets('reconnect');
  await expect.poll(() => events.filter((event) => event === 'RESUMED'), { timeout: 10_000 }).toHaveLength(2);
  discord.dropSockets('invalid_session');
  await expect.poll(() => discord.sessionCount(), { timeout: 15_000 }).toBe(2);
});
