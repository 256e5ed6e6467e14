// What decides which words of an answer are a reply: the same for what is shown while it comes and for what the turn is settled with.
import type { ReplyRules } from '../core/next-steps.ts';
import type { WaitingInput } from '../store/claim-session.ts';
import type { TurnContext } from './context.ts';
import type { RunningTurn } from './running-turn.ts';

/** The rules of a turn's answers. */
export function replyRulesOf(
  { config }: Pick<TurnContext, 'config'>,
  { agent, inputs }: Pick<RunningTurn, 'agent' | 'inputs'>,
): ReplyRules {
  return {
    hasReasoningTags: config.reasoning.enabled,
    heartbeatAckCharsMax: answersOnlyPoll(inputs) ? agent.heartbeat.ackMaxChars : null,
  };
}

/** True for a turn that answers a heartbeat and nobody else: a message that reached it wants an answer like any other. */
export function answersOnlyPoll(inputs: readonly Pick<WaitingInput, 'kind'>[]): boolean {
  return inputs.length > 0 && inputs.every(({ kind }) => kind === 'heartbeat');
}
