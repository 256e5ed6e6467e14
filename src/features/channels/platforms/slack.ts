// Slack, and what is written there. Its own clients send the requests and hold the socket; the
// adapter of the Chat SDK checks signatures and converts what people write. Its own handling is not
// used: it does not await what it has received.
import { verifySlackSignature } from '@chat-adapter/slack/webhook';
import { escapeSlackText } from '@chat-adapter/slack/format';
import { timeOfId } from '../../../core/ids.ts';
import { given } from '../../../core/json.ts';
import { cutHead } from '../../../core/text.ts';
import {
  PlatformError,
  type AccountSettings,
  type Destination,
  type OutgoingPart,
  type Platform,
  type Received,
  type RemoteFile,
  type WebhookRequest,
} from '../platform.ts';
import { fetchFile, GAP, isOfPlatform } from './requests.ts';
import { createEventReader, readInteraction, slackEmoji, type SlackPress } from './slack-events.ts';
import { createAsk, listenToSocket, readMissed, readPages, toTime, type AskSlack } from './slack-wire.ts';

/** All markdown blocks of a message together, in UTF-16 units. */
const TEXT_MAX = 12_000;
/** What notifications show. */
const FALLBACK_CHARS_MAX = 300;
/** Seconds by which the time of a request may differ. */
const SKEW_SECONDS_MAX = 300;
/** How much the clocks of Slack and of this machine may differ. */
const SKEW_MS = 60_000;
/** Files of messages are there. */
const HOSTS = /(?:^|\.)slack\.com$/;
/** What the metadata of a message has that is of the outbox. */
const EVENT_TYPE = 'holdfast';

/** What the bot does needs these rights. */
const SCOPES: Readonly<Record<string, string>> = {
  'chat:write': 'to write',
  'app_mentions:read': 'to read where it is mentioned',
  'im:history': 'to read direct chats',
  'channels:history': 'to read channels',
  'groups:history': 'to read private channels',
  'im:read': 'to find direct chats after a gap',
  'channels:read': 'to find channels after a gap',
  'groups:read': 'to find private channels after a gap',
  'mpim:history': 'to read group chats',
  'mpim:read': 'to find group chats after a gap',
  'reactions:read': 'to read reactions',
  'reactions:write': 'to react',
  'files:read': 'to download files',
  'files:write': 'to send files',
};

interface Bot {
  id: string;
  name: string;
  scopes: string[];
}

/** The bot of one token. */
export function openPlatform(settings: AccountSettings): Platform {
  const { token, appToken, signingSecret, baseUrl, mode } = settings;
  const ask = createAsk(token, baseUrl);
  let reader: ReturnType<typeof createEventReader> | undefined;

  async function identify(signal: AbortSignal): Promise<Bot> {
    const me = await ask('auth.test', signal, (client) => client.auth.test());
    const { user_id: id = '', user: name = '' } = me;
    reader ??= createEventReader(id);
    return { id, name, scopes: me.response_metadata?.scopes ?? [] };
  }

  async function readerFor(signal: AbortSignal): Promise<ReturnType<typeof createEventReader>> {
    if (reader === undefined) await identify(signal);
    return reader!;
  }

  return {
    name: 'slack',
    textLimit: { max: TEXT_MAX, measure: (markdown) => escapeTokens(markdown).length },
    async identify(signal) {
      const { id, name } = await identify(signal);
      return { id, name };
    },
    async readWebhook(request) {
      if (!(await isSigned(request, signingSecret))) return null;
      return readRequest(request, async (body) => (await readerFor(AbortSignal.timeout(10_000))).readEvent(body));
    },
    async listen(position, commit, signal) {
      if (!appToken) throw new PlatformError('unauthorized', 'appToken is not set, which a socket needs');
      const { readEvent, readMessage } = await readerFor(signal);
      const missed = (since: string) => readMissed(ask, readMessage, { position: since, signal });
      return listenToSocket({ appToken, baseUrl, position, readEvent, readMissed: missed, commit, signal });
    },
    ...writer(ask),
    findSent: (to, deliveryId, signal) => findSentMessage(ask, to, { deliveryId, signal }),
    download: (file, bytesMax, signal) => download(ask, file, { token, baseUrl, bytesMax, signal }),
    async check(signal) {
      const { scopes } = await identify(signal);
      const missing = Object.entries(SCOPES).filter(([scope]) => scopes.length > 0 && !scopes.includes(scope));
      return [
        ...missing.map(
          ([scope, why]) =>
            `The bot lacks the scope ${scope}, ${why}. Add it under "OAuth & Permissions", then install the app again.`,
        ),
        ...(mode === 'webhook' && !signingSecret
          ? ['signingSecret is not set, so every request of Slack is refused. "Basic Information" shows it.']
          : []),
        ...(mode === 'socket' ? await checkSocket(settings, signal) : []),
      ];
    },
  };
}

