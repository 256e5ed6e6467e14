// Asks Slack what was written: what a socket has missed while it was away, and whether a message of a delivery was sent.
import { given } from '../../../core/json.ts';
import { timeOfId } from '../../../core/ids.ts';
import { PlatformError, type Destination, type Received } from '../platform.ts';
import { GAP, patiently, startOfGap } from './gap.ts';
import type { SlackMessage } from './slack-events.ts';
import type { AskSlack } from './slack-wire.ts';

const PAGE = 200;
/** How much the clocks of Slack and of this machine may differ. */
const SKEW_MS = 60_000;

type ReadMessage = (message: SlackMessage, channel: string, team: string | undefined) => Received[];

/** What was written since a position (a time of Slack), in the order of each chat. */
export async function* readMissed(
  askOnce: AskSlack,
  readMessage: ReadMessage,
  { position, signal }: { position: string; signal: AbortSignal },
): AsyncGenerator<Received[]> {
  const ask: AskSlack = (method, until, call) => patiently(until, () => askOnce(method, until, call));
  const fromMs = startOfGap(Number(position) * 1_000);
  const oldest = toTime(fromMs);
  // A thread that was answered in the gap can have begun long before.
  const parentsFrom = toTime(Math.max(fromMs - GAP.msMax, 0));
  for (const { id: channel, team } of await listChats(ask, signal)) {
    const recent = await readSince(ask, { channel, oldest: parentsFrom, signal });
    const messages = recent.filter(({ ts = '' }) => ts > oldest);
    const threads = recent.filter(({ latest_reply: latest }) => latest !== undefined && latest > oldest);
    for (const { ts: thread } of threads) {
      const replies = await readSince(ask, { channel, oldest, signal, ...given({ thread }) });
      // The message that began the thread is among them.
      messages.push(...replies.filter(({ ts }) => ts !== thread));
    }
    const inOrder = messages.toSorted((one, other) => Number(one.ts) - Number(other.ts));
    yield inOrder.flatMap((message) => readMessage(message, channel, team));
  }
}

async function listChats(ask: AskSlack, signal: AbortSignal): Promise<{ id: string; team: string | undefined }[]> {
  const types = 'public_channel,private_channel,mpim,im';
  const { channels = [] } = await ask('users.conversations', signal, (client) =>
    client.users.conversations({ types, exclude_archived: true, limit: GAP.chatsMax }),
  );
  return channels.flatMap(({ id, context_team_id: team }) => (id === undefined ? [] : [{ id, team }]));
}

/** A chat, or a thread of it, from a time on. */
interface Span {
  channel: string;
  thread?: string;
  oldest: string;
  signal: AbortSignal;
}

async function readSince(ask: AskSlack, span: Span): Promise<SlackMessage[]> {
  const found: SlackMessage[] = [];
  try {
    for await (const { messages } of readPages(ask, span)) found.push(...messages);
  } catch (error) {
    // The bot was removed from the chat meanwhile, or may not read it.
    if (!(error instanceof PlatformError) || error.kind !== 'refused') throw error;
  }
  return found;
}

/** Pages up to the bound, as Slack has them: of a chat the newest messages first, of a thread the oldest. */
async function* readPages(
  ask: AskSlack,
  { channel, thread, oldest, signal }: Span,
): AsyncGenerator<{ messages: SlackMessage[]; isLast: boolean }> {
  let cursor: string | undefined;
  for (let count = 0; count < GAP.messagesMax; count += PAGE) {
    const page = { channel, oldest, limit: PAGE, include_all_metadata: true, ...given({ cursor }) };
    const { messages = [], response_metadata: next } =
      thread === undefined
        ? await ask('conversations.history', signal, (client) => client.conversations.history(page))
        : await ask('conversations.replies', signal, (client) => client.conversations.replies({ ...page, ts: thread }));
    cursor = next?.next_cursor || undefined;
    // The messages of the history have the fields of those of events.
    yield { messages: messages as SlackMessage[], isLast: cursor === undefined };
    if (cursor === undefined) return;
  }
}

/** The message with the id of a delivery in its metadata; null: it was not sent. */
export async function findSentMessage(
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

function toTime(ms: number): string {
  return (ms / 1_000).toFixed(6);
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
