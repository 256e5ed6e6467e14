// The methods of the Web API that a scripted Slack answers, as a table. Each reads the parameters
// of a call and returns what the answer contains beside `ok`, or throws `Refused`.
import { checkBlocks } from './check-blocks.ts';
import type { EventSender } from './event-sender.ts';
import { isTrue, objectOf, objectsOf, textOf } from './read-values.ts';
import { Refused } from './refused.ts';
import type { App, Channel, Json, Message, Workspace } from './workspace.ts';

export interface MethodCall {
  workspace: Workspace;
  app: App;
  /** The senders to the apps that see a channel. */
  seeing: (channel: Channel) => EventSender[];
  parameters: Json;
  /** The address that the caller used. */
  origin: string;
}

type Method = (call: MethodCall) => Json;

const TEXT_CHARS_MAX = 40_000;
const UPDATE_CHARS_MAX = 4000;
const PAGE_MAX = 999;
const PAGE = 100;

export const METHODS: Readonly<Record<string, Method>> = {
  'auth.test': ({ app, origin }) => ({
    url: `${origin}/`,
    team: 'Scripted',
    user: 'scripted',
    team_id: app.team,
    user_id: app.botUser,
    bot_id: app.botId,
    app_id: app.id,
    is_enterprise_install: false,
  }),
  'chat.postMessage': (call) => {
    const channel = writableChannel(call);
    const { text, warnings } = textWithin(call.parameters, channel);
    const threadTs = textOf(call.parameters.thread_ts);
    if (threadTs !== '' && !channel.messages.has(threadTs)) throw new Refused('thread_not_found');
    const { app } = call;
    const bot = { user: app.botUser, bot_id: app.botId, app_id: app.id };
    const message = call.workspace.write(channel, app, {
      ...bot,
      text,
      ...contentOf(call.parameters),
      ...(threadTs === '' ? {} : { thread_ts: threadTs }),
    });
    for (const sender of call.seeing(channel)) sender.tellMessage(channel, message);
    const warned = warnings.length === 0 ? {} : { warning: warnings.join(','), response_metadata: { warnings } };
    return { channel: channel.id, ts: message.ts, message, ...warned };
  },
  'chat.update': (call) => {
    const channel = writableChannel(call);
    const message = ownMessage(call, channel, 'cant_update_message');
    const text = textOf(call.parameters.text);
    if (text.length > UPDATE_CHARS_MAX) throw new Refused('msg_too_long');
    const content = contentOf(call.parameters);
    if (text === '' && content.blocks === undefined) throw new Refused('no_text');
    const previous = structuredClone(message);
    Object.assign(message, { text }, content, { edited: { user: call.app.botUser, ts: call.workspace.newTs() } });
    for (const sender of call.seeing(channel)) sender.tellChange(channel, message, previous);
    return { channel: channel.id, ts: message.ts, text, message };
  },
  'chat.delete': (call) => {
    const channel = writableChannel(call);
    const message = ownMessage(call, channel, 'cant_delete_message');
    channel.messages.delete(message.ts);
    return { channel: channel.id, ts: message.ts };
  },
  'conversations.history': (call) => {
    const top = [...channelOf(call).messages.values()].filter(
      ({ ts, thread_ts: thread, subtype }) => thread === undefined || thread === ts || subtype === 'thread_broadcast',
    );
    return pageOf(call.parameters, top.toReversed());
  },
  'conversations.replies': (call) => {
    const { messages } = channelOf(call);
    const parent = messages.get(textOf(call.parameters.ts));
    if (parent === undefined) throw new Refused('thread_not_found');
    const threadTs = parent.thread_ts ?? parent.ts;
    // prettier-ignore
    return pageOf(call.parameters, [...messages.values()].filter(({ ts, thread_ts: thread }) => ts === threadTs || thread === threadTs));
  },
  'conversations.info': (call) => ({ channel: describeChannel(channelOf(call)) }),
  'conversations.list': ({ workspace }) => ({ channels: [...workspace.channels.values()].map(describeChannel) }),
  'users.conversations': ({ workspace }) => ({
    channels: [...workspace.channels.values()].filter(({ isMember }) => isMember).map(describeChannel),
  }),
  'conversations.open': ({ workspace, app, parameters }) => {
    const user = textOf(parameters.users);
    if (!workspace.people.has(user)) throw new Refused('user_not_found');
    return { channel: describeChannel(workspace.directChat(app, user)) };
  },
  'users.info': ({ workspace, app, parameters }) => {
    const person = workspace.people.get(textOf(parameters.user));
    if (person === undefined) throw new Refused('user_not_found');
    const profile = { real_name: person.real_name ?? person.name, display_name: person.name };
    return { user: { team_id: app.team, real_name: profile.real_name, deleted: false, profile, ...person } };
  },
  'bots.info': ({ app }) => ({
    bot: { id: app.botId, app_id: app.id, user_id: app.botUser, name: 'scripted', deleted: false },
  }),
  'reactions.add': (call) => {
    const { message, name, entry } = reactionOf(call);
    if (entry?.users.includes(call.app.botUser) === true) throw new Refused('already_reacted');
    const users = [...(entry?.users ?? []), call.app.botUser];
    const others = message.reactions?.filter((each) => each !== entry) ?? [];
    message.reactions = [...others, { name, users, count: users.length }];
    return {};
  },
  'reactions.remove': (call) => {
    const { message, entry } = reactionOf(call);
    if (entry?.users.includes(call.app.botUser) !== true) throw new Refused('no_reaction');
    entry.users = entry.users.filter((user) => user !== call.app.botUser);
    entry.count = entry.users.length;
    message.reactions = message.reactions?.filter(({ count }) => count > 0) ?? [];
    return {};
  },
  'files.getUploadURLExternal': ({ workspace, parameters, origin }) => {
    const name = textOf(parameters.filename);
    if (name === '' || Number(parameters.length) <= 0 || parameters.length === undefined)
      throw new Refused('invalid_arguments');
    const id = workspace.newId('F');
    workspace.files.set(id, { id, name, type: 'application/octet-stream', bytes: null });
    return { upload_url: `${origin}/upload/${id}`, file_id: id };
  },
  'files.completeUploadExternal': (call) => {
    const { workspace, app, parameters, origin } = call;
    const files = objectsOf(parameters.files, 'invalid_arguments').map(({ id, title }) => {
      const file = workspace.files.get(textOf(id));
      if (file?.bytes == null) throw new Refused('file_not_found');
      return { ...workspace.describeFile(file, origin), ...(title === undefined ? {} : { title }) };
    });
    const id = textOf(parameters.channel_id ?? parameters.channels);
    if (id === '') return { files };
    const channel = writableChannel({ ...call, parameters: { channel: id } });
    const threadTs = textOf(parameters.thread_ts);
    const message = workspace.write(channel, app, {
      user: app.botUser,
      bot_id: app.botId,
      app_id: app.id,
      text: textOf(parameters.initial_comment),
      files,
      ...(threadTs === '' ? {} : { thread_ts: threadTs }),
    });
    for (const sender of call.seeing(channel)) sender.tellMessage(channel, message);
    return { files };
  },
  'files.info': ({ workspace, parameters, origin }) => {
    const file = workspace.files.get(textOf(parameters.file));
    if (file === undefined) throw new Refused('file_not_found');
    return { file: workspace.describeFile(file, origin) };
  },
  'assistant.threads.setStatus': (call) => {
    channelOf({ ...call, parameters: { channel: call.parameters.channel_id } });
    return {};
  },
};

