// The session that a chat belongs to, as a key that src/core/session-key.ts reads:
// `agent:<agent>:<channel>:[<account>:]direct|group|channel:<peer>`, with `:thread:<id>` for a
// thread. Keys must not change while a conversation lives, so they never depend on how many
// accounts there are.
import type { SessionKey } from '../../../core/ids.ts';
import type { ChatType } from '../../../core/inbound.ts';
import { canonicalSessionKey } from '../../../core/session-key.ts';

interface KeySettings {
  session: { dmScope: 'main' | 'peer' | 'channel-peer' | 'account-channel-peer' };
  channels: { platforms: Readonly<Record<string, { adapter?: string }>> };
}

/** A message in the chat of an account. */
interface KeyedChat {
  agent: string;
  channel: string;
  accountId: string;
  message: { place: { chatId: string; threadId?: string; chatType: ChatType }; sender: { id: string } };
}

/**
 * The limit of keys in requests without their `agent:main:`, so that it fits every agent.
 */
const KEY_CHARS_MAX = 200;

/** Segments that say what a session is for; an id that is one of them is written otherwise. */
const RESERVED = /^(?:agent|main|direct|dm|group|channel|thread|topic|subagent|cron|batch|try|heartbeat)$/;

/** Platforms whose ids are upper case: their keys are the same in lower case. */
const UPPER_CASE_ADAPTERS: readonly (string | undefined)[] = ['slack'];

/**
 * The key of the session of a message: that of its person in direct chats, as far as
 * `session.dmScope` says, otherwise that of its chat. Different chats have different keys. `digest`
 * returns at most 64 characters of 0-9 a-f for a text; it stands for what a key is too short for.
 */
export function sessionKeyOf(
  { session: { dmScope }, channels }: KeySettings,
  { agent, channel, accountId, message: { place, sender } }: KeyedChat,
  digest: (text: string) => string,
): SessionKey {
  const isDirect = place.chatType === 'direct';
  if (isDirect && dmScope === 'main') return canonicalSessionKey(`agent:${agent}:main`);
  const isFolded = UPPER_CASE_ADAPTERS.includes(channels.platforms[channel]?.adapter);
  const idOf = (id: string) => encodeSegment(isFolded ? swapCase(id) : id);
  if (isDirect && dmScope === 'peer') return keyOf(agent, 'direct', ['direct', encodeSegment(sender.id)], digest);
  const account = isDirect && dmScope === 'account-channel-peer' ? [encodeSegment(accountId)] : [];
  const thread = place.threadId === undefined ? [] : ['thread', idOf(place.threadId)];
  const peer = idOf(isDirect ? sender.id : place.chatId);
  return keyOf(agent, place.chatType, [encodeSegment(channel), ...account, place.chatType, peer, ...thread], digest);
}

function keyOf(agent: string, type: ChatType, segments: string[], digest: (text: string) => string): SessionKey {
  const chat = segments.join(':');
  const key = `agent:${agent}:${chat}`;
  return canonicalSessionKey(key.length <= KEY_CHARS_MAX ? key : `agent:${agent}:${type}:@-${digest(chat)}`);
}

/**
 * An id with the characters of a key, all in lower case, without ":". `@` marks what is written
 * otherwise: `@a` is "A", `@@` is "@", and `@47@` the character with that code point. It can be
 * reversed, so different ids never have the same form.
 */
function encodeSegment(id: string): string {
  const encoded = id.replaceAll(/[^a-z0-9_.+-]/gu, (character) => {
    if (/[A-Z@]/.test(character)) return `@${character.toLowerCase()}`;
    return encodeCharacter(character);
  });
  return RESERVED.test(encoded) ? encodeCharacter(encoded.charAt(0)) + encoded.slice(1) : encoded;
}

function encodeCharacter(character: string): string {
  return `@${character.codePointAt(0) ?? 0}@`;
}

function swapCase(id: string): string {
  return id.replaceAll(/[A-Za-z]/g, (letter) =>
    letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase(),
  );
}
