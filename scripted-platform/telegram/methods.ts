// The methods of the Bot API that a scripted Telegram answers, as a table. Each reads the
// parameters of a call and returns its result, or throws `Refused`.
import type { Bot } from './bots.ts';
import type { UploadedFile } from '../call-log.ts';
import { isRecord } from '../read-parameters.ts';
import { Refused } from './refused.ts';
import { contentOf, readMarkup } from './outgoing.ts';
import { isTrue, listOf, namesOf, numberOf, objectOf, textOf } from './read-values.ts';
import type { Chat, Json, Message, World } from './world.ts';

export interface MethodCall {
  world: World;
  bot: Bot;
  parameters: Json;
  files: UploadedFile[];
  signal: AbortSignal;
}

type Method = (call: MethodCall) => unknown;

const FILE_BYTES_MAX = 20 * 1024 * 1024;
const POLL_UPDATES_MAX = 100;
const POLL_SECONDS_MAX = 50;
const WEBHOOK_CONNECTIONS = 40;
const ACTIONS = new Set([
  'typing',
  'upload_photo',
  'record_video',
  'upload_video',
  'record_voice',
  'upload_voice',
  'upload_document',
  'choose_sticker',
  'find_location',
  'record_video_note',
  'upload_video_note', // prettier-ignore
]);
// prettier-ignore
const REACTIONS = new Set('👍 👎 ❤ 🔥 🥰 👏 😁 🤔 🤯 😱 🤬 😢 🎉 🤩 🤮 💩 🙏 👌 🕊 🤡 🥱 🥴 😍 🐳 ❤‍🔥 🌚 🌭 💯 🤣 ⚡ 🍌 🏆 💔 🤨 😐 🍓 🍾 💋 🖕 😈 😴 😭 🤓 👻 👨‍💻 👀 🎃 🙈 😇 😨 🤝 ✍ 🤗 🫡 🎅 🎄 ☃ 💅 🤪 🗿 🆒 💘 🙉 🦄 😘 💊 🙊 😎 👾 🤷‍♂ 🤷 🤷‍♀ 😡'.split(' '));

/** By the names in lower case: Telegram does not distinguish. */
export const METHODS: Readonly<Record<string, Method>> = {
  getme: ({ bot }) => bot.user,
  getupdates: ({ bot, parameters, signal }) =>
    bot.updates.poll(
      {
        offset: numberOf(parameters.offset) ?? 0,
        limit: Math.min(Math.max(numberOf(parameters.limit) ?? POLL_UPDATES_MAX, 1), POLL_UPDATES_MAX),
        timeoutMs: Math.min(numberOf(parameters.timeout) ?? 0, POLL_SECONDS_MAX) * 1000,
        allowed: namesOf(parameters.allowed_updates),
      },
      signal,
    ),
  setwebhook: ({ bot, parameters }) => {
    const url = textOf(parameters.url);
    const secretToken = parameters.secret_token === undefined ? undefined : textOf(parameters.secret_token);
    if (url !== '' && !URL.canParse(url)) throw new Refused(400, 'bad webhook: invalid webhook URL specified');
    if (secretToken !== undefined && !/^[\w-]{1,256}$/.test(secretToken))
      throw new Refused(400, 'secret token contains unallowed characters');
    const maxConnections = numberOf(parameters.max_connections) ?? WEBHOOK_CONNECTIONS;
    const rest = {
      allowed: namesOf(parameters.allowed_updates),
      dropsPending: isTrue(parameters.drop_pending_updates),
    };
    bot.updates.setWebhook(url === '' ? null : { url, secretToken, maxConnections }, rest);
    return true;
  },
  deletewebhook: ({ bot, parameters }) => {
    bot.updates.setWebhook(null, { allowed: undefined, dropsPending: isTrue(parameters.drop_pending_updates) });
    return true;
  },
  getwebhookinfo: ({ bot }) => bot.updates.info,
  sendmessage: (call) => send(call, contentOf(call, 'text')),
  senddocument: (call) => send(call, contentOf(call, 'document')),
  sendphoto: (call) => send(call, contentOf(call, 'photo')),
  sendvoice: (call) => send(call, contentOf(call, 'voice')),
  sendaudio: (call) => send(call, contentOf(call, 'audio')),
  sendvideo: (call) => send(call, contentOf(call, 'video')),
  editmessagetext: (call) => edit(call, 'text'),
  editmessagecaption: (call) => edit(call, 'caption'),
  editmessagereplymarkup: (call) => edit(call, 'reply_markup'),
  deletemessage: (call) => {
    const chat = chatOf(call);
    if (!chat.messages.delete(numberOf(call.parameters.message_id) ?? 0))
      throw new Refused(400, 'message to delete not found');
    return true;
  },
  sendmessagedraft: ({ world, bot, parameters }) => {
    const chat = world.chatOf(bot.id, parameters.chat_id);
    if (chat.info.type !== 'private') throw new Refused(400, "can't send a draft to the chat");
    if (!numberOf(parameters.draft_id)) throw new Refused(400, 'RANDOM_ID_INVALID');
    const { text } = contentOf({ world, bot, parameters, files: [] }, 'draft');
    bot.drafts.set(`${chat.info.id} ${textOf(parameters.draft_id)}`, textOf(text));
    return true;
  },
  sendchataction: (call) => {
    chatOf(call);
    if (!ACTIONS.has(textOf(call.parameters.action))) throw new Refused(400, 'wrong parameter action in request');
    return true;
  },
  setmessagereaction: (call) => {
    const message = chatOf(call).messages.get(numberOf(call.parameters.message_id) ?? 0);
    if (message === undefined) throw new Refused(400, 'message to react not found');
    const reactions = listOf(call.parameters.reaction).filter(isRecord);
    if (reactions.length > 1) throw new Refused(400, 'REACTIONS_TOO_MANY');
    if (reactions.some(({ type, emoji }) => type === 'emoji' && !REACTIONS.has(textOf(emoji))))
      throw new Refused(400, 'REACTION_INVALID');
    message.scripted_reactions = { ...objectOf(message.scripted_reactions), [call.bot.id]: reactions };
    return true;
  },
  answercallbackquery: ({ world, bot, parameters }) => {
    const press = world.presses.get(textOf(parameters.callback_query_id));
    if (press === undefined || press.bot !== bot.id)
      throw new Refused(400, 'query is too old and response timeout expired or query ID is invalid');
    press.text = textOf(parameters.text);
    return true;
  },
  getfile: ({ world, parameters }) => {
    const file = world.files.get(textOf(parameters.file_id));
    if (file === undefined) throw new Refused(400, 'wrong file_id or the file is temporarily unavailable');
    if (file.bytes.length > FILE_BYTES_MAX) throw new Refused(400, 'file is too big');
    const { id, path, bytes } = file;
    return { file_id: id, file_unique_id: `unique-${id}`, file_size: bytes.length, file_path: path };
  },
  getchat: (call) => ({ ...chatOf(call).info, accent_color_id: 0, max_reaction_count: 11 }),
  getchatmember: (call) => {
    chatOf(call);
    const isBot = textOf(call.parameters.user_id) === call.bot.id;
    const user = isBot ? call.bot.user : { id: numberOf(call.parameters.user_id), is_bot: false, first_name: 'Person' };
    return { status: 'member', user };
  },
  setmycommands: ({ bot, parameters }) => {
    bot.commands = listOf(parameters.commands);
    return true;
  },
  getmycommands: ({ bot }) => bot.commands,
};

