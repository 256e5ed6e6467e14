// `/pair <code>`: lets a person write, by the code that the person was sent. From owners, and from
// no other sender.
import { channelOf, isOwner, type InboundMessage } from '../../core/inbound.ts';
import type { ChatWord, Service } from '../../kernel/use-cases/service.ts';
import { decideAboutPairing, isPairingCode } from './pairings.ts';

const WORD = '/pair';

async function pair(service: Service, message: InboundMessage): Promise<string> {
  const [, given = ''] = message.text.trim().split(/\s+/);
  const code = given.toUpperCase();
  if (!isPairingCode(code)) return `Write ${WORD} and the code that the person was sent. "${given}" is none.`;
  const by = `${channelOf(message)}:${message.sender?.id ?? message.sender?.e164 ?? ''}`;
  const result = await decideAboutPairing(service, { code }, { status: 'approved', by });
  if (result.kind === 'unknown') return `No open request has the code ${code}. A code is valid for an hour, and once.`;
  const { channel, accountId, senderId, status } = result.pairing;
  if (result.kind === 'decided') return `${senderId} may write to ${channel}/${accountId} now.`;
  return status === 'expired'
    ? `The code ${code} has expired.`
    : `The request with the code ${code} is ${status} already.`;
}

export const CHAT_WORDS: readonly ChatWord[] = [
  {
    word: WORD,
    help: `${WORD} <code>: lets the person write to the agent who was sent this code`,
    mayGive: ({ owner }, message) => isOwner(message, owner.ids),
    carryOut: pair,
  },
];
