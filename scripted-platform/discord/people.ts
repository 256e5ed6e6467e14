// What people do in the channels of a scripted Discord: they write, edit, delete, react and press
// buttons, and each bot that sees it gets events.
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { Pushes } from '../pushes.ts';
import { INTENT, type Gateway } from './gateway.ts';
// prettier-ignore
import { GUILD, type DiscordBot, type DiscordChannel, type DiscordMessage, type DiscordUser, type Json, type World } from './world.ts';

const id = z.coerce.string<string | number>().regex(/^\d+$/, 'an id of Discord is a number');

const personSchema = z
  .union([id.transform((value) => ({ id: value })), z.looseObject({ id })])
  .describe('a person, or only the id of one')
  .transform((person) => ({ username: `user${person.id}`, global_name: null, bot: false, ...person }) as DiscordUser);

const fileSchema = z.strictObject({
  name: z.string().default('file.txt'),
  type: z.string().default('text/plain').describe('MIME type'),
  base64: z.string().exactOptional(),
  text: z.string().exactOptional(),
});

const where = {
  bot: id.exactOptional().describe('the id of the bot whose direct chat it is; none: the first'),
  from: personSchema.prefault('42'),
  channel: id.exactOptional().describe('the id of a channel or a thread; none: the direct chat with the person'),
};

export const saySchema = z.strictObject({
  ...where,
  text: z.string().default(''),
  replyTo: id.exactOptional().describe('the message that it answers'),
  files: z.array(fileSchema).max(10).default([]),
  embeds: z
    .array(z.looseObject({}))
    .max(10)
    .exactOptional()
    .describe('as Discord sends them: what a bot lays out is `rich`'),
  isLost: z.boolean().default(false).describe('true: no event is sent'),
});
export const editSchema = z.strictObject({ ...where, messageId: id, text: z.string() });
export const removeSchema = z.strictObject({ ...where, messageId: id });
export const reactSchema = z.strictObject({
  ...where,
  messageId: id,
  emoji: z.string(),
  isAdded: z.boolean().default(true),
});
export const pressSchema = z.strictObject({
  ...where,
  messageId: id,
  button: z.string().describe('its data or its label'),
});
export const channelSchema = z.strictObject({
  id,
  name: z.string().exactOptional(),
  parent: id.exactOptional().describe('it is a thread of this channel'),
  isVisible: z.boolean().exactOptional().describe('whether the bots may see it'),
});

export interface DiscordStage {
  world: World;
  gateways: ReadonlyMap<DiscordBot, Gateway>;
  pushes: Pushes;
  /** The address of the server. */
  origin: () => string;
}

export function say(stage: DiscordStage, input: z.input<typeof saySchema>): DiscordMessage {
  const { text, replyTo, files, embeds, isLost, from, ...place } = saySchema.parse(input);
  const { channel, world } = look(stage, { ...place, from });
  const attachments = files.map(({ name, type, base64, text: words = '' }) => {
    const bytes = Buffer.from(base64 ?? words, base64 === undefined ? 'utf8' : 'base64');
    return world.addFile(channel, { name, type, bytes }, stage.origin());
  });
  const message = world.write(channel, from, {
    content: text,
    attachments,
    ...(embeds && { embeds }),
    ...replyOf(channel, replyTo),
  });
  if (!isLost) tellMessage(stage, channel, 'MESSAGE_CREATE', message);
  return message;
}

export function edit(stage: DiscordStage, input: z.input<typeof editSchema>): DiscordMessage {
  const { messageId, text, ...place } = editSchema.parse(input);
  const { channel, world } = look(stage, place);
  const message = messageOf(channel, messageId);
  Object.assign(message, { content: text, edited_timestamp: new Date().toISOString(), ...world.mentionsOf(text) });
  tellMessage(stage, channel, 'MESSAGE_UPDATE', message);
  return message;
}

export function remove(stage: DiscordStage, input: z.input<typeof removeSchema>): void {
  const { messageId, ...place } = removeSchema.parse(input);
  const { channel } = look(stage, place);
  channel.messages.delete(messageOf(channel, messageId).id);
  tell(stage, channel, 'MESSAGE_DELETE', { id: messageId, channel_id: channel.id }, ['messages', 'direct']);
}

export function react(stage: DiscordStage, input: z.input<typeof reactSchema>): void {
  const { messageId, emoji, isAdded, from, ...place } = reactSchema.parse(input);
  const { channel } = look(stage, { ...place, from });
  const message = messageOf(channel, messageId);
  setReaction(message, { emoji, user: from.id, isAdded });
  const data = {
    user_id: from.id,
    channel_id: channel.id,
    message_id: messageId,
    emoji: emojiOf(emoji),
    type: 0,
    burst: false,
  };
  const member = isAdded && channel.type !== 1 ? { member: { user: from, nick: null } } : {};
  // prettier-ignore
  tell(stage, channel, `MESSAGE_REACTION_${isAdded ? 'ADD' : 'REMOVE'}`, { ...data, ...member }, ['reactions', 'directReactions']);
}

