// The chat platforms whose promises the sweeps hold, each with a scripted platform and the ways in
// which messages come in: one entry of PLATFORMS for each.
import { writeFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { RecordedCall } from '../../../../scripted-platform/call-log.ts';
import { SLACK_APP, startScriptedSlack } from '../../../../scripted-platform/slack/scripted-slack.ts';
import { startScriptedTelegram } from '../../../../scripted-platform/telegram/scripted-telegram.ts';
import { PERSON, RECORDED_MAX, type BarChannel, type BarPlatform, type StartOptions } from './bar-channel.ts';
import { startDiscord } from './bar-discord.ts';
import { startSignal } from './bar-signal.ts';

const MAX_WAIT_MS = 200;

async function startTelegram({ onCall }: StartOptions): Promise<BarPlatform> {
  let onPoll: (call: RecordedCall) => void = () => {};
  const tokens = ['1001:poll', '1002:webhook'] as const;
  const server = await startScriptedTelegram({
    tokens: [...tokens],
    recordedMax: RECORDED_MAX,
    pushRetryMs: MAX_WAIT_MS,
    pushTimeoutMs: 5_000,
    async onCall(call) {
      if (call.method === 'getUpdates') onPoll(call);
      await onCall?.(call);
    },
  });
  const tokenFile = join(await mkdtemp(join(tmpdir(), 'holdfast-bar-')), 'token');
  await writeFile(tokenFile, tokens[0]);
  const channelOf = (mode: 'poll' | 'webhook', token: string): BarChannel => {
    const firstBot = token.slice(0, 4);
    let bot = firstBot;
    /** Those that are not answered. */
    let polls: RecordedCall[] = [];
    if (mode === 'poll') onPoll = (call) => void (call.bot === bot && polls.push(call));
    // Faults are of chats, whatever bot writes.
    const person = (chat: number) => Number(firstBot) * PERSON + chat;
    return {
      name: `telegram-${mode}`,
      settings: {
        adapter: 'telegram',
        mode,
        accounts: {
          main: {
            baseUrl: server.url,
            dm: 'open',
            ...(mode === 'poll' ? { tokenFile } : { token, secretToken: 'secret' }),
          },
        },
      },
      server,
      chatId: (chat) => String(person(chat)),
      open: (chat) => void server.setChat({ bot, chat: person(chat) }),
      say: (chat, text) => void server.say({ bot, from: person(chat), text }),
      sentIn: (chat) =>
        server
          .messages(person(chat), bot)
          .filter(({ from }) => from?.is_bot === true)
          .map(({ text }) => String(text)),
      sendMethod: 'sendMessage',
      textOf: ({ method, parameters, bot: caller }) =>
        method === 'sendMessage' && caller === bot ? String(parameters['text']) : null,
      paragraphChars: 2_500,
      knowsRepeats: 'never',
      refusal: { status: 400, description: 'Bad Request: message is too strange' },
      limits: 'chat',
      incoming: {
        textOf: ({ body }) => (body as { message?: { text?: string } }).message?.text ?? null,
        ...(mode === 'poll'
          ? {
              changeToken() {
                bot = '1003';
                server.addToken('1003:new');
                writeFileSync(tokenFile, '1003:new');
              },
              confirmedBy: ({ method, bot: caller, parameters: { offset } }) =>
                method === 'getUpdates' && caller === bot && offset !== undefined
                  ? server
                      .pendingUpdates(bot)
                      .filter(({ update_id: id }) => id < Number(offset))
                      .map(({ message }) => String((message as { text: string }).text))
                  : [],
              readers: () => {
                polls = polls.filter(({ status }) => status === null);
                return polls.length;
              },
            }
          : {
              async subscribe(url) {
                const wish = { url, secret_token: 'secret' };
                await fetch(`${server.url}/bot${token}/setWebhook`, {
                  method: 'POST',
                  headers: { 'content-type': 'application/json' },
                  body: JSON.stringify(wish),
                });
              },
              disturb: (disorder) => server.disturb(disorder, bot),
            }),
      },
    };
  };
  return {
    channels: [channelOf('poll', tokens[0]), channelOf('webhook', tokens[1])],
    async close() {
      await server.close();
      await rm(dirname(tokenFile), { recursive: true });
    },
  };
}

/** A workspace for each app: an app reads the history of its own chats only. */
async function startSlack(options: StartOptions): Promise<BarPlatform> {
  const started = await Promise.all((['socket', 'webhook'] as const).map((mode) => startSlackOf(mode, options)));
  return {
    channels: started.map(({ channel }) => channel),
    close: async () => void (await Promise.all(started.map(({ server }) => server.close()))),
  };
}

async function startSlackOf(mode: 'socket' | 'webhook', { onCall }: StartOptions) {
  const server = await startScriptedSlack({
    recordedMax: RECORDED_MAX,
    // As Slack waits, but the retries are soon.
    pushTimeoutMs: 3_000,
    pushRetryMs: [MAX_WAIT_MS, 2_000, 10_000],
    ...(onCall && { onCall }),
  });
  const { botToken, appToken, signingSecret, botUser } = SLACK_APP;
  const person = (chat: number) => `U${mode.toUpperCase()}${PERSON + chat}`;
  const chatId = (chat: number) => `D0${person(chat)}`;
  const channel: BarChannel = {
    name: `slack-${mode}`,
    settings: {
      adapter: 'slack',
      mode,
      accounts: { main: { baseUrl: server.url, dm: 'open', token: botToken, appToken, signingSecret } },
    },
    server,
    chatId,
    open: (chat) => void server.setChannel({ id: chatId(chat), kind: 'im' }),
    say: (chat, text) => void server.say({ from: person(chat), text }),
    sentIn: (chat) =>
      server
        .messages(chatId(chat))
        .filter(({ user }) => user === botUser)
        .map(({ text }) => text),
    sendMethod: 'chat.postMessage',
    textOf: ({ method, parameters }) => (method === 'chat.postMessage' ? String(parameters['text']) : null),
    paragraphChars: 7_000,
    knowsRepeats: 'always',
    refusal: { status: 200, description: 'msg_blocks_too_strange' },
    limits: 'chat',
    incoming: {
      textOf: ({ body }) => (body as { event?: { text?: string } }).event?.text ?? null,
      disturb: (disorder) => server.disturb(disorder),
      ...(mode === 'socket'
        ? { cut: () => server.dropSockets(), readers: () => server.socketCount() }
        : { subscribe: (url: string) => server.subscribe(url) }),
    },
  };
  return { channel, server };
}

/** By the name of the adapter. */
export const PLATFORMS: Readonly<Record<string, (options: StartOptions) => Promise<BarPlatform>>> = {
  telegram: startTelegram,
  slack: startSlack,
  discord: startDiscord,
  signal: startSignal,
};

/** Starts all platforms; resolves with their channels, and the configuration of them. */
export async function startPlatforms(options: StartOptions, onEnd: (close: () => Promise<void>) => void) {
  const started = await Promise.all(Object.values(PLATFORMS).map((start) => start(options)));
  for (const { close } of started) onEnd(close);
  const channels = started.flatMap((platform) => platform.channels);
  return { channels, settings: Object.fromEntries(channels.map(({ name, settings }) => [name, settings])) };
}
