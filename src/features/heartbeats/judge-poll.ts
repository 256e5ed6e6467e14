// The result of a heartbeat poll. A poll that found nothing leaves no trace in what the model sees: its entries are pruned in the
// statement that ends its turn (G15: the rows stay). A recent alert is not sent again.
import { createHash } from 'node:crypto';
import { alertsAfter } from '../../core/heartbeat-poll.ts';
import type { TurnEnd } from '../../kernel/turn/journal/turn-end.ts';
import type { TurnContext } from '../../kernel/turn/context.ts';
import type { OpenedTurn } from '../../kernel/turn/opened-turn.ts';
import type { TurnWrite } from '../../kernel/turn/turn-write.ts';

export interface PollVerdict {
  pollResult: 'acknowledged' | 'alert' | 'duplicate';
  hides: Extract<TurnEnd['hides'], 'poll'> | null;
}

/** Judges by the text that would be sent; null: it was acknowledged. An alert that is sent is stored with the session. */
export function judgePoll(context: TurnContext, turn: OpenedTurn, text: string | null): PollVerdict {
  const { sessionView } = turn.journal.attempt;
  const hides = isOnlyPoll(turn) ? 'poll' : null;
  if (text === null) return { pollResult: 'acknowledged', hides };
  const sha256 = createHash('sha256').update(text).digest('hex');
  const { lastAlert, ...view } = sessionView;
  const sent = view.alerts ?? (lastAlert === undefined ? [] : [lastAlert]);
  const alert = { sha256, atMs: context.clock.now().getTime() };
  const alerts = alertsAfter(sent, alert, turn.agent.heartbeat.dedupeHours);
  if (alerts === null) return { pollResult: 'duplicate', hides };
  turn.journal.note({ sessionView: { ...view, alerts } });
  return { pollResult: 'alert', hides: null };
}

/** The last write of a poll without an alert: its text is not sent, and what is pruned is stored where no request shows it. */
export function silentWrite(write: TurnWrite, { hides }: PollVerdict): TurnWrite {
  const { entries, events } = write;
  return {
    ...write,
    entries: hides === 'poll' ? entries.map((entry) => ({ ...entry, isPruned: true })) : entries,
    events: events.filter(({ type }) => type !== 'model.delta' && type !== 'model.reasoning'),
  };
}

/** False when a person's message reached the turn, or older entries were compacted in it: that must stay. */
function isOnlyPoll(turn: OpenedTurn): boolean {
  const { promptSeq } = turn.journal.attempt.requests.rules;
  return turn.transcript.entries.every(({ seq, kind }) => seq < promptSeq || (kind !== 'steer' && kind !== 'summary'));
}
