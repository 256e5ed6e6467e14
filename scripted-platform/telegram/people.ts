// What people do in the chats of a scripted Telegram: they write, edit, react and press buttons,
// and each bot that sees it gets an update.
import { z } from 'zod';
import { findEntities } from './find-entities.ts';
import type { Bot, Bots } from './bots.ts';
import { buttonsOf, describeFile, FOLDERS } from './outgoing.ts';
import { textOf } from './read-values.ts';
import type { Chat, ChatInfo, Json, Message, User, World } from './world.ts';

const personSchema = z
  .union([z.int().transform((id) => ({ id })), z.looseObject({ id: z.int() })])
  .describe('a person, or only the id of one')
  .transform(
    (person) => ({ is_bot: false, first_name: `Person ${person.id}`, language_code: 'en', ...person }) as User,
  );

const chatSchema = z
  .union([
    z.coerce.number().transform((id) => ({ id })),
    z.looseObject({ id: z.int(), type: z.enum(['private', 'group', 'supergroup', 'channel']).exactOptional() }),
  ])
  .describe("a chat, or only its id: a person's is positive, a group's negative");

const fileSchema = z.strictObject({
  kind: z.enum(['document', 'photo', 'voice', 'audio', 'video']).default('document'),
  name: z.string().default('file.txt'),
  type: z.string().default('text/plain').describe('MIME type'),
  base64: z.string().exactOptional(),
  bytes: z.instanceof(Uint8Array).exactOptional(),
  text: z.string().exactOptional(),
});

const bot = z.string().exactOptional().describe('the id of the bot that sees it; none: the first, in groups all');
const anyone = personSchema.prefault(42);
const inChat = chatSchema.exactOptional().describe('none: the direct chat with the person');

export const saySchema = z.strictObject({
  bot,
  from: anyone,
  chat: inChat,
  text: z.string().default('').describe('the text, or the caption of the first file'),
  threadId: z.int().exactOptional().describe('the topic of a forum, which exists from then on'),
  threadName: z.string().exactOptional(),
  replyTo: z.int().exactOptional().describe('the id of the message that it answers'),
  forwardedFrom: personSchema.exactOptional(),
  files: z.array(fileSchema).max(10).default([]).describe('several files are an album'),
});

export const editSchema = z.strictObject({ bot, from: anyone, chat: inChat, messageId: z.int(), text: z.string() });

export const reactSchema = z.strictObject({
  bot,
  from: anyone,
  chat: inChat,
  messageId: z.int(),
  emoji: z.string().nullable().describe('null: the person takes the reaction back'),
});

export const pressSchema = z.strictObject({
  bot,
  from: anyone,
  chat: inChat,
  messageId: z.int(),
  button: z.string().describe('its data or its label'),
});

export const chatsSchema = z.strictObject({
  bot,
  chat: chatSchema,
  threads: z.array(z.int()).default([]).describe('topics that exist'),
  blocked: z.boolean().default(false).describe('true: the bot was blocked or removed, and its messages are refused'),
});

export type Saying = z.input<typeof saySchema>;

export interface Stage {
  world: World;
  bots: Bots;
}

interface Seen {
  bot: Bot;
  chat: Chat;
}

/** Returns the message as each bot receives it: of an album the first. */
export function say(stage: Stage, input: Saying): Message {
  const { from, text, threadId, threadName, replyTo, forwardedFrom, files, ...where } = saySchema.parse(input);
  const seen = look(stage, { ...where, from });
  const [{ chat }] = seen;
  const date = Math.floor(Date.now() / 1000);
  if (threadId !== undefined) chat.threads.add(threadId);
  const topic = threadId === undefined ? {} : topicOf(chat, { threadId, threadName, date });
  const answered = replyTo === undefined ? undefined : messageOf(chat, replyTo);
  const common: Json = {
    from,
    ...topic,
    ...(answered === undefined ? {} : { reply_to_message: { ...answered, reply_to_message: undefined } }),
    // prettier-ignore
    ...(forwardedFrom === undefined ? {} : { forward_origin: { type: 'user', sender_user: forwardedFrom, date }, forward_date: date }),
  };
  if (files.length > 1) common.media_group_id = stage.world.newId('album-');
  const contents = files.map(({ kind, name, type, base64, bytes, text: words = '' }, index) => {
    // prettier-ignore
    const content = bytes === undefined ? Buffer.from(base64 ?? words, base64 === undefined ? 'utf8' : 'base64') : Buffer.from(bytes);
    const { info } = stage.world.addFile({ name, type, bytes: content }, FOLDERS[kind]);
    return { [kind]: describeFile(kind, info, { name, type }), ...(index === 0 ? marked(text, 'caption') : {}) };
  });
  if (contents.length === 0) contents.push(marked(text, 'text'));
  const messages = contents.map((content) => stage.world.write(chat, { ...common, ...content }));
  for (const message of messages) tell(seen, chat.info.type === 'channel' ? 'channel_post' : 'message', message);
  // There is at least one.
  return messages[0] as Message;
}

export function edit(stage: Stage, input: z.input<typeof editSchema>): Message {
  const { messageId, text, ...where } = editSchema.parse(input);
  const seen = look(stage, where);
  const message = messageOf(seen[0].chat, messageId);
  const what = message.text === undefined ? 'caption' : 'text';
  Object.assign(message, { entities: undefined }, marked(text, what), { edit_date: Math.floor(Date.now() / 1000) });
  tell(seen, 'edited_message', message);
  return message;
}