export function press(stage: DiscordStage, input: z.input<typeof pressSchema>): void {
  const { messageId, button, from, ...place } = pressSchema.parse(input);
  const { channel, world } = look(stage, { ...place, from });
  const message = messageOf(channel, messageId);
  const buttons = message.components.flatMap((row) => (row.components ?? []) as { custom_id: string; label: string }[]);
  const pressed = buttons.find(({ custom_id: value, label }) => [value, label].includes(button));
  if (pressed === undefined) throw new Error(`Message ${messageId} has no button "${button}"`);
  const owner = world.bot(message.author.id);
  const token = randomUUID() + randomUUID();
  const interaction = world.newId();
  world.presses.set(token, { id: interaction, at: Date.now(), isAnswered: false });
  const data = {
    id: interaction,
    application_id: owner.id,
    type: 3,
    token,
    version: 1,
    channel_id: channel.id,
    channel: world.showChannel(channel),
    message: world.show(message, owner),
    data: { component_type: 2, custom_id: pressed.custom_id },
    ...(channel.type === 1 ? { user: from } : { guild_id: GUILD.id, member: { user: from, nick: null } }),
  };
  stage.pushes.add(channel.id, async () => {
    stage.gateways.get(owner)?.dispatch('INTERACTION_CREATE', data, -1);
    return true;
  });
}

export function setChannel({ world }: DiscordStage, input: z.input<typeof channelSchema>): Json {
  return world.showChannel(world.openChannel(channelSchema.parse(input)));
}

/**
 * A message as an event: with the server and the member, which the history leaves out. Texts of
 * others are empty for a bot that may not read them.
 */
export function tellMessage(
  stage: DiscordStage,
  channel: DiscordChannel,
  event: string,
  message: DiscordMessage,
): void {
  tell(stage, channel, event, (bot) => {
    const data = { ...stage.world.show(message, bot), ...(channel.type === 1 ? {} : { member: { nick: null, roles: [] } }) };
    const isShown = channel.type === 1 || message.author.id === bot.id || message.content.includes(`<@${bot.id}>`);
    return { data, hidden: isShown ? data : { ...data, content: '', attachments: [], components: [] } };
  }, ['messages', 'direct']); // prettier-ignore
}

type Told = (bot: DiscordBot) => { data: Json; hidden: Json };

function tell(
  stage: DiscordStage,
  channel: DiscordChannel,
  event: string,
  told: Json | Told,
  [inServer, inDirect]: [keyof typeof INTENT, keyof typeof INTENT],
): void {
  const guild = channel.type === 1 ? {} : { guild_id: GUILD.id };
  for (const [bot, gateway] of stage.gateways) {
    if (channel.type === 1 ? channel.bot !== bot.id : !channel.isVisible) continue;
    const { data, hidden } = typeof told === 'function' ? (told as Told)(bot) : { data: told, hidden: told };
    stage.pushes.add(channel.id, async () => {
      gateway.dispatch(event, { ...data, ...guild }, INTENT[channel.type === 1 ? inDirect : inServer], {
        ...hidden,
        ...guild,
      });
      return true;
    });
  }
}

/** What a message says of the one that it answers. */
export function replyOf(channel: DiscordChannel, replyTo: string | undefined): Json {
  if (replyTo === undefined) return {};
  const referenced = channel.messages.get(replyTo) ?? null;
  return {
    type: 19,
    message_reference: { type: 0, message_id: replyTo, channel_id: channel.id },
    referenced_message: referenced,
  };
}

/** Sets or takes back a reaction. `emoji`: a character, or `name:id` of one of a server. */
export function setReaction(
  { reactions }: DiscordMessage,
  { emoji, user, isAdded }: { emoji: string; user: string; isAdded: boolean },
): void {
  // prettier-ignore
  const wanted = emojiOf(emoji);
  let entry = reactions.find((each) => each.emoji.name === wanted.name && each.emoji.id === wanted.id);
  if (entry === undefined) reactions.push((entry = { emoji: wanted, users: [] }));
  entry.users = [...entry.users.filter((each) => each !== user), ...(isAdded ? [user] : [])];
  if (entry.users.length === 0) reactions.splice(reactions.indexOf(entry), 1);
}

function emojiOf(emoji: string): { id: string | null; name: string } {
  const [, name, custom] = /^(\w+):(\d+)$/.exec(emoji) ?? [];
  return custom === undefined ? { id: null, name: emoji } : { id: custom, name: name ?? '' };
}

function look({ world }: DiscordStage, { bot, from, channel }: { bot?: string; from: DiscordUser; channel?: string }) {
  world.people.set(from.id, { ...world.people.get(from.id), ...from });
  // prettier-ignore
  const found = channel === undefined ? world.directChat(world.bot(bot), from.id) : (world.channels.get(channel) ?? world.openChannel({ id: channel }));
  return { world, channel: found };
}

function messageOf(channel: DiscordChannel, messageId: string): DiscordMessage {
  const message = channel.messages.get(messageId);
  if (message === undefined) throw new Error(`There is no message ${messageId} in channel ${channel.id}`);
  return message;
}
