// WhatsApp, through the Cloud API of Meta: the adapter of docs/channels.md#whatsapp. `token` is the
// access token, `signingSecret` the app secret, and `baseUrl` ends with the id of the phone number.
import { createHmac, timingSafeEqual } from 'node:crypto';
import {
  PlatformError,
  type OpenPlatform,
  type Received,
  type RemoteFile,
} from '../../src/features/channels/platform.ts';

const TEXT_MAX = 4_096;
/** Wrong or expired token; too many messages of the account, to a person, or in the app. */
const UNAUTHORIZED = new Set([0, 3, 10, 190]);
const LATER = new Set([4, 80_007, 130_429, 131_048, 131_056]);

type File = { id: string; mime_type?: string; caption?: string; filename?: string };
interface Message {
  from: string;
  id: string;
  /** Seconds. */
  timestamp: string;
  text?: { body: string };
  reaction?: { message_id: string; emoji?: string };
  context?: { id?: string; forwarded?: boolean; frequently_forwarded?: boolean };
  [kind: string]: unknown;
}
interface Notification {
  entry?: {
    changes?: { value?: { messages?: Message[]; contacts?: { wa_id: string; profile?: { name?: string } }[] } }[];
  }[];
}

export const openPlatform: OpenPlatform = ({ token, signingSecret = '', baseUrl }) => {
  if (baseUrl === undefined)
    throw new Error('baseUrl: expected https://graph.facebook.com/<version>/<phone number id>');
  const numberUrl = baseUrl.replace(/\/$/, '');
  const apiUrl = numberUrl.slice(0, numberUrl.lastIndexOf('/'));
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const ask = createAsk(headers);

  async function sendMessage(to: string, content: object, signal: AbortSignal): Promise<{ platformId: string }> {
    const { messages } = await ask<{ messages: [{ id: string }] }>(`${numberUrl}/messages`, signal, {
      recipient_type: 'individual',
      to,
      ...content,
    });
    return { platformId: messages[0].id };
  }

  return {
    name: 'whatsapp',
    textLimit: { max: TEXT_MAX, measure: (markdown) => markdown.length },
    async identify(signal) {
      const { id, display_phone_number: name } = await ask<Record<'id' | 'display_phone_number', string>>(
        `${numberUrl}?fields=display_phone_number`,
        signal,
      );
      return { id, name };
    },
    async readWebhook({ headers: sent, rawBody }) {
      const signature = Buffer.from(`sha256=${createHmac('sha256', signingSecret).update(rawBody).digest('hex')}`);
      const claimed = Buffer.from(sent['x-hub-signature-256'] ?? '');
      if (signingSecret === '' || claimed.length !== signature.length || !timingSafeEqual(claimed, signature))
        return null;
      return { answer: { status: 200 }, received: read(JSON.parse(rawBody.toString('utf8')) as Notification) };
    },
    send({ chatId }, { markdown, replyToMessageId, file }, signal) {
      if (file !== undefined) return Promise.reject(new PlatformError('refused', 'This adapter sends no files.'));
      const context = replyToMessageId === undefined ? {} : { context: { message_id: replyToMessageId } };
      // WhatsApp marks bold text with one asterisk.
      const body = markdown.replaceAll(/\*\*([^*\n]+)\*\*/g, '*$1*');
      return sendMessage(chatId, { type: 'text', text: { body }, ...context }, signal);
    },
    async react({ chatId }, messageId, emoji, signal) {
      await sendMessage(chatId, { type: 'reaction', reaction: { message_id: messageId, emoji } }, signal);
    },
    async download({ id }, bytesMax, signal) {
      const { url, file_size: size = 0 } = await ask<{ url: string; file_size?: number }>(`${apiUrl}/${id}`, signal);
      const answer = size > bytesMax ? null : await fetch(url, { headers, signal });
      if (answer?.ok !== true) throw new PlatformError('refused', `The file (${size} bytes) cannot be downloaded`);
      return { bytes: Buffer.from(await answer.arrayBuffer()) };
    },
  };
};

/** Rejects with `PlatformError`. */
function createAsk(headers: Record<string, string>) {
  return async <Answer>(url: string, signal: AbortSignal, body?: object): Promise<Answer> => {
    const init =
      body === undefined ? {} : { method: 'POST', body: JSON.stringify({ messaging_product: 'whatsapp', ...body }) };
    const answer = await fetch(url, { ...init, headers, signal }).catch(
      (error: Error & { cause?: { code?: string } }) => {
        // Nothing was sent if there was no connection. Otherwise only WhatsApp knows.
        const isUnsent = /^E(?:CONNREFUSED|AI_AGAIN)|^ENOTFOUND/.test(error.cause?.code ?? '');
        throw new PlatformError(
          isUnsent ? 'later' : 'unknown',
          `WhatsApp did not answer: ${error.cause?.code ?? error.name}`,
        );
      },
    );
    const { status } = answer;
    const content = (await answer.json().catch(() => ({}))) as Answer & { error?: { code: number; message: string } };
    if (answer.ok) return content;
    const { code = -1, message = '' } = content.error ?? {};
    const isLater = status === 429 || LATER.has(code);
    const kind = isLater ? 'later' : UNAUTHORIZED.has(code) ? 'unauthorized' : status >= 500 ? 'unknown' : 'refused';
    throw new PlatformError(kind, `WhatsApp answered ${status}: ${code} ${message}`, { status });
  };
}

function read({ entry = [] }: Notification): Received[] {
  const values = entry.flatMap(({ changes = [] }) => changes.map(({ value = {} }) => value));
  return values.flatMap(({ messages = [], contacts = [] }) =>
    messages.flatMap((message): Received[] => {
      const { from, id: messageId, text, reaction, context } = message;
      const name = contacts.find((contact) => contact.wa_id === from)?.profile?.name;
      const common = {
        place: { chatId: from, chatType: 'direct' as const },
        sender: { id: from, e164: `+${from}`, isBot: false, ...(name === undefined ? {} : { name }) },
        at: Number(message.timestamp) * 1_000,
      };
      if (reaction !== undefined) {
        const { message_id: target, emoji = '' } = reaction;
        return [{ ...common, kind: 'reaction', messageId: target, emoji, isAdded: emoji !== '' }];
      }
      const found = ['image', 'audio', 'video', 'document', 'sticker'].flatMap(
        (kind) => (message[kind] ?? []) as File | [],
      );
      const files = found.map(({ id, filename, mime_type: type }): RemoteFile => ({
        id,
        ...(filename && { name: filename }),
        ...(type && { type }),
      }));
      const said = text?.body ?? found[0]?.caption ?? '';
      if (said === '' && files.length === 0) return [];
      const replyTo = context?.id === undefined ? {} : { replyTo: { id: context.id } };
      const isForwarded = context?.forwarded === true || context?.frequently_forwarded === true;
      // Without `isOwnText`, no word of the text is a command.
      const facts = { text: said, isOwnText: !isForwarded, isForBot: true, files, ...replyTo };
      return [{ ...common, kind: 'message', messageId, ...facts }];
    }),
  );
}
