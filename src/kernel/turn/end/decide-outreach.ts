// What the end of a turn sends to others: effects for other sessions, and deliveries.
import { boundedResult, isAnnounceSkip, type RunStatus } from '../../../core/subagents.ts';
import {
  answerExchange,
  readExchange,
  exchangeRoute,
  failExchange,
  type ExchangeAnswer,
  type SessionMessage,
} from '../../../core/session-message.ts';
import { optionsOfInputs, sharedOptions, withOptions } from '../../../core/input-options.ts';
import type { MessageId, SessionId, DeliveryId } from '../../../core/ids.ts';
import { findLastAnswer, findLastOutput, type OutputEntry } from '../../rules/session-history.ts';
import type { AnswerOutcome, ReplyTarget } from '../../../core/reply.ts';
import type { RunResult } from '../../rules/family.ts';
import { storableText } from '../../../core/text.ts';
import { newId } from '../../../ids.ts';
import type { TurnEffect } from '../../effects/turn-effects.ts';
import type { TurnContext } from '../context.ts';
import type { OpenedTurn } from '../opened-turn.ts';
import { channelOfUrl } from '../../../core/channel-address.ts';
import { failureText, type DeliveryPayload } from '../../../core/delivery-payload.ts';
import type { InboundMessage, OwnInput } from '../../../core/inbound.ts';
import {
  toAddress,
  addressOfRoute,
  type ReplyAddress,
  buildChatRoute,
  isOwnChat,
  saysTheSame,
  type MessageAddress,
} from '../../rules/message-route.ts';
import { listToolUses } from '../../../core/content.ts';
import { hasEffects } from '../../../core/session-key.ts';
import type { WaitingInput } from '../../sessions/claim-session.ts';
import type { NewDelivery } from '../journal/journal.ts';
import { MESSAGE_TOOL } from '../../../tools/message-tool.ts';

// What the end of a turn means for other sessions: a subagent's run ends and is announced to the
// session above it; an answer within an exchange is forwarded to the other side. Decided here, from
// values, as effects that the end of the turn stores.

/** What a turn's end means for other sessions. */
type TurnEffects = readonly TurnEffect[];

/** A decided answer, and what of it leaves for the session's own user. */
export interface DecidedAnswer {
  outcome: AnswerOutcome;
  /** The text that is delivered; null: none. */
  delivered: string | null;
  outreach: TurnEffects;
}

/** Settles an answer that was given, or withheld on purpose. */
export function settleAnswer(
  context: TurnContext,
  turn: OpenedTurn,
  { outcome: decided, entries }: { outcome: AnswerOutcome; entries: readonly OutputEntry[] },
): DecidedAnswer {
  const isSuppressed = worksOnRun(turn) && decided.reply !== null && isAnnounceSkip(decided.reply);
  const outcome = isSuppressed ? silenced(decided) : decided;
  const said =
    outcome.reply === null ? findLastAnswer([...turn.transcript.entries, ...entries]) : boundedResult(outcome.reply);
  const run = buildRunEnd(context, turn, {
    status: 'ok',
    result: said,
    error: null,
    isSuppressed,
  });
  const exchange = readExchange(turn.journal.at.inputs[0]?.body);
  if (exchange === null) return { outcome, delivered: worksOnRun(turn) ? null : outcome.reply, outreach: run };
  const { next, ownReply } = answerExchange(exchange, outcome.reply);
  return {
    outcome: next === null && ownReply === null ? silenced(outcome) : outcome,
    delivered: ownReply,
    outreach: [...run, ...listMessages(turn, next)],
  };
}

/** What other sessions receive about a turn that did not succeed. */
export function settleFault(
  context: TurnContext,
  turn: OpenedTurn,
  { status, message }: { status: Exclude<RunStatus, 'ok'>; message: string },
): TurnEffects {
  if (turn.kind === 'compaction') return settleCompacted(context, turn);
  const result = findLastOutput(turn.transcript.entries);
  const run = buildRunEnd(context, turn, { status, result, error: message, isSuppressed: false });
  const exchange = readExchange(turn.journal.at.inputs[0]?.body);
  return exchange === null ? run : [...run, ...listMessages(turn, failExchange(exchange, message))];
}

/**
 * What other sessions receive about a turn that only compacted its session: a run that could not
 * end during it ends now, as it would have.
 */
export function settleCompacted(context: TurnContext, turn: OpenedTurn): TurnEffects {
  const result = findLastAnswer(turn.transcript.entries);
  return buildRunEnd(context, turn, { status: 'ok', result, error: null, isSuppressed: false });
}

/** True for a turn of a subagent that works on its task. */
function worksOnRun({ session }: OpenedTurn): boolean {
  return session.runId !== null;
}

function buildRunEnd(
  { config }: TurnContext,
  turn: OpenedTurn,
  { result, error, ...end }: Omit<RunResult, 'modes'>,
): TurnEffects {
  const { runId } = turn.session;
  if (runId === null) return [];
  const { mode, byChannel } = config.messages.queue;
  const modes = { mode, byChannel };
  const stored = { ...end, result: storable(result), error: storable(error), modes };
  return [{ kind: 'run-ended', turnId: turn.id, runId, end: stored }];
}

function listMessages(turn: OpenedTurn, next: ExchangeAnswer['next']): TurnEffects {
  if (next === null) return [];
  const { exchange, target, text } = next;
  const { deliver } = exchange.origin;
  const body: SessionMessage = {
    text: storableText(text),
    provenance: { kind: 'inter_session', sourceSession: turn.session.key, sourceTool: 'sessions_send' },
    exchange,
    ...withOptions(sharedOptions(optionsOfInputs(turn.journal.at.inputs))),
    ...(target.id === exchange.from.id && deliver !== undefined ? { deliver } : {}),
  };
  const message = {
    id: newId<MessageId>(),
    // It was read from a row of sessions when the exchange began.
    sessionId: target.id as SessionId,
    body: JSON.stringify(body),
    route: exchangeRoute(exchange),
    causeKey: `exchange:${exchange.id}:${exchange.turn}`,
  };
  return [{ kind: 'message-sent', turnId: turn.id, message }];
}

function silenced(outcome: AnswerOutcome): AnswerOutcome {
  return { ...outcome, status: 'silent', messageStatus: 'silent', reply: null };
}

function storable(text: string | null): string | null {
  return text === null ? null : storableText(text);
}

// What the end of a turn puts into the outbox: its reply, the news that it failed, or the answer to
// a chat command. It is sent to the address of the last of its messages, else to that of the
// configuration, else nowhere. Written by the statement that ends the turn.

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
 * The delivery of a failure. None for a poll, which is repeated, and none for a turn that another
 * session waits for: that session is notified by an announcement or by the end of the exchange.
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
 * True when the `message` tool has sent the reply to the chat that it answers. Read from the
 * transcript, so a worker that resumes the turn knows it too. Of turns that answer no message it is
 * not known, so they send it.
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
