// What people do in the chats of a scripted Signal: they write, edit and react, and the account of
// the bot gets an envelope.
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { findMessage } from './methods.ts';
import type { Group, Json, Message, Person, World } from './world.ts';

const personSchema = z
  .union([
    z.string().transform((number) => ({ number })),
    z.strictObject({ number: z.string(), uuid: z.uuid().exactOptional(), name: z.string().exactOptional() }),
  ])
  .describe('a person, or only the number of one');

const fileSchema = z.strictObject({
  name: z.string().default('file.txt'),
  type: z.string().default('text/plain').describe('MIME type'),
  base64: z.string().exactOptional(),
  text: z.string().default(''),
});

const where = {
  from: personSchema.prefault('+4915100000042'),
  group: z.string().exactOptional().describe('the id of a group; none: the direct chat with the person'),
};

const target = {
  timestamp: z.number().describe('when the message was sent'),
  author: z.string().exactOptional().describe('the number of its author; none: of the person'),
};

export const saySchema = z.strictObject({
  ...where,
  text: z.string().default('').describe('`@bot` in it mentions the bot'),
  quote: z.strictObject(target).exactOptional().describe('the message that it answers'),
  files: z.array(fileSchema).default([]),
});
export const editSchema = z.strictObject({ ...where, timestamp: z.number(), text: z.string() });
export const reactSchema = z.strictObject({
  ...where,
  ...target,
  emoji: z.string(),
  isAdded: z.boolean().default(true),
});
export const groupSchema = z.strictObject({
  id: z.string(),
  name: z.string().default('Group'),
  isMember: z.boolean().default(true).describe('whether the bot is in it'),
});

export function say(world: World, input: z.input<typeof saySchema>): Message {
  const { text, quote, files, ...place } = saySchema.parse(input);
  const { person, chat, group } = look(world, place);
  const quoted = quote && findMessage(world, chat, quote.timestamp, quote.author ?? person.number);
  const attachments = files.map(({ name, type, base64, text: words }) => {
    const bytes = Buffer.from(base64 ?? words, base64 === undefined ? 'utf8' : 'base64');
    const id = `${randomUUID()}.bin`;
    world.attachments.set(id, bytes);
    return { contentType: type, filename: name, id, size: bytes.length };
  });
  const timestamp = world.newTimestamp();
  const message: Message = {
    timestamp,
    author: person.uuid,
    text,
    styles: [],
    quote: quoted === undefined ? null : { timestamp: quoted.timestamp, author: quoted.author },
    files: attachments.map(({ filename: name, contentType: type, size: bytes }) => ({ name, type, bytes })),
    reactions: {},
    isEdited: false,
  };
  world.messagesOf(chat).push(message);
  const dataMessage = {
    ...contentOf(world, text),
    timestamp,
    ...(quoted === undefined ? {} : { quote: describeQuote(world, quoted) }),
    ...(attachments.length === 0 ? {} : { attachments }),
    ...groupInfo(group),
  };
  push(world, person, timestamp, { dataMessage });
  return message;
}

export function edit(world: World, input: z.input<typeof editSchema>): Message {
  const { timestamp, text, ...place } = editSchema.parse(input);
  const { person, chat, group } = look(world, place);
  const message = findMessage(world, chat, timestamp, person.number);
  Object.assign(message, { text, isEdited: true });
  const at = world.newTimestamp();
  const dataMessage = { ...contentOf(world, text), timestamp: at, ...groupInfo(group) };
  push(world, person, at, { editMessage: { targetSentTimestamp: timestamp, dataMessage } });
  return message;
}

export function react(world: World, input: z.input<typeof reactSchema>): void {
  const { timestamp, author, emoji, isAdded, ...place } = reactSchema.parse(input);
  const { person, chat, group } = look(world, place);
  const message = findMessage(world, chat, timestamp, author ?? person.number);
  if (isAdded) message.reactions[person.uuid] = emoji;
  else delete message.reactions[person.uuid];
  const { uuid, number } = world.personOf(message.author);
  const at = world.newTimestamp();
  // prettier-ignore
  const reaction = { emoji, targetAuthor: number, targetAuthorNumber: number, targetAuthorUuid: uuid, targetSentTimestamp: timestamp, isRemove: !isAdded };
  push(world, person, at, { dataMessage: { timestamp: at, message: null, reaction, ...groupInfo(group) } });
}

export function setGroup({ groups }: World, input: z.input<typeof groupSchema>): Group {
  const group = groupSchema.parse(input);
  groups.set(group.id, group);
  return group;
}

export function setPerson(world: World, input: z.input<typeof personSchema>): Person {
  const given = personSchema.parse(input);
  const known = [...world.people.values()].find(({ number }) => number === given.number);
  return world.addPerson({ ...known, ...given });
}

function look(
  world: World,
  { from, group: id }: { from: z.output<typeof personSchema>; group?: string },
): { person: Person; chat: string; group: Group | undefined } {
  const person = setPerson(world, from);
  const group = id === undefined ? undefined : (world.groups.get(id) ?? setGroup(world, { id }));
  return { person, chat: group?.id ?? person.uuid, group };
}

/** Signal puts a placeholder where a person is mentioned. */
function contentOf({ bot }: World, text: string): Json {
  const mentions: Json[] = [];
  let message = text;
  for (let start = message.indexOf('@bot'); start >= 0; start = message.indexOf('@bot')) {
    message = `${message.slice(0, start)}\uFFFC${message.slice(start + 4)}`;
    mentions.push({ name: bot.number, number: bot.number, uuid: bot.uuid, start, length: 1 });
  }
  return { message, expiresInSeconds: 0, viewOnce: false, ...(mentions.length === 0 ? {} : { mentions }) };
}

function describeQuote(world: World, { timestamp, author, text }: Message): Json {
  const { number, uuid } = world.personOf(author);
  return { id: timestamp, author: number, authorNumber: number, authorUuid: uuid, text, attachments: [] };
}

function groupInfo(group: Group | undefined): Json {
  return group === undefined
    ? {}
    : { groupInfo: { groupId: group.id, groupName: group.name, revision: 1, type: 'DELIVER' } };
}

function push(world: World, { uuid, number, name }: Person, timestamp: number, content: Json): void {
  const source = { source: number, sourceNumber: number, sourceUuid: uuid, sourceName: name, sourceDevice: 1 };
  const server = { serverReceivedTimestamp: timestamp, serverDeliveredTimestamp: timestamp };
  world.push({ ...source, timestamp, ...server, ...content });
}