export function react(stage: Stage, input: z.input<typeof reactSchema>): void {
  const { messageId, emoji, from, ...where } = reactSchema.parse(input);
  const seen = look(stage, { ...where, from });
  const message = messageOf(seen[0].chat, messageId);
  const reactions = (message.scripted_reactions ?? {}) as Record<string, unknown>;
  const old = reactions[from.id] ?? [];
  const added = emoji === null ? [] : [{ type: 'emoji', emoji }];
  message.scripted_reactions = { ...reactions, [from.id]: added };
  const { chat, message_id } = message;
  const date = Math.floor(Date.now() / 1000);
  tell(seen, 'message_reaction', { chat, message_id, user: from, date, old_reaction: old, new_reaction: added });
}

/** Returns the id of the press, by which the bot answers it. */
export function press(stage: Stage, input: z.input<typeof pressSchema>): string {
  const { messageId, button, from, ...where } = pressSchema.parse(input);
  const seen = look(stage, { ...where, from });
  const message = messageOf(seen[0].chat, messageId);
  // prettier-ignore
  const pressed = buttonsOf(message.reply_markup).find(({ text, callback_data: data }) => data === button || text === button);
  if (pressed === undefined) throw new Error(`Message ${messageId} has no button "${button}"`);
  // A press goes to the bot whose message it is.
  const owner = seen.find((each) => each.bot.user.id === message.from?.id) ?? seen[0];
  const id = stage.world.newId('press-');
  stage.world.presses.set(id, { bot: owner.bot.id, text: null });
  const data = textOf(pressed.callback_data);
  tell([owner], 'callback_query', { id, from, message, chat_instance: `chat-${message.chat.id}`, data });
  return id;
}

export function setChat(stage: Stage, input: z.input<typeof chatsSchema>): ChatInfo {
  const { threads, blocked, ...where } = chatsSchema.parse(input);
  const seen = look(stage, { ...where, from: undefined });
  for (const { chat } of seen) {
    chat.isBlocked = blocked;
    for (const thread of threads) chat.threads.add(thread);
  }
  return seen[0].chat.info;
}

/** The bots that see a chat, and the chat as they see it. */
function look(
  { world, bots }: Stage,
  { bot: id, from, chat = { id: from?.id ?? 0 } }: { bot?: string; from: User | undefined; chat?: { id: number } },
): [Seen, ...Seen[]] {
  const seeing = bots.seeing(id, chat.id > 0);
  const [first, ...others] = seeing.map((each) => ({
    bot: each,
    chat: world.openChat(each.id, describe(world, each, chat, from)),
  }));
  if (first === undefined) throw new Error('There is no bot');
  return [first, ...others];
}

function describe(
  world: World,
  { id: bot }: Bot,
  chat: { id: number } & Partial<ChatInfo>,
  from: User | undefined,
): ChatInfo {
  const known = world.findChat(bot, chat.id)?.info;
  if (chat.id > 0) {
    const { first_name = `Person ${chat.id}`, username } = from?.id === chat.id ? from : {};
    return { type: 'private', first_name, ...(username === undefined ? {} : { username }), ...known, ...chat };
  }
  const type = String(chat.id).startsWith('-100') ? 'supergroup' : 'group';
  return { type, title: `Group ${chat.id}`, ...known, ...chat };
}

function messageOf(chat: Chat, id: number): Message {
  const message = chat.messages.get(id);
  if (message === undefined) throw new Error(`There is no message ${id} in chat ${chat.info.id}`);
  return message;
}

/** Outside of answers, a message of a topic quotes the message that created it. */
function topicOf(
  chat: Chat,
  {
    threadId,
    threadName = `Topic ${threadId}`,
    date,
  }: { threadId: number; threadName: string | undefined; date: number },
): Json {
  // prettier-ignore
  chat.info.is_forum = true;
  const created = { name: threadName, icon_color: 7_322_096 };
  return {
    message_thread_id: threadId,
    is_topic_message: true,
    // prettier-ignore
    reply_to_message: { message_id: threadId, chat: chat.info, date, message_thread_id: threadId, is_topic_message: true, forum_topic_created: created },
  };
}

function marked(text: string, field: 'text' | 'caption'): Json {
  if (text === '' && field === 'caption') return {};
  const entities = findEntities({ text, entities: [] }).toSorted((a, b) => a.offset - b.offset);
  const entityField = field === 'text' ? 'entities' : 'caption_entities';
  return { [field]: text, ...(entities.length === 0 ? {} : { [entityField]: entities }) };
}

function tell(seen: readonly Seen[], kind: string, content: Json): void {
  const shown = withoutScript(content);
  for (const { bot: each, chat } of seen)
    if (!isPrivateToPeople(each, chat, content)) each.updates.add(kind, shown, String(chat.info.id));
}

/** Bots that do not read all messages of groups receive commands, mentions and answers to them. */
function isPrivateToPeople(
  { user }: Bot,
  { info }: Chat,
  { text, caption, reply_to_message: answered }: Json,
): boolean {
  const words = textOf(text ?? caption);
  if (info.type === 'private' || user.can_read_all_group_messages === true || words === '') return false;
  const isAnswer = (answered as Message | undefined)?.from?.id === user.id;
  return !isAnswer && !words.startsWith('/') && !words.toLowerCase().includes(`@${user.username?.toLowerCase()}`);
}

/** Without what only the control surface shows. */
export function withoutScript(content: Json): Json {
  const shown = { ...content };
  delete shown.scripted_reactions;
  return shown;
}
