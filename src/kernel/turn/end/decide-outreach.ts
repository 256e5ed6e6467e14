// What the end of a turn means for other sessions: a subagent's run ends and is announced to the session above it; an answer within an
// exchange is forwarded to the other side. Decided here, from values, as effects that the end of the turn stores.
import { boundedResult, isAnnounceSkip, type RunStatus } from '../../../core/announcement.ts';
import {
  answerExchange,
  readExchange,
  exchangeRoute,
  failExchange,
  type ExchangeAnswer,
} from '../../../core/exchange.ts';
import { optionsOfInputs, sharedOptions, withOptions } from '../../../core/input-options.ts';
import type { MessageId, SessionId } from '../../../core/ids.ts';
import { findLastAnswer, findLastOutput, type OutputEntry } from '../../../core/last-output.ts';
import type { AnswerOutcome } from '../../../core/next-steps.ts';
import type { RunResult } from '../../rules/family.ts';
import type { SessionMessage } from '../../../core/session-message.ts';
import { storableText } from '../../../core/text.ts';
import { newId } from '../../../ids.ts';
import type { TurnEffect } from '../../effects/turn-effects.ts';
import type { TurnContext } from '../context.ts';
import type { OpenedTurn } from '../opened-turn.ts';

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
 * What other sessions receive about a turn that only compacted its session: a run that could not end during it ends now, as it would
 * have.
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