/** Throws `Refused`. */
function chatOf({ world, bot, parameters }: Pick<MethodCall, 'world' | 'bot' | 'parameters'>): Chat {
  return world.chatOf(bot.id, parameters.chat_id);
}

function send(call: MethodCall, content: Json): Message {
  const { world, bot, parameters } = call;
  const chat = chatOf(call);
  const reply = objectOf(parameters.reply_parameters);
  const answeredId = numberOf(reply?.message_id ?? parameters.reply_to_message_id);
  const answered = answeredId === undefined ? undefined : chat.messages.get(answeredId);
  if (answeredId !== undefined && answered === undefined && !isTrue(reply?.allow_sending_without_reply))
    throw new Refused(400, 'message to be replied not found');
  const threadId = numberOf(parameters.message_thread_id);
  if (threadId !== undefined && !chat.threads.has(threadId)) throw new Refused(400, 'message thread not found');
  const markup = readMarkup(parameters.reply_markup);
  return world.write(chat, {
    from: bot.user,
    ...(threadId === undefined ? {} : { message_thread_id: threadId, is_topic_message: true }),
    ...(answered === undefined ? {} : { reply_to_message: withoutReply(answered) }),
    ...content,
    ...(markup === undefined ? {} : { reply_markup: markup }),
  });
}

function edit(call: MethodCall, what: 'text' | 'caption' | 'reply_markup'): Message {
  const { bot, parameters } = call;
  const message = chatOf(call).messages.get(numberOf(parameters.message_id) ?? 0);
  if (message === undefined) throw new Refused(400, 'message to edit not found');
  if (message.from?.id !== bot.user.id) throw new Refused(400, "message can't be edited");
  if (what === 'text' && message.text === undefined) throw new Refused(400, 'there is no text in the message to edit');
  const markup = readMarkup(parameters.reply_markup);
  const content = what === 'reply_markup' ? {} : contentOf(call, what);
  // prettier-ignore
  const before = JSON.stringify([message.text, message.entities, message.caption, message.caption_entities, message.reply_markup]);
  Object.assign(message, { entities: undefined, reply_markup: undefined }, content, { reply_markup: markup });
  // prettier-ignore
  const after = JSON.stringify([message.text, message.entities, message.caption, message.caption_entities, message.reply_markup]);
  if (before === after)
    // prettier-ignore
    throw new Refused(400, 'message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message');
  message.edit_date = Math.floor(Date.now() / 1000);
  return message;
}

/** A message as others quote it: it quotes none itself. */
function withoutReply(message: Message): Json {
  return { ...message, reply_to_message: undefined };
}
