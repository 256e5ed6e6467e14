// What decides which words of an answer are a reply: the same for what is shown while it comes and for what the turn is settled with.
import type { ReplyRules } from '../core/next-steps.ts';
import type { TurnContext } from './context.ts';
import type { RunningTurn } from './running-turn.ts';

/** The rules of a turn's answers. */
export function replyRulesOf(
  { config }: Pick<TurnContext, 'config'>,
  { agent, inputs }: Pick<RunningTurn, 'agent' | 'inputs'>,
): ReplyRules {
  return {
    hasReasoningTags: config.reasoning.enabled,
    heartbeatAckCharsMax: inputs[0]?.kind === 'heartbeat' ? agent.heartbeat.ackMaxChars : null,
  };
}
