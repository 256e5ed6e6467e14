// What people do in the channels of a scripted Slack: they write, edit, delete, react and press
// buttons, and each app that sees it gets events.
import { z } from 'zod';
import { buttonsOf, wordsOf } from './check-blocks.ts';
import type { EventSender } from './event-sender.ts';
import { textOf } from './read-values.ts';
import type { App, Channel, Json, Message, Person, Workspace } from './workspace.ts';

const personSchema = z
  .union([z.string().transform((id) => ({ id })), z.looseObject({ id: z.string() })])
  .describe('a person, or only the id of one')
  .transform((person) => ({ name: person.id.toLowerCase(), is_bot: false, ...person }) as Person);

const fileSchema = z.strictObject({
  name: z.string().default('file.txt'),
  type: z.string().default('text/plain').describe('MIME type'),
  base64: z.string().exactOptional(),
  bytes: z.instanceof(Uint8Array).exactOptional(),
  text: z.string().exactOptional(),
});

const where = {
  app: z.string().exactOptional().describe('the id of the app whose direct chat it is; none: the first'),
  from: personSchema.prefault('U42'),
  channel: z.string().exactOptional().describe('the id of a channel; none: the direct chat with the person'),
};

const layout = {
  blocks: z
    .array(z.looseObject({}))
    .exactOptional()
    .describe('as Slack sends them, with what a person typed: `rich_text`'),
  attachments: z.array(z.looseObject({})).exactOptional().describe('with `is_share`: a message that is passed on'),
};

export const saySchema = z.strictObject({
  ...where,
  text: z.string().default(''),
  threadTs: z.string().exactOptional().describe('the message whose thread it is in'),
  files: z.array(fileSchema).max(10).default([]),
  ...layout,
  isLost: z.boolean().default(false).describe('true: no event is sent, as when a connection was away for long'),
});

export const editSchema = z.strictObject({ ...where, ts: z.string(), text: z.string(), ...layout });
export const removeSchema = z.strictObject({ ...where, ts: z.string() });
export const reactSchema = z.strictObject({
  ...where,
  ts: z.string(),
  emoji: z.string(),
  isAdded: z.boolean().default(true),
});
export const pressSchema = z.strictObject({
  ...where,
  ts: z.string(),
  button: z.string().describe('its value, action or label'),
});

export const channelSchema = z.strictObject({
  id: z.string(),
  name: z.string().exactOptional(),
  kind: z.enum(['channel', 'group', 'mpim', 'im']).exactOptional(),
  isMember: z.boolean().exactOptional().describe('whether the bots are in it'),
  isArchived: z.boolean().exactOptional(),
});

export interface Stage {
  workspace: Workspace;
  senders: ReadonlyMap<App, EventSender>;
  /** The address of the server. */
  origin: () => string;
}

export function say(stage: Stage, input: z.input<typeof saySchema>): Message {
  const { text, threadTs, files, isLost, from, blocks, attachments, ...place } = saySchema.parse(input);
  const { channel, app, senders } = look(stage, { ...place, from });
  const { workspace } = stage;
  const stored = files.map(({ name, type, base64, bytes, text: words = '' }) => {
    const id = workspace.newId('F');
    // prettier-ignore
    const content = bytes === undefined ? Buffer.from(base64 ?? words, base64 === undefined ? 'utf8' : 'base64') : Buffer.from(bytes);
    const file = { id, name, type, bytes: content };
    workspace.files.set(id, file);
    return workspace.describeFile(file, stage.origin());
  });
  const message = workspace.write(channel, app, {
    user: from.id,
    text,
    ...(threadTs === undefined ? {} : { thread_ts: threadTs }),
    ...(stored.length === 0 ? {} : { files: stored, subtype: 'file_share' }),
    ...(blocks === undefined ? {} : { blocks }),
    ...(attachments === undefined ? {} : { attachments }),
    ...(from.is_bot ? { bot_id: `B${from.id}` } : {}),
  });
  if (!isLost) for (const sender of senders) sender.tellMessage(channel, message);
  return message;
}

export function edit(stage: Stage, input: z.input<typeof editSchema>): Message {
  const { ts, text, from, blocks, attachments, ...place } = editSchema.parse(input);
  const { channel, senders } = look(stage, { ...place, from });
  const message = messageOf(channel, ts);
  const previous = structuredClone(message);
  Object.assign(message, { text, blocks, attachments, edited: { user: from.id, ts: stage.workspace.newTs() } });
  for (const sender of senders) sender.tellChange(channel, message, previous);
  return message;
}

