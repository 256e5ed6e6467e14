// Asks Slack what was written: what a socket has missed while it was away, and whether a message of a delivery was sent.
import { PlatformError, type Destination, type Received } from '../platform.ts';
import { GAP, startOfGap } from './gap.ts';
import type { SlackMessage } from './slack-events.ts';
import type { AskSlack } from './slack-wire.ts';

const PAGE = 200;
/** The pages in which a message of a delivery is searched for, newest first. */
const SEARCHED_PAGES_MAX = 5;

type ReadMessage = (message: SlackMessage, channel: string, team: string | undefined) => Received[];

/** What was written since a position (a time of Slack), in the order of each chat. */
export async function* readMissed(
  ask: AskSlack,
  readMessage: ReadMessage,
  { position, signal }: { position: string; signal: AbortSignal },
): AsyncGenerator<Received[]> {
  const fromMs = startOfGap(Number(position) * 1_000);
  const oldest = (fromMs / 1_000).toFixed(6);
  // A thread that was answered in the gap can have begun long before.
  const parentsFrom = (Math.max(fromMs - GAP.msMax, 0) / 1_000).toFixed(6);
  for (const { id, team } of await listChats(ask, signal)) {
    const recent = await readSince(ask, id, { oldest: parentsFrom, signal });
    const messages = recent.filter(({ ts = '' }) => ts > oldest);
    const threads = recent.filter(({ latest_reply: latest }) => latest !== undefined && latest > oldest);
    const replies: SlackMessage[] = [];
    for (const { ts } of threads) replies.push(...(await readReplies(ask, id, { ts: ts ?? '', oldest, signal })));
    const all = [...messages, ...replies].toSorted((one, other) => Number(one.ts) - Number(other.ts));
    yield all.flatMap((message) => readMessage(message, id, team));
  }
}

async function listChats(ask: AskSlack, signal: AbortSignal): Promise<{ id: string; team: string | undefined }[]> {
  const types = 'public_channel,private_channel,mpim,im';
  const { channels = [] } = await ask('users.conversations', signal, (client) =>
    client.users.conversations({ types, exclude_archived: true, limit: GAP.chatsMax }),
  );
  return channels.flatMap(({ id, context_team_id: team }) => (id === undefined ? [] : [{ id, team }]));
}

/** Newest first as Slack has them, so that what is beyond the bound is the oldest. */
async function readSince(
  ask: AskSlack,
  channel: string,
  { oldest, signal }: { oldest: string; signal: AbortSignal },
): Promise<SlackMessage[]> {
  const found: SlackMessage[] = [];
  let cursor: string | undefined;
  do {
    const from = cursor;
    const page = await ask('conversations.history', signal, (client) =>
      client.conversations.history({ channel, oldest, limit: PAGE, ...(from === undefined ? {} : { cursor: from }) }),
    );
    // The messages of the history have the fields of those of events.
    found.push(...((page.messages ?? []) as SlackMessage[]));
    cursor = page.response_metadata?.next_cursor || undefined;
  } while (cursor !== undefined && found.length < GAP.messagesMax);
  return found;
}

async function readReplies(
  ask: AskSlack,
  channel: string,
  { ts, oldest, signal }: { ts: string; oldest: string; signal: AbortSignal },
): Promise<SlackMessage[]> {
  const { messages = [] } = await ask('conversations.replies', signal, (client) =>
    client.conversations.replies({ channel, ts, oldest, limit: GAP.messagesMax }),
  );
  // The first is the message that began the thread.
  return (messages as SlackMessage[]).filter((message) => message.ts !== ts);
}

/** The message with the id of a delivery in its metadata; null: it was not sent. */
export async function findSentMessage(
  ask: AskSlack,
  { chatId: channel, threadId }: Destination,
  { deliveryId, signal }: { deliveryId: string; signal: AbortSignal },
): Promise<{ platformId: string } | null> {
  let cursor: string | undefined;
  for (let page = 0; page < SEARCHED_PAGES_MAX; page += 1) {
    const shared = { channel, include_all_metadata: true, limit: PAGE, ...(cursor === undefined ? {} : { cursor }) };
    const found =
      threadId === undefined
        ? await ask('conversations.history', signal, (client) => client.conversations.history(shared))
        : await ask('conversations.replies', signal, (client) =>
            client.conversations.replies({ ...shared, ts: threadId }),
          );
    const sent = found.messages?.find(({ metadata }) => deliveryOf(metadata) === deliveryId);
    if (sent?.ts !== undefined) return { platformId: sent.ts };
    cursor = found.response_metadata?.next_cursor || undefined;
    if (cursor === undefined) return null;
  }
  throw new PlatformError('refused', `The message is not among the last ${SEARCHED_PAGES_MAX * PAGE} of its chat`);
}

function deliveryOf(metadata: object | undefined): unknown {
  const { event_type: type, event_payload: payload } = (metadata ?? {}) as {
    event_type?: string;
    event_payload?: { deliveryId?: unknown };
  };
  return type === EVENT_TYPE ? payload?.deliveryId : undefined;
}

const EVENT_TYPE = 'holdfast';

/** What a message of a delivery has in its metadata. */
export function metadataOf(deliveryId: string) {
  return { event_type: EVENT_TYPE, event_payload: { deliveryId } };
}
