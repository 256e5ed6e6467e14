// The rules that decide which text of an answer is a reply, both in the live stream and in the reply with which the turn is settled.
import type { ReplyRules } from '../../core/next-steps.ts';
import { toReasoning } from '../../core/reasoning-tags.ts';
import type { WaitingInput } from '../sessions/claim-session.ts';
import type { TurnContext } from './context.ts';
import type { OpenedTurn } from './opened-turn.ts';

export function buildReplyRules(
  { config }: Pick<TurnContext, 'config'>,
  { agent, journal }: Pick<OpenedTurn, 'agent' | 'journal'>,
): ReplyRules {
  return {
    hasReasoningTags: config.reasoning.enabled,
    heartbeatAckCharsMax: answersOnlyPoll(journal.at.inputs) ? agent.heartbeat.ackMaxChars : null,
  };
}

/** True for a turn that answers only a heartbeat: a message that joined it needs an answer like any other. */
export function answersOnlyPoll(inputs: readonly Pick<WaitingInput, 'kind'>[]): boolean {
  return inputs.length > 0 && inputs.every(({ kind }) => kind === 'heartbeat');
}

/** True for a turn whose live events show what its model thinks. Polls leave no trace, so theirs do not. */
export function showsReasoning({ session, journal }: Pick<OpenedTurn, 'session' | 'journal'>): boolean {
  return toReasoning(session.reasoning) === 'stream' && !answersOnlyPoll(journal.at.inputs);
}

/** True for a turn whose reply begins with what its model thought. An alert has its own form, and a subagent answers its parent. */
export function repliesWithReasoning({ session, journal }: Pick<OpenedTurn, 'session' | 'journal'>): boolean {
  return toReasoning(session.reasoning) === 'on' && session.kind !== 'subagent' && !answersOnlyPoll(journal.at.inputs);
}
