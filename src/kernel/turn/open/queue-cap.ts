// How much one turn of a session takes: the number of messages that the session or the configuration sets, and what fits into its context.
import type { AgentSettings } from '../../../config.ts';
import { roomTokens } from '../../../compaction/plan-compaction.ts';
import type { TurnRoom } from '../../../core/queue-mode.ts';
import { CHARS_PER_TOKEN } from '../../../core/token-estimate.ts';
import type { ClaimedSession } from '../../sessions/claimed-session.ts';
import type { TurnContext } from '../context.ts';

/** The largest number of messages of one turn, and of messages that join it together. */
export function toCap({ config }: Pick<TurnContext, 'config'>, { queueCap }: Pick<ClaimedSession, 'queueCap'>): number {
  return queueCap ?? config.messages.queue.cap;
}

/** What a turn of this agent takes beside the tokens that its context has already. */
export function computeRoom(
  context: Pick<TurnContext, 'config'>,
  session: Pick<ClaimedSession, 'queueCap'>,
  { contextTokens, compaction }: Pick<AgentSettings, 'contextTokens' | 'compaction'>,
  usedTokens: number,
): TurnRoom {
  const tokens = roomTokens({ contextTokens, ...compaction }, usedTokens);
  return { cap: toCap(context, session), chars: tokens * CHARS_PER_TOKEN };
}
