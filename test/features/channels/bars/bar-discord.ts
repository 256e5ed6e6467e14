import { DISCORD_BOT, startScriptedDiscord } from '../../../../scripted-platform/discord/scripted-discord.ts';
import { PERSON, RECORDED_MAX, type BarChannel, type BarPlatform, type StartOptions } from './bar-channel.ts';

const SEND = 'POST /channels/{channel}/messages';
/** Acknowledgements come with heartbeats. */
const HEARTBEAT_MS = 1_000;
const DROPS = [undefined, 'invalid_session', 'reconnect'] as const;

interface GatewayEvent {
  t: string;
  d: { content: string; author: { id: string } };
}

export async function startDiscord({ onCall }: StartOptions): Promise<BarPlatform> {
  const server = await startScriptedDiscord({
    recordedMax: RECORDED_MAX,
    heartbeatMs: HEARTBEAT_MS,
    ...(onCall && { onCall }),
  });
  const { id: bot, token } = DISCORD_BOT;
  const person = (chat: number) => String(PERSON + chat);
  const chatId = (chat: number) => server.directChat(person(chat));
  let drops = 0;
  const channel: BarChannel = {
    name: 'discord-socket',
    settings: { adapter: 'discord', accounts: { main: { baseUrl: server.url, dm: 'open', token } } },
    server,
    chatId,
    open: (chat) => void chatId(chat),
    say: (chat, text) => void server.say({ from: person(chat), text }),
    sentIn: (chat) =>
      server
        .messages(chatId(chat))
        .filter(({ author }) => author.id === bot)
        .map(({ content }) => content),
    sendMethod: SEND,
    textOf: ({ method, parameters }) => (method === SEND ? String(parameters['content']) : null),
    paragraphChars: 1_250,
    knowsRepeats: 'minutes',
    refusal: { status: 400, description: 'Message is too strange' },
    limits: 'chat',
    incoming: {
      textOf({ body }) {
        const { t: event, d: data } = body as GatewayEvent;
        return event === 'MESSAGE_CREATE' && data.author.id !== bot ? data.content : null;
      },
      disturb: (disorder) => server.disturb(disorder),
      cut: () => server.dropSockets(DROPS[drops++ % DROPS.length]),
      readers: () => server.socketCount(),
    },
  };
  return { channels: [channel], close: () => server.close() };
}