async function checkSocket({ appToken, baseUrl }: AccountSettings, signal: AbortSignal): Promise<string[]> {
  const how =
    'Generate one under "Basic Information", "App-Level Tokens", with the scope connections:write, and enable "Socket Mode".';
  if (!appToken) return [`appToken is not set. ${how}`];
  try {
    await createAsk(appToken, baseUrl)('apps.connections.open', signal, (client) => client.apps.connections.open({}));
    return [];
  } catch (error) {
    return [`Slack does not accept appToken for a socket (${(error as Error).message}). ${how}`];
  }
}

/** Before anything of the request is parsed. */
async function isSigned({ headers, rawBody }: WebhookRequest, signingSecret: string | undefined): Promise<boolean> {
  if (!signingSecret) return false;
  // It throws for every fault.
  return verifySlackSignature(rawBody.toString('utf8'), headers, {
    signingSecret,
    maxSkewSeconds: SKEW_SECONDS_MAX,
  }).then(
    () => true,
    () => false,
  );
}

async function readRequest({ headers, rawBody }: WebhookRequest, readEvent: (body: unknown) => Promise<Received[]>) {
  const text = rawBody.toString('utf8');
  const isForm = headers['content-type']?.startsWith('application/x-www-form-urlencoded') === true;
  try {
    const body: unknown = JSON.parse(isForm ? (new URLSearchParams(text).get('payload') ?? '{}') : text);
    const { type, challenge } = (body ?? {}) as { type?: unknown; challenge?: unknown };
    if (type === 'url_verification') return { answer: { status: 200, body: String(challenge) }, received: [] };
    return { answer: { status: 200 }, received: isForm ? readInteraction(body) : await readEvent(body) };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return { answer: { status: 400 }, received: [] };
  }
}

/** What writes into chats. */
function writer(ask: AskSlack): Pick<Platform, 'send' | 'edit' | 'remove' | 'react' | 'answerPress'> {
  return {
    send: (to, part, signal) =>
      part.file === undefined ? sendText(ask, to, part, signal) : sendFile(ask, to, part, signal),
    async edit({ chatId: channel }, ts, part, signal) {
      await ask('chat.update', signal, (client) => client.chat.update({ channel, ts, ...contentOf(part) }));
    },
    async remove({ chatId: channel }, ts, signal) {
      await ask('chat.delete', signal, (client) => client.chat.delete({ channel, ts }));
    },
    async react({ chatId: channel }, timestamp, emoji, signal) {
      await ask('reactions.add', signal, (client) =>
        client.reactions.add({ channel, timestamp, name: slackEmoji(emoji) }),
      ).catch((error: unknown) => {
        if (!(error instanceof PlatformError && error.message.endsWith('already_reacted'))) throw error;
      });
    },
    async answerPress(pressId, text, signal) {
      // The id of `readInteraction`. Slack needs no answer, so one without a text is none.
      const { channel, user } = JSON.parse(pressId) as SlackPress;
      if (text === '') return;
      await ask('chat.postEphemeral', signal, (client) =>
        client.chat.postEphemeral({ channel, user, text: escapeSlackText(text) }),
      );
    },
  };
}

/** Slack formats a markdown block itself. The text is what notifications show. */
function contentOf({ markdown, buttons = [] }: Pick<OutgoingPart, 'markdown' | 'buttons'>) {
  const elements = buttons.map(({ label, value }, index) => ({
    type: 'button' as const,
    action_id: `press-${index}`,
    text: { type: 'plain_text' as const, text: cutHead(label, 75) },
    value,
  }));
  return {
    text: escapeSlackText(cutHead(markdown, FALLBACK_CHARS_MAX)),
    blocks: [
      { type: 'markdown' as const, text: escapeTokens(markdown) },
      ...(elements.length === 0 ? [] : [{ type: 'actions' as const, elements }]),
    ],
  };
}

