// Who may speak to an agent. Only what the platform vouches for counts: the ids of the sender and of the chat, compared character by character.
// Names, user names, titles, texts and files are chosen by people, so nothing here reads them.
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
}

/** Where a message goes. `context`: it is kept for the next message that is for the agent. `pairing`: its sender may ask to be paired. */
export type Access =
  | { to: 'agent' }
  | { to: 'context' }
  | { to: 'pairing' }
  | {
      to: 'ignored';
      why: 'own_message' | 'other_bot' | 'dm_off' | 'dm_not_allowed' | 'groups_off' | 'group_not_allowed';
    };

/** Decides for one message. Messages of other bots are for the agent only if `allowFrom` has the bot and they are meant for this one: so loops end. */
export function decideAccess(settings: AccessSettings, message: Spoken, facts: AccessFacts): Access {
  if (facts.isOwnBot) return { to: 'ignored', why: 'own_message' };
  return message.place.chatType === 'direct' ? decideDirect(settings, message, facts) : decideGroup(settings, message);
}

function decideDirect(
  { dm, allowFrom }: AccessSettings,
  { sender }: Spoken,
  { channel, ownerIds, isPaired }: AccessFacts,
): Access {
  if (dm === 'off') return { to: 'ignored', why: 'dm_off' };
  const isAllowed = allowFrom.includes(sender.id);
  if (isAllowed) return { to: 'agent' };
  if (sender.isBot) return { to: 'ignored', why: 'other_bot' };
  if (dm === 'open' || isOwner({ text: '', channel, sender }, ownerIds)) return { to: 'agent' };
  if (dm === 'allowlist') return { to: 'ignored', why: 'dm_not_allowed' };
  return { to: isPaired ? 'agent' : 'pairing' };
}

function decideGroup(
  { groups, allowFrom, groupAllow, requireMention }: AccessSettings,
  { place, sender, isForBot = true }: Spoken,
): Access {
  if (groups === 'off') return { to: 'ignored', why: 'groups_off' };
  if (groups === 'allowlist' && !groupAllow.includes(place.chatId)) return { to: 'ignored', why: 'group_not_allowed' };
  const isMeant = sender.isBot ? isForBot && allowFrom.includes(sender.id) : isForBot || !requireMention;
  return { to: isMeant ? 'agent' : 'context' };
}
