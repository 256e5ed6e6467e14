// Who may speak to an agent. Only what the platform vouches for counts: the ids of the sender and
// of the chat, compared character by character. Names, user names, titles, texts and files are
// chosen by people, so nothing here reads them.
import { isOwner, type ChatType } from '../../../core/inbound.ts';

/** The settings of an account that decide. */
interface AccessSettings {
  dm: 'pairing' | 'allowlist' | 'open' | 'off';
  groups: 'allowlist' | 'open' | 'off';
  /** Ids of people, and of bots that may write to this one. */
  allowFrom: readonly string[];
  groupAllow: readonly string[];
  requireMention: boolean;
}

/** What is read of a message, an edit, a reaction or a press. */
interface Spoken {
  place: { chatId: string; chatType: ChatType };
  sender: { id: string; e164?: string; isBot: boolean };
  /** It mentions the bot or answers it; absent (the press of a button of the bot): it is. */
  isForBot?: boolean;
  isMentioned?: boolean;
}

/** What is known beside the message. */
interface AccessFacts {
  /** The key below `channels`, which may stand before an id of an owner: `telegram:42`. */
  channel: string;
  /** `owner.ids` of the configuration. */
  ownerIds: readonly string[];
  /** The sender was paired with this account. */
  isPaired: boolean;
  /** The bot of this account has said it. */
  isOwnBot: boolean;
  /** How much the sender has said to the agent within an hour, if it is a bot. */
  botMessages: number;
}

/** Further messages of a bot in a chat within an hour are for no agent. */
const BOT_MESSAGES_MAX = 20;

/**
 * Where a message goes. `context`: it is kept for the next message that is for the agent.
 * `pairing`: its sender may ask to be paired.
 */
export type Access =
  | { to: 'agent' }
  | { to: 'context' }
  | { to: 'pairing' }
  | {
      to: 'ignored';
      why: 'own_message' | 'other_bot' | 'dm_off' | 'dm_not_allowed' | 'groups_off' | 'group_not_allowed';
    };

/** Decides for one message. */
export function decideAccess(settings: AccessSettings, message: Spoken, facts: AccessFacts): Access {
  if (facts.isOwnBot) return { to: 'ignored', why: 'own_message' };
  return message.place.chatType === 'direct'
    ? decideDirect(settings, message, facts)
    : decideGroup(settings, message, facts);
}

/**
 * Two bots that `allowFrom` has answer each other without end otherwise: an answer names no one,
 * and an agent can name a bot in each of its own.
 */
function isBotHeard(
  { allowFrom }: AccessSettings,
  { sender, isMentioned = false }: Spoken,
  { botMessages }: AccessFacts,
): boolean {
  return allowFrom.includes(sender.id) && isMentioned && botMessages < BOT_MESSAGES_MAX;
}

function decideDirect(settings: AccessSettings, message: Spoken, facts: AccessFacts): Access {
  const { dm, allowFrom } = settings;
  const { sender } = message;
  const { channel, ownerIds, isPaired } = facts;
  if (dm === 'off') return { to: 'ignored', why: 'dm_off' };
  if (sender.isBot) return isBotHeard(settings, message, facts) ? { to: 'agent' } : { to: 'ignored', why: 'other_bot' };
  if (allowFrom.includes(sender.id)) return { to: 'agent' };
  if (dm === 'open' || isOwner({ text: '', channel, sender }, ownerIds)) return { to: 'agent' };
  if (dm === 'allowlist') return { to: 'ignored', why: 'dm_not_allowed' };
  return { to: isPaired ? 'agent' : 'pairing' };
}

function decideGroup(settings: AccessSettings, message: Spoken, facts: AccessFacts): Access {
  const { groups, groupAllow, requireMention } = settings;
  const { place, sender, isForBot = true } = message;
  if (groups === 'off') return { to: 'ignored', why: 'groups_off' };
  if (groups === 'allowlist' && !groupAllow.includes(place.chatId)) return { to: 'ignored', why: 'group_not_allowed' };
  const isMeant = sender.isBot ? isBotHeard(settings, message, facts) : isForBot || !requireMention;
  return { to: isMeant ? 'agent' : 'context' };
}
