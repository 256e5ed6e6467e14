import { SIGNAL_NUMBER, startScriptedSignal } from '../../../../scripted-platform/signal/scripted-signal.ts';
import { BOT_UUID } from '../../../../scripted-platform/signal/world.ts';
import {
  PERSON,
  RECORDED_MAX,
  type BarChannel,
  type BarPlatform,
  type Incoming,
  type StartOptions,
} from './bar-channel.ts';

/** A receiver that has died holds the daemon for so long. */
const RECEIVE_SECONDS_MAX = 1;

export async function startSignal({ onCall }: StartOptions): Promise<BarPlatform> {
  /** How many messages were handed over before the last call that asked for one. */
  let over = 0;
  const server = await startScriptedSignal({
    recordedMax: RECORDED_MAX,
    receiveSecondsMax: RECEIVE_SECONDS_MAX,
    async onCall(call) {
      if (call.method === 'receive') over = server.pushes.count;
      await onCall?.(call);
    },
  });
  const number = (chat: number) => `+49${PERSON + chat}`;
  const chatId = (chat: number) => `00000000-0000-4000-8000-${String(PERSON + chat).padStart(12, '0')}`;
  const person = (chat: number) => ({ number: number(chat), uuid: chatId(chat) });
  const textOf: Incoming['textOf'] = ({ body }) =>
    (body as { dataMessage?: { message: string | null } }).dataMessage?.message ?? null;
  const channel: BarChannel = {
    name: 'signal-socket',
    settings: { adapter: 'signal', accounts: { main: { baseUrl: server.url, dm: 'open', token: SIGNAL_NUMBER } } },
    server,
    chatId,
    open: (chat) => void server.setPerson(person(chat)),
    say: (chat, text) => void server.say({ from: person(chat), text }),
    sentIn: (chat) =>
      server
        .messages(chatId(chat))
        .filter(({ author }) => author === BOT_UUID)
        .map(({ text }) => text),
    sendMethod: 'send',
    textOf: ({ method, parameters: { params } }) =>
      method === 'send' ? (params as { message: string }).message : null,
    paragraphChars: 1_250,
    knowsRepeats: 'never',
    refusal: { status: 200, description: '-1 Message is too strange' },
    limits: 'account',
    incoming: {
      textOf,
      disturb: (disorder) => server.disturb(disorder),
      readers: () => (server.isReceiving() ? 1 : 0),
      isOver: (text) =>
        server.pushes.entries.slice(0, over).some((push) => textOf(push) === text) &&
        !server.waiting().some((envelope) => textOf({ body: envelope }) === text),
    },
  };
  return { channels: [channel], close: () => server.close() };
}
