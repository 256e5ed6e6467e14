// Signal, through the daemon of signal-cli, which is a device of the account and has its keys. It
// acknowledges a message to Signal before it hands it over, so messages are asked for one by one:
// one that a crash loses is the only one.
import { readFile } from 'node:fs/promises';
import {
  PlatformError,
  type AccountSettings,
  type Destination,
  type OutgoingFile,
  type OutgoingPart,
  tooLarge,
  type Platform,
} from '../platform.ts';
import { createEnvelopeReader, parseMessageId } from './signal-envelopes.ts';
import { createAsk, isWithoutMethod, type AskSignal } from './signal-wire.ts';
import { toStyledText } from './styled-text.ts';

const DAEMON = 'http://127.0.0.1:8080';
/** In bytes of UTF-8. The rest of a longer text would be sent as a file. */
const TEXT_BYTES_MAX = 2_000;
/** How long a request waits for a message. A process that is stopped ends with the request. */
const RECEIVE_MS = 10_000;
/** A UUID, or a number in the form of E.164. Other ids are of groups. */
const PERSON = /^(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\+\d{5,})$/i;

/** The account with the number that the token is. */
export function openPlatform({ token: account, baseUrl = DAEMON }: AccountSettings): Platform {
  const askDaemon = createAsk(baseUrl);
  const ask: AskSignal = (method, params, ...rest) => askDaemon(method, { account, ...params }, ...rest);
  const read = createEnvelopeReader(account);

  /** A daemon that was started with an account has no list of them. */
  async function listAccounts(signal: AbortSignal): Promise<string[] | null> {
    try {
      const accounts = (await askDaemon('listAccounts', {}, signal)) as { number: string }[];
      return accounts.map(({ number }) => number);
    } catch (error) {
      if (isWithoutMethod(error)) return null;
      throw error;
    }
  }

  return {
    name: 'signal',
    textLimit: { max: TEXT_BYTES_MAX, measure: (markdown) => Buffer.byteLength(toSignalText(markdown).text) },
    readsOnce: true,
    async identify(signal) {
      const accounts = await listAccounts(signal);
      if (accounts?.includes(account) === false)
        throw new PlatformError('unauthorized', `signal-cli has no account ${account}: register or link it there`);
      return { id: account, name: account };
    },
    async listen(_position, commit, signal) {
      // With one account, `receive` refuses the parameter.
      const own = (await listAccounts(signal)) === null ? {} : { account };
      const late = new AbortController();
      const stop = () => setTimeout(() => late.abort(), RECEIVE_MS).unref();
      signal.addEventListener('abort', stop, { once: true });
      try {
        while (!signal.aborted) await commit((await receive(askDaemon, own, late.signal)).flatMap(read), null);
      } finally {
        signal.removeEventListener('abort', stop);
      }
    },
    ...writer(ask, account),
    async download({ id }, bytesMax, signal) {
      // The answer is JSON that has the file in base64, and little else.
      const answer = await ask('getAttachment', { id }, signal, Math.ceil(bytesMax / 3) * 4 + 1_024);
      const content = Buffer.from((answer as { data: string }).data, 'base64');
      if (content.length > bytesMax) throw tooLarge(bytesMax);
      return { bytes: content };
    },
  };
}

/**
 * At most one message: those that come meanwhile wait at Signal. The request is not aborted while a
 * message can be on its way.
 */
async function receive(ask: AskSignal, own: object, signal: AbortSignal): Promise<unknown[]> {
  try {
    const items = await ask('receive', { ...own, timeout: RECEIVE_MS / 1_000, maxMessages: 1 }, signal);
    return Array.isArray(items) ? items : [];
  } catch (error) {
    if (error instanceof PlatformError && error.message.includes('already being received'))
      throw new PlatformError(
        'later',
        `${error.message} Start the daemon with --receive-mode=manual, and let no other program receive messages of the account.`,
      );
    throw error;
  }
}

/** What writes into chats. */
function writer(
  ask: AskSignal,
  account: string,
): Pick<Platform, 'send' | 'edit' | 'react' | 'showTyping' | 'confirmRead'> {
  return {
    send: (to, part, signal) => sendPart(ask, account, { to, part, signal }),
    async edit(to, platformId, { markdown }, signal) {
      const { timestamp } = parseMessageId(platformId);
      await ask('send', { ...recipientOf(to), ...styled(markdown), editTimestamp: timestamp }, signal);
    },
    async react(to, messageId, emoji, signal) {
      const { timestamp, author } = parseMessageId(messageId);
      const target = { targetTimestamp: timestamp, targetAuthor: author ?? account };
      // A person has one reaction to a message. Which one is taken back does not matter, but it
      // must be named.
      const what = emoji === '' ? { emoji: '👍', remove: true } : { emoji };
      await ask('sendReaction', { ...recipientOf(to), ...target, ...what }, signal);
    },
    async showTyping(to, signal) {
      await ask('sendTyping', recipientOf(to), signal);
    },
    async confirmRead({ sender, at }, signal) {
      await ask('sendReceipt', { recipient: sender.id, targetTimestamp: [at], type: 'read' }, signal);
    },
  };
}

function recipientOf({ chatId }: Destination): Record<string, unknown> {
  return PERSON.test(chatId) ? { recipient: [chatId] } : { groupId: chatId };
}

function styled(markdown: string): Record<string, unknown> {
  const { text, styles } = toSignalText(markdown);
  return { message: text || markdown, ...(styles.length === 0 ? {} : { textStyle: styles }) };
}

async function sendPart(
  ask: AskSignal,
  account: string,
  { to, part, signal }: { to: Destination; part: OutgoingPart; signal: AbortSignal },
): Promise<{ platformId: string }> {
  const { markdown, file, replyToMessageId } = part;
  const quoted = replyToMessageId === undefined ? undefined : parseMessageId(replyToMessageId);
  const answer = await ask(
    'send',
    {
      ...recipientOf(to),
      ...styled(markdown),
      ...(file === undefined ? {} : { attachment: [await toDataUri(file)] }),
      // Apps show the text of the message that they have.
      ...(quoted === undefined ? {} : { quoteTimestamp: quoted.timestamp, quoteAuthor: quoted.author ?? account }),
    },
    signal,
  );
  const { timestamp } = answer as { timestamp?: number };
  if (timestamp === undefined) throw new PlatformError('unknown', 'signal-cli answered send without a timestamp');
  return { platformId: String(timestamp) };
}

/** The daemon can be on another machine, so it is given the bytes. */
async function toDataUri({ path, name, type = 'application/octet-stream' }: OutgoingFile): Promise<string> {
  const bytes = await readFile(path);
  return `data:${type};filename=${encodeURIComponent(name)};base64,${bytes.toString('base64')}`;
}

const STYLES: Readonly<Record<string, string>> = {
  bold: 'BOLD',
  italic: 'ITALIC',
  strikethrough: 'STRIKETHROUGH',
  spoiler: 'SPOILER',
  code: 'MONOSPACE',
  pre: 'MONOSPACE',
};

/** The text without marks, and its styles: `start:length:STYLE`, in UTF-16 units. */
export function toSignalText(markdown: string): { text: string; styles: string[] } {
  const { text, spans } = toStyledText(markdown, {});
  return { text, styles: spans.map(({ type, offset, length }) => `${offset}:${length}:${STYLES[type]}`) };
}
