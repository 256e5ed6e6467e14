// The result of a heartbeat poll. A poll that found nothing leaves no trace in what the model sees:
// its entries are pruned in the statement that ends its turn (G15: the rows stay). A recent alert
// is not sent again.
import { createHash } from 'node:crypto';
import { alertsAfter } from '../../core/heartbeat.ts';
import type { TurnEffect } from '../../kernel/effects/turn-effects.ts';
import type { PollResult } from './store/answer-poll.ts';
import type { TurnContext, TurnFeature } from '../../kernel/turn/context.ts';
import type { OpenedTurn } from '../../kernel/turn/opened-turn.ts';
import { answersOnlyPoll } from '../../kernel/turn/loop/judge-answer.ts';
import type { EndDecision, TurnWrite } from '../../kernel/turn/position.ts';

/** The result of a heartbeat whose turn ended this way, unless its answer says more. */
const POLL_RESULTS = {
  completed: 'alert',
  silent: 'acknowledged',
  failed: 'failed',
  aborted: 'failed',
  timedOut: 'failed',
} as const;

export const pollsInTurns = (): TurnFeature => ({
  judge: endPoll,
  effects(turn, { status, outreach = [] }) {
    const isKnown = turn.kind !== 'heartbeat' || outreach.some(({ kind }) => kind === 'poll-answered');
    return isKnown ? [] : [pollAnswered(turn, POLL_RESULTS[status])];
  },
});

const pollAnswered = ({ id: turnId }: OpenedTurn, result: PollResult): TurnEffect => ({
  kind: 'poll-answered',
  turnId,
  result,
});

/**
 * Ends a poll without an alert: its text is not sent, and what is pruned is stored where no request
 * shows it. Null: it is no such poll.
 */
function endPoll(
  context: TurnContext,
  turn: OpenedTurn,
  { write, reply }: { write: TurnWrite; reply: string | null },
): EndDecision | null {
  const result = answersOnlyPoll(turn.journal.at.inputs) ? judgePoll(context, turn, reply) : 'alert';
  if (result === 'alert') return null;
  const isHidden = isOnlyPoll(turn);
  return {
    write: {
      ...write,
      entries: isHidden ? write.entries.map((entry) => ({ ...entry, isPruned: true })) : write.entries,
      events: write.events.filter(({ type }) => type !== 'model.delta' && type !== 'model.reasoning'),
    },
    result: {
      status: 'silent',
      messageStatus: 'silent',
      reply: null,
      error: null,
      hides: isHidden ? 'poll' : null,
      outreach: [pollAnswered(turn, result)],
    },
  };
}

/**
 * Judges by the text that would be sent; null: it was acknowledged. An alert that is sent is stored
 * with the session.
 */
function judgePoll(context: TurnContext, turn: OpenedTurn, text: string | null): PollResult {
  if (text === null) return 'acknowledged';
  const sha256 = createHash('sha256').update(text).digest('hex');
  const { lastAlert, ...view } = turn.journal.attempt.sessionView;
  const sent = view.alerts ?? (lastAlert === undefined ? [] : [lastAlert]);
  const alert = { sha256, atMs: context.clock.now().getTime() };
  const alerts = alertsAfter(sent, alert, turn.agent.heartbeat.dedupeHours);
  if (alerts === null) return 'duplicate';
  turn.journal.note({ sessionView: { ...view, alerts } });
  return 'alert';
}

/**
 * False when a person's message reached the turn, or older entries were compacted in it: that must
 * stay.
 */
function isOnlyPoll(turn: OpenedTurn): boolean {
  const { promptSeq } = turn.journal.attempt.requests.rules;
  return turn.transcript.entries.every(({ seq, kind }) => seq < promptSeq || (kind !== 'steer' && kind !== 'summary'));
}