export function remove(stage: Stage, input: z.input<typeof removeSchema>): void {
  const { ts, ...place } = removeSchema.parse(input);
  const { channel, senders } = look(stage, place);
  const previous = messageOf(channel, ts);
  channel.messages.delete(ts);
  const at = stage.workspace.newTs();
  // prettier-ignore
  const event = { type: 'message', subtype: 'message_deleted', channel: channel.id, channel_type: channel.kind, hidden: true, deleted_ts: ts, ts: at, event_ts: at, previous_message: previous };
  for (const sender of senders) sender.tell(channel, event);
}

export function react(stage: Stage, input: z.input<typeof reactSchema>): void {
  const { ts, emoji, isAdded, from, ...place } = reactSchema.parse(input);
  const { channel, senders } = look(stage, { ...place, from });
  const message = messageOf(channel, ts);
  const entry = message.reactions?.find(({ name }) => name === emoji);
  const users = [...(entry?.users ?? []).filter((user) => user !== from.id), ...(isAdded ? [from.id] : [])];
  const others = message.reactions?.filter((each) => each !== entry) ?? [];
  message.reactions = users.length === 0 ? others : [...others, { name: emoji, users, count: users.length }];
  const item = { type: 'message', channel: channel.id, ts };
  // prettier-ignore
  const event = { type: isAdded ? 'reaction_added' : 'reaction_removed', user: from.id, reaction: emoji, item, item_user: message.user, event_ts: stage.workspace.newTs() };
  for (const sender of senders) sender.tell(channel, event);
}

export function press(stage: Stage, input: z.input<typeof pressSchema>): void {
  const { ts, button, from, ...place } = pressSchema.parse(input);
  const { channel, app, workspace, senders } = look(stage, { ...place, from });
  const message = messageOf(channel, ts);
  // prettier-ignore
  const pressed = buttonsOf(message.blocks).find(({ value, action_id: action, text }) => [value, action, wordsOf(text)].includes(button));
  if (pressed === undefined) throw new Error(`Message ${ts} has no button "${button}"`);
  const block = message.blocks?.find((each) => buttonsOf([each]).includes(pressed));
  const owner = workspace.apps.find(({ botUser }) => botUser === message.user) ?? app;
  const payload = {
    type: 'block_actions',
    user: { id: from.id, username: from.name, name: from.name, team_id: owner.team },
    team: { id: owner.team, domain: 'scripted' },
    channel: { id: channel.id, name: channel.kind === 'im' ? 'directmessage' : channel.name },
    container: { type: 'message', message_ts: ts, channel_id: channel.id, is_ephemeral: false },
    trigger_id: workspace.newId('trigger-'),
    message,
    actions: [{ block_id: textOf(block?.block_id) || 'b1', action_ts: workspace.newTs(), ...pressed }],
  };
  const sender = stage.senders.get(owner);
  for (const each of sender === undefined ? senders : [sender]) each.press(channel, payload);
}

export function setChannel({ workspace }: Stage, input: z.input<typeof channelSchema>): Json {
  const { messages: _messages, ...channel } = workspace.openChannel(channelSchema.parse(input));
  return { ...channel };
}

/**
 * The channel, the app whose direct chat it would be, and the senders to the apps that see the
 * channel.
 */
function look(
  { workspace, senders }: Stage,
  { app: id, from, channel }: { app?: string; from: Person; channel?: string },
) {
  const app = workspace.app(id);
  workspace.people.set(from.id, { ...workspace.people.get(from.id), ...from });
  // prettier-ignore
  const found = channel === undefined ? workspace.directChat(app, from.id) : (workspace.channels.get(channel) ?? workspace.openChannel({ id: channel }));
  return { app, workspace, channel: found, senders: seeing(senders, found, app) };
}

/** The senders to the apps that see a channel: of a direct chat only to its own. */
export function seeing(senders: Stage['senders'], channel: Channel, app: App): EventSender[] {
  return [...senders].filter(([each]) => channel.kind !== 'im' || each === app).map(([, sender]) => sender);
}

function messageOf(channel: Channel, ts: string): Message {
  const message = channel.messages.get(ts);
  if (message === undefined) throw new Error(`There is no message ${ts} in channel ${channel.id}`);
  return message;
}
