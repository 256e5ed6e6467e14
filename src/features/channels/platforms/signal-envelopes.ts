// Reads envelopes of Signal as signal-cli hands them over: what a person said, changed or reacted
// with. What says nothing is read as nothing. Signal does not mark what was forwarded.
import { given, isObject } from '../../../core/json.ts';
import type { ChatPerson, ChatPlace, Received, ReceivedMessage, RemoteFile } from '../platform.ts';

interface DataMessage {
  timestamp: number;
  message?: string | null;
  reaction?: Author<'targetAuthor'> & { emoji: string; targetSentTimestamp: number; isRemove: boolean };
  quote?: Author<'author'> & { id: number; text?: string | null };
  mentions?: { number?: string | null; uuid?: string | null; start: number; length: number }[];
  attachments?: { id?: string | null; contentType?: string; filename?: string | null; size?: number | null }[];
  groupInfo?: { groupId: string; groupName?: string | null; type?: string };
}

type Author<Name extends string> = { [Field in `${Name}Number` | `${Name}Uuid`]?: string | null };

interface Envelope {
  sourceNumber?: string | null;
  sourceUuid?: string | null;
  sourceName?: string | null;
  timestamp: number;
  dataMessage?: DataMessage;
  editMessage?: { targetSentTimestamp: number; dataMessage: DataMessage };
}

/** What stands in a text for each person that it mentions. */
const MENTION = '\uFFFC';

/**
 * The id of a message within its account. Signal names a message by its author and the time when it
 * was sent; those of the bot have the time alone.
 */
function formatMessageId(timestamp: number, author: string | null): string {
  return author === null ? String(timestamp) : `${timestamp}.${author}`;
}

/** Its time, and its author; null: the bot. */
export function parseMessageId(id: string): { timestamp: number; author: string | null } {
  const [timestamp, author = null] = id.split('.', 2);
  return { timestamp: Number(timestamp), author };
}

/** Reads what the daemon has received for the account with this number. */
export function createEnvelopeReader(ownNumber: string): (item: unknown) => Received[] {
  /** Null: the bot itself. */
  const authorOf = (number: string | null | undefined, uuid: string | null | undefined): string | null =>
    number === ownNumber || uuid === ownNumber ? null : (uuid ?? number ?? '');

  function readMessage(envelope: Envelope, data: DataMessage, edited?: number): ReceivedMessage[] {
    const sender = personOf(envelope);
    const files = (data.attachments ?? []).flatMap(toFile);
    const mentions = data.mentions ?? [];
    const text = withNames(data.message ?? '', mentions, (each) => authorOf(each.number, each.uuid));
    if (sender === null || (text === '' && files.length === 0) || data.groupInfo?.type === 'UPDATE') return [];
    const place = placeOf(sender, data);
    const { quote } = data;
    const quoted = quote && authorOf(quote.authorNumber, quote.authorUuid);
    return [
      {
        kind: edited === undefined ? 'message' : 'edit',
        place,
        sender,
        at: data.timestamp,
        messageId: formatMessageId(edited ?? data.timestamp, sender.id),
        text,
        isOwnText: edited === undefined,
        isForBot:
          place.chatType === 'direct' ||
          quoted === null ||
          mentions.some(({ number, uuid }) => authorOf(number, uuid) === null),
        files,
        ...(quote === undefined || quoted === undefined ? {} : { replyTo: toReply(quote, quoted, ownNumber) }),
      },
    ];
  }

  function readReaction(envelope: Envelope, data: DataMessage): Received[] {
    const sender = personOf(envelope);
    const { reaction } = data;
    if (sender === null || reaction === undefined) return [];
    const { targetSentTimestamp, targetAuthorNumber, targetAuthorUuid, emoji, isRemove } = reaction;
    return [
      {
        kind: 'reaction',
        place: placeOf(sender, data),
        sender,
        at: data.timestamp,
        messageId: formatMessageId(targetSentTimestamp, authorOf(targetAuthorNumber, targetAuthorUuid)),
        emoji,
        isAdded: !isRemove,
      },
    ];
  }

  function read({ envelope, exception }: { envelope?: Envelope; exception?: { message?: string } }): Received[] {
    if (envelope === undefined || authorOf(envelope.sourceNumber, envelope.sourceUuid) === null) return [];
    const { dataMessage, editMessage: edit } = envelope;
    if (edit !== undefined) return readMessage(envelope, edit.dataMessage, edit.targetSentTimestamp);
    if (dataMessage?.reaction !== undefined) return readReaction(envelope, dataMessage);
    if (dataMessage !== undefined) return readMessage(envelope, dataMessage);
    // A message that cannot be decrypted, or whose sender has a new safety number that was not
    // trusted yet.
    return exception === undefined ? [] : [unreadable(envelope, exception.message)];
  }

  return (item) => {
    try {
      // The shape that signal-cli documents; every field that is used is checked, or fails here.
      return isObject(item) ? read(item as Parameters<typeof read>[0]) : [];
    } catch (error) {
      return [unreadable((item as { envelope?: Envelope }).envelope, error)];
    }
  };
}

function toReply(
  { id, text, authorNumber, authorUuid }: NonNullable<DataMessage['quote']>,
  author: string | null,
  ownNumber: string,
): NonNullable<ReceivedMessage['replyTo']> {
  const senderLabel = author === null ? ownNumber : (authorNumber ?? authorUuid ?? undefined);
  return { id: formatMessageId(id, author), ...given({ senderLabel, body: text || undefined }) };
}

function unreadable(envelope: Envelope | undefined, error: unknown): Received {
  return { kind: 'unreadable', id: String(envelope?.timestamp ?? 'without a time'), error };
}

/** The account, which Signal never gives to another person. A number can be. */
function personOf({ sourceUuid, sourceNumber, sourceName }: Envelope): ChatPerson | null {
  const id = sourceUuid ?? sourceNumber;
  if (!id) return null;
  return { id, isBot: false, ...given({ name: sourceName || undefined, e164: sourceNumber || undefined }) };
}

function placeOf({ id }: ChatPerson, { groupInfo: group }: DataMessage): ChatPlace {
  if (group === undefined) return { chatId: id, chatType: 'direct' };
  return { chatId: group.groupId, chatType: 'group', ...given({ subject: group.groupName || undefined }) };
}

function toFile({ id, contentType, filename, size }: NonNullable<DataMessage['attachments']>[number]): RemoteFile[] {
  if (!id) return [];
  return [{ id, ...given({ name: filename ?? undefined, type: contentType, bytes: size ?? undefined }) }];
}

type Mentioned = NonNullable<DataMessage['mentions']>[number];

/**
 * Puts `@` and the number in place of each mention, except the bot at the beginning: a command
 * follows there.
 */
function withNames(
  text: string,
  mentions: readonly Mentioned[],
  authorOf: (mentioned: Mentioned) => string | null,
): string {
  let named = text;
  for (const mentioned of mentions.toSorted((one, other) => other.start - one.start)) {
    const { start, length, number, uuid } = mentioned;
    const before = named.slice(0, start);
    const after = named.slice(start + length);
    if (named.slice(start, start + length) !== MENTION) continue;
    const isAddressed = authorOf(mentioned) === null && before.trim() === '';
    named = isAddressed ? after.trimStart() : `${before}@${number ?? uuid ?? ''}${after}`;
  }
  return named;
}