/** Throws `Refused`. */
function channelOf({ workspace, app, parameters }: MethodCall): Channel {
  const id = textOf(parameters.channel);
  // A person's id names the direct chat with that person.
  if (workspace.people.has(id) && id !== app.botUser) return workspace.directChat(app, id);
  const channel = workspace.channels.get(id);
  if (channel === undefined) throw new Refused('channel_not_found');
  return channel;
}

function writableChannel(call: MethodCall): Channel {
  const channel = channelOf(call);
  if (channel.isArchived) throw new Refused('is_archived');
  if (!channel.isMember) throw new Refused('not_in_channel');
  return channel;
}

function ownMessage({ app, parameters }: MethodCall, { messages }: Channel, fault: string): Message {
  const message = messages.get(textOf(parameters.ts));
  if (message === undefined) throw new Refused('message_not_found');
  if (message.user !== app.botUser) throw new Refused(fault);
  return message;
}

/** Slack cuts longer texts, and says so. */
function textWithin(parameters: Json, channel: Channel): { text: string; warnings: string[] } {
  const text = textOf(parameters.text ?? parameters.markdown_text);
  const isEmpty = text === '' && parameters.blocks === undefined && parameters.attachments === undefined;
  if (isEmpty || channel.id === '') throw new Refused('no_text');
  if (text.length <= TEXT_CHARS_MAX) return { text, warnings: [] };
  return { text: text.slice(0, TEXT_CHARS_MAX), warnings: ['message_truncated'] };
}

function contentOf(parameters: Json): Json {
  const content: Json = {};
  if (parameters.blocks !== undefined)
    content.blocks = checkBlocks(objectsOf(parameters.blocks, 'invalid_blocks_format'));
  if (parameters.metadata !== undefined) {
    const metadata = objectOf(parameters.metadata, 'invalid_metadata_format');
    if (textOf(metadata.event_type) === '') throw new Refused('invalid_metadata_schema');
    content.metadata = metadata;
  }
  return content;
}

/** A page of messages, without metadata unless it is asked for. */
function pageOf(parameters: Json, messages: Message[]): Json {
  const oldest = textOf(parameters.oldest) || '0';
  const latest = textOf(parameters.latest) || '9999999999';
  const isInclusive = isTrue(parameters.inclusive);
  const within = messages.filter(({ ts }) => (isInclusive ? ts >= oldest && ts <= latest : ts > oldest && ts < latest));
  const begin = Number(textOf(parameters.cursor).replace('scripted:', '') || 0);
  const limit = Math.min(Number(parameters.limit ?? PAGE) || PAGE, PAGE_MAX);
  const hasMore = within.length > begin + limit;
  const shown = within
    .slice(begin, begin + limit)
    .map((message) => (isTrue(parameters.include_all_metadata) ? message : { ...message, metadata: undefined }));
  // prettier-ignore
  return { messages: shown, has_more: hasMore, response_metadata: { next_cursor: hasMore ? `scripted:${begin + limit}` : '' } };
}

function describeChannel({ id, kind, name, user, isMember, isArchived }: Channel): Json {
  const kinds = {
    is_im: kind === 'im',
    is_channel: kind === 'channel',
    is_group: kind === 'group',
    is_mpim: kind === 'mpim',
  };
  const isPrivate = kind !== 'channel';
  // prettier-ignore
  return { id, name, ...kinds, is_private: isPrivate, is_member: isMember, is_archived: isArchived, ...(user === undefined ? {} : { user }) };
}

function reactionOf(call: MethodCall) {
  const message = channelOf(call).messages.get(textOf(call.parameters.timestamp));
  if (message === undefined) throw new Refused('message_not_found');
  const name = textOf(call.parameters.name);
  if (!/^[a-z0-9_+'-]+(?:::skin-tone-[2-6])?$/.test(name)) throw new Refused('invalid_name');
  return { message, name, entry: message.reactions?.find((each) => each.name === name) };
}
