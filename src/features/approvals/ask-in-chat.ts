// A request for an approval in the chat that its turn answers: what would run, and buttons that
// give the chat commands.
import type { ApprovalView } from '../../contract/approvals.ts';
import { parseChannelUrl } from '../../core/channel-address.ts';
import { channelOf, isDirect, isOfProgram, isOwner, type InboundMessage } from '../../core/inbound.ts';
import type { Config } from '../../config.ts';
import { capabilitiesOf } from '../../config/agent-settings.ts';

/**
 * The address of the chat of the message that a turn answers; null: it is no chat of this service,
 * or no one there may decide.
 */
export function chatToAsk({ tools: { approvals } }: Config, message: InboundMessage | null): string | null {
  const url = message?.deliver?.url;
  if (message === null || url === undefined || isOfProgram(message) || parseChannelUrl(url) === null) return null;
  // Who is in a group is not known; only the presses of approvers count.
  const mayDecide = isDirect(message) ? isOwner(message, approvals.approvers) : approvals.approvers.length > 0;
  return mayDecide ? url : null;
}

/**
 * The text and the buttons of the request. The text has the whole call, because what is approved is
 * the whole call.
 */
export function askText(config: Config, message: InboundMessage, { id, shown, expiresAt }: ApprovalView) {
  const fence = '`'.repeat(Math.max(3, ...Array.from(shown.matchAll(/`+/g), ([ticks]) => ticks.length + 1)));
  const buttons = [
    [
      { text: 'Approve', callback_data: `/approve ${id}` },
      { text: 'Deny', callback_data: `/deny ${id}` },
    ],
  ];
  return {
    text: `This tool call waits for an approval until ${expiresAt}:\n\n${fence}\n${shown}\n${fence}\n\n\`/approve ${id}\` lets it run, \`/deny ${id}\` denies it.`,
    ...(capabilitiesOf(config, channelOf(message)).includes('inlineButtons') ? { buttons } : {}),
  };
}
