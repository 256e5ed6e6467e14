// `/approve <id>` and `/deny <id> [why]`: from senders whom the configuration names, and from no
// other.
import { channelOf, isOwner, type InboundMessage } from '../../core/inbound.ts';
import { isUuid } from '../../core/ids.ts';
import type { Config } from '../../config.ts';
import type { ChatWord, Service } from '../../kernel/use-cases/service.ts';
import { decideRequest } from './use-cases.ts';

/** Only what the platform vouches for counts: the id or the phone number of the sender. */
function mayGive({ tools: { approvals } }: Config, message: InboundMessage): boolean {
  return isOwner(message, approvals.approvers);
}

async function decide(service: Service, message: InboundMessage, status: 'approved' | 'denied'): Promise<string> {
  const [word = '', id = '', ...why] = message.text.trim().split(/\s+/);
  if (!isUuid(id)) return `Write ${word} and the id of the request. "${id}" is none.`;
  const by = `${channelOf(message)}:${message.sender?.id ?? message.sender?.e164 ?? ''}`;
  const result = await decideRequest(service, { id, status, by, note: why.join(' ') });
  if (result.kind === 'unknown') return `There is no request ${id}.`;
  if (result.kind === 'decided') return `The request ${id} is ${status}.`;
  const { approval } = result;
  return `The request ${id} is ${approval.status}${approval.decidedBy === null ? '' : ` by ${approval.decidedBy}`} already.`;
}

export const CHAT_WORDS: readonly ChatWord[] = [
  {
    word: '/approve',
    help: '/approve <id>: lets a tool call run that waits for an approval',
    mayGive,
    carryOut: (service, message) => decide(service, message, 'approved'),
  },
  {
    word: '/deny',
    help: '/deny <id> [why]: denies it',
    mayGive,
    carryOut: (service, message) => decide(service, message, 'denied'),
  },
];
