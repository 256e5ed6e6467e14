// What the end of a turn puts into the outbox: its reply, the news that it failed, or the answer to a chat command. It is sent to the
// address of the last of its messages, else to that of the configuration, else nowhere. Written by the statement that ends the turn.
import { channelOfUrl } from '../../../core/channel-address.ts';
import { failureText, type DeliveryPayload } from '../../../core/delivery-payload.ts';
import { readExchange } from '../../../core/exchange.ts';
import type { DeliveryId } from '../../../core/ids.ts';
import type { InboundMessage, OwnInput } from '../../../core/inbound.ts';
import { toAddress, addressOfRoute, type ReplyAddress } from '../../../core/reply-address.ts';
import type { ReplyTarget } from '../../../core/reply-tags.ts';
import { listToolUses } from '../../../core/content.ts';
import { buildChatRoute, isOwnChat, saysTheSame, type MessageAddress } from '../../../core/message-route.ts';
import { newId } from '../../../ids.ts';
import { hasEffects } from '../../../core/session-key.ts';
import type { WaitingInput } from '../../sessions/claim-session.ts';
import type { NewDelivery } from '../journal/turn-end.ts';
import type { TurnContext } from '../context.ts';
import type { OpenedTurn } from '../opened-turn.ts';
import { MESSAGE_TOOL } from '../../../tools/message-tool.ts';

/** The delivery of a reply, unless a tool has sent the same already. */
export function replyDeliveries(
  context: TurnContext,
  turn: OpenedTurn,
  { text, replyTarget }: { text: string; replyTarget: ReplyTarget | null },
): NewDelivery[] {
  if (wasSentByTool(turn, text)) return [];
  const last = turn.journal.at.inputs.at(-1)?.body as InboundMessage | undefined;
  const answeredId = replyTarget?.kind === 'message' ? replyTarget.id : last?.messageId;
  const quotes = replyTarget === null || answeredId === undefined ? {} : { replyToMessageId: answeredId };
  return buildDeliveries(context, turn, { type: 'reply', text, ...quotes });
}

/**
 * The delivery of a failure. None for a poll, which is repeated, and none for a turn that another session waits for: that session is
 * notified by an announcement or by the end of the exchange.
 */
export function failureDeliveries(
  context: TurnContext,
  turn: OpenedTurn,
  error: { code: string; message: string },
): NewDelivery[] {
  const isInternal = turn.session.runId !== null || readExchange(turn.journal.at.inputs[0]?.body) !== null;
  if (turn.kind === 'heartbeat' || isInternal || isAskedByRequest(turn)) return [];
  return buildDeliveries(context, turn, { type: 'failure', text: failureText(error), error });
}

/** The delivery of the result of a chat command that took its turn in the session. */
export function commandDeliveries(context: TurnContext, turn: OpenedTurn, text: string): NewDelivery[] {
  return isAskedByRequest(turn) ? [] : buildDeliveries(context, turn, { type: 'command', text });
}

/** True for a requested compaction: its answer is in the turn, and no message waits for one. */
function isAskedByRequest({ kind, journal }: OpenedTurn): boolean {
  if (kind !== 'compaction') return false;
  const { text } = (journal.at.inputs[0]?.body ?? {}) as { text?: unknown };
  return typeof text !== 'string' || !/^\s*\/compact(?:@\w+)?(?:\s|$)/i.test(text);
}

function buildDeliveries(
  { config }: TurnContext,
  { id, session, journal }: OpenedTurn,
  said: Pick<DeliveryPayload, 'type' | 'text' | 'error' | 'replyToMessageId'>,
): NewDelivery[] {
  const { webhook } = config.channels;
  const { inputs } = journal.at;
  const last = inputs.at(-1);
  const { deliver } = (last?.body ?? {}) as Pick<OwnInput, 'deliver'>;
  const url = deliver?.url ?? webhook.url;
  if (url === undefined || deliver === null || !hasEffects(session)) return [];
  const payload: DeliveryPayload = {
    sessionKey: session.key,
    turnId: id,
    messageIds: inputs.map((input) => input.id),
    ...said,
    ...(last === undefined ? {} : addressOfInput(last)),
  };
  return [
    { id: newId<DeliveryId>(), channel: channelOfUrl(url), target: { url }, payload, expiresMs: webhook.expiresAfter },
  ];
}

function addressOfInput({ kind, body, route }: WaitingInput): ReplyAddress {
  switch (kind) {
    case 'announcement':
      return addressOfRoute(route);
    case 'cron':
    case 'heartbeat': {
      const { channel } = body as OwnInput;
      return channel === undefined ? {} : { channel, recipient: { channel } };
    }
    case 'message':
    case 'followup':
    case 'batch':
    case 'compaction':
      return toAddress(body as InboundMessage);
    default:
      return kind satisfies never;
  }
}

/**
 * True when the `message` tool has sent the reply to the chat that it answers. Read from the transcript, so a worker that resumes the turn
 * knows it too. Of turns that answer no message it is not known, so they send it.
 */
function wasSentByTool({ journal, transcript }: OpenedTurn, reply: string): boolean {
  const last = journal.at.inputs.at(-1);
  if (last?.kind !== 'message') return false;
  const own = buildChatRoute(last.body as InboundMessage, undefined);
  const { entries } = transcript;
  const failed = new Set<string>();
  for (let at = entries.length - 1; at >= 0; at -= 1) {
    const entry = entries[at];
    if (entry === undefined || entry.seq <= journal.attempt.requests.rules.promptSeq) break;
    for (const block of entry.content) {
      if (block.type === 'tool_result' && block.is_error === true) failed.add(block.tool_use_id);
    }
    const isSent = listToolUses(entry.content).some(({ id, name, input }) => {
      if (name !== MESSAGE_TOOL || failed.has(id)) return false;
      const { message, ...address } = input as MessageAddress & { message?: unknown };
      return typeof message === 'string' && saysTheSame(message, reply) && isOwnChat(address, own);
    });
    if (isSent) return true;
  }
  return false;
}