async function sendText(
  ask: AskSlack,
  { chatId: channel, threadId }: Destination,
  part: OutgoingPart,
  signal: AbortSignal,
) {
  const { ts } = await ask('chat.postMessage', signal, (client) =>
    client.chat.postMessage({
      channel,
      ...contentOf(part),
      ...given({ thread_ts: threadId }),
      metadata: metadataOf(part.deliveryId),
      unfurl_links: false,
      unfurl_media: false,
    }),
  );
  return sentAs(ts, 'chat.postMessage');
}

async function sendFile(ask: AskSlack, { chatId, threadId }: Destination, part: OutgoingPart, signal: AbortSignal) {
  const { file, markdown } = part;
  const upload = {
    file: file!.path,
    filename: file!.name,
    ...given({ initial_comment: markdown === '' ? undefined : escapeTokens(markdown) }),
  };
  const place = threadId === undefined ? { channel_id: chatId } : { channel_id: chatId, thread_ts: threadId };
  const { files } = await ask('files.completeUploadExternal', signal, (client) =>
    client.filesUploadV2({ ...upload, ...place }),
  );
  return sentAs(files[0]?.files?.[0]?.id, 'files.completeUploadExternal');
}

function sentAs(platformId: string | undefined, method: string): { platformId: string } {
  if (platformId === undefined)
    throw new PlatformError('unknown', `Slack answered ${method} without the id of the message`);
  return { platformId };
}

async function download(
  ask: AskSlack,
  { id }: RemoteFile,
  from: { token: string; baseUrl: string | undefined; bytesMax: number; signal: AbortSignal },
): Promise<{ bytes: Buffer; type?: string }> {
  const { token, baseUrl, bytesMax, signal } = from;
  const { file } = await ask('files.info', signal, (client) => client.files.info({ file: id }));
  const url = file?.url_private_download ?? file?.url_private;
  if (!isOfPlatform(url, baseUrl, HOSTS)) throw new PlatformError('refused', 'Slack does not have the file itself');
  const headers = { authorization: `Bearer ${token}` };
  const { bytes: content } = await fetchFile(url, { platform: 'Slack', bytesMax, signal, headers });
  return { bytes: content, ...given({ type: file?.mimetype }) };
}

/** What Slack would take for a mention or for a link with another text. */
const TOKEN =
  /<(?=!(?:here|channel|everyone|subteam|date)\b|@[UWB][A-Z0-9]+[|>]|#[CDG][A-Z0-9]+[|>]|[A-Za-z][\w+.-]*:[^\s<>|]*\|)/g;

/**
 * Markdown of an agent without the marks of Slack, by which it would notify people or hide where a
 * link leads.
 */
function escapeTokens(markdown: string): string {
  return markdown.replaceAll(TOKEN, '&lt;');
}

/** The message with the id of a delivery in its metadata; null: it was not sent. */
async function findSentMessage(
  ask: AskSlack,
  { chatId: channel, threadId: thread }: Destination,
  { deliveryId, signal }: { deliveryId: string; signal: AbortSignal },
): Promise<{ platformId: string } | null> {
  // It was sent after its delivery was made.
  const oldest = toTime(timeOfId(deliveryId) - SKEW_MS);
  for await (const { messages, isLast } of readPages(ask, { channel, oldest, signal, ...given({ thread }) })) {
    const sent = messages.find(({ metadata }) => deliveryOf(metadata) === deliveryId);
    if (sent?.ts !== undefined) return { platformId: sent.ts };
    if (isLast) return null;
  }
  throw new PlatformError('refused', `The message is not among ${GAP.messagesMax} of its chat since it was due`);
}

function deliveryOf(metadata: object | undefined): unknown {
  const { event_type: type, event_payload: payload } = (metadata ?? {}) as {
    event_type?: string;
    event_payload?: { deliveryId?: unknown };
  };
  return type === EVENT_TYPE ? payload?.deliveryId : undefined;
}

/** What a message of a delivery has in its metadata. */
function metadataOf(deliveryId: string) {
  return { event_type: EVENT_TYPE, event_payload: { deliveryId } };
}
