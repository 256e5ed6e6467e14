// The methods of the daemon that a scripted Signal answers, as a table. Each reads the parameters
// of a call and returns its result, or throws `Refused`.
import { Refused, TEXT_BYTES_MAX, type Json, type Message, type World } from './world.ts';

type Method = (world: World, parameters: Json) => unknown;

const STYLE = /^\d+:\d+:(?:BOLD|ITALIC|SPOILER|STRIKETHROUGH|MONOSPACE|NONE)$/;
const DATA_URI = /^data:([^;,]+);filename=([^;,]+);base64,(.+)$/s;

export const METHODS: Readonly<Record<string, Method>> = {
  version: () => ({ version: '0.14.6' }),
  listGroups: ({ groups }) => [...groups.values()],
  receive: (world, { timeout = 3, maxMessages = -1, ...rest }) => {
    const [unknown] = Object.keys(rest);
    if (unknown !== undefined) throw new Refused(-32_600, `Unrecognized field "${unknown}"`);
    return world.receive(Number(timeout), Number(maxMessages) < 0 ? Infinity : Number(maxMessages));
  },
  send: (world, parameters) => {
    const { chat, results } = recipientOf(world, parameters);
    const { message = '', editTimestamp, quoteTimestamp, quoteAuthor } = parameters;
    const files = listOf(parameters, 'attachment').map((uri) => readFile(uri));
    const styles = listOf(parameters, 'textStyle');
    const invalid = styles.find((style) => !STYLE.test(style));
    if (invalid !== undefined) throw new Refused(-1, `Invalid textStyle syntax (${invalid})`);
    const text = String(message as string);
    if (text === '' && files.length === 0)
      // prettier-ignore
      throw new Refused(-1, 'Sending empty message is not allowed, either a message, attachment or sticker must be given.');
    // What does not fit is in a file, which apps show as text.
    const isLong = Buffer.byteLength(text) > TEXT_BYTES_MAX;
    const long = isLong ? [{ name: 'long-text', type: 'text/x-signal-plain', bytes: Buffer.byteLength(text) }] : [];
    const timestamp = world.newTimestamp();
    const messages = world.messagesOf(chat);
    if (editTimestamp !== undefined) {
      const edited = messages.find((one) => one.timestamp === Number(editTimestamp) && one.author === world.bot.uuid);
      if (edited === undefined) throw new Refused(-1, `There is no message ${String(editTimestamp as number)}`);
      Object.assign(edited, { text, styles, isEdited: true });
      return { timestamp, results };
    }
    messages.push({
      timestamp,
      author: world.bot.uuid,
      text,
      styles,
      quote:
        quoteTimestamp === undefined
          ? null
          : { timestamp: Number(quoteTimestamp), author: world.personOf(String(quoteAuthor as string)).uuid },
      files: [...files, ...long],
      reactions: {},
      isEdited: false,
    });
    return { timestamp, results };
  },
  sendReaction: (world, parameters) => {
    const { chat, results } = recipientOf(world, parameters);
    const { emoji, targetAuthor, targetTimestamp, remove = false } = parameters;
    const message = findMessage(world, chat, Number(targetTimestamp), String(targetAuthor as string));
    if (remove === true) delete message.reactions[world.bot.uuid];
    else message.reactions[world.bot.uuid] = String(emoji as string);
    return { timestamp: world.newTimestamp(), results };
  },
  sendTyping: (world, parameters) => ({
    timestamp: world.newTimestamp(),
    results: recipientOf(world, parameters).results,
  }),
  sendReceipt: (world, { recipient, targetTimestamp }) => {
    const person = world.personOf(String(recipient as string));
    if (targetTimestamp === undefined) throw new Refused(-1, 'Missing target timestamp');
    return { timestamp: world.newTimestamp(), results: [succeeded(person.uuid, person.number)] };
  },
  getAttachment: ({ attachments }, { id }) => {
    const bytes = attachments.get(String(id as string));
    if (bytes === undefined) throw new Refused(-1, `Could not find attachment with ID: ${String(id as string)}`);
    return { data: bytes.toString('base64') };
  },
};

/** The message of an author in a chat. Throws `Refused`. */
export function findMessage(world: World, chat: string, timestamp: number, author: string): Message {
  const { uuid } = world.personOf(author);
  const found = world.messagesOf(chat).find((one) => one.timestamp === timestamp && one.author === uuid);
  if (found === undefined) throw new Refused(-1, `There is no message ${timestamp} of ${author} in ${chat}`);
  return found;
}

/** A parameter that can be one value or several. */
export function listOf(parameters: Json, name: string): string[] {
  const value = parameters[name] ?? parameters[`${name}s`] ?? [];
  return (Array.isArray(value) ? value : [value]).map(String);
}

function recipientOf(world: World, parameters: Json): { chat: string; results: Json[] } {
  const [groupId] = listOf(parameters, 'groupId');
  const [recipient] = listOf(parameters, 'recipient');
  if (groupId !== undefined) {
    const group = world.groups.get(groupId);
    if (group === undefined) throw new Refused(-1, `Group not found: ${groupId}`);
    if (!group.isMember) throw new Refused(-1, `User is not a member in group: ${group.name} (${groupId})`);
    const members = [...world.people.values()].map(({ uuid, number }) => ({ ...succeeded(uuid, number), groupId }));
    return { chat: groupId, results: members };
  }
  if (recipient === undefined) throw new Refused(-1, 'No recipients given');
  const { uuid, number } = world.personOf(recipient);
  return { chat: uuid, results: [succeeded(uuid, number)] };
}

function succeeded(uuid: string, number: string): Json {
  return { recipientAddress: { uuid, number }, type: 'SUCCESS' };
}

function readFile(uri: string): Message['files'][number] {
  const [, type, name, base64] = DATA_URI.exec(uri) ?? [];
  if (type === undefined || name === undefined || base64 === undefined)
    throw new Refused(-32_603, `Failed to send message: ${uri.slice(0, 40)}: not a file (AttachmentInvalidException)`);
  return { name: decodeURIComponent(name), type, bytes: Buffer.from(base64, 'base64').length };
}
