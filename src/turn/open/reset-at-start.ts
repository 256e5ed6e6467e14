// A message that begins a new session (`/new`, `/reset`) waits in the inbox like any other. When its turn starts, the current transcript
// ends, and the turn is the first of the next one. The same applies to a message after the hour or the idle time of a reset policy.
import { agentOf, isAgent } from '../../config.ts';
import { isReset, mayCommand } from '../../core/chat-command.ts';
import type { InboundMessage } from '../../core/inbound.ts';
import { viewAfterReset } from '../../core/view.ts';
import { resetDue } from '../../core/reset-policy.ts';
import type { SessionClaim, WaitingInput } from '../../store/claim-session.ts';
import type { ClaimedSession } from '../../store/claimed-session.ts';
import { readLastTalk } from '../../store/last-talk.ts';
import { resetClaimed } from '../../store/reset-claimed.ts';
import type { TurnContext } from '../context.ts';
import { lockLost, type HeldSession } from '../held-session.ts';

/** True for a message of an authorised sender that begins a new session. */
export function requestsReset({ config }: TurnContext, input: Pick<WaitingInput, 'kind' | 'body'>): boolean {
  if (input.kind !== 'message') return false;
  const message = input.body as InboundMessage;
  return isReset(message.text, config.session.resetTriggers) && mayCommand(message, config.owner.ids);
}

/** Why the reset policy ends the transcript before this message; null: it continues. Reads nothing where there is no policy. */
export async function staleReason(
  context: TurnContext,
  { id: sessionId, agentId }: Pick<ClaimedSession, 'id' | 'agentId'>,
  input: Pick<WaitingInput, 'kind' | 'seq' | 'receivedAt'>,
): Promise<'daily' | 'idle' | null> {
  const { config, database } = context;
  const policy = config.session.reset;
  if (policy.mode === 'none' || input.kind !== 'message') return null;
  const lastTalkMs = await readLastTalk(database, { sessionId, beforeSeq: input.seq });
  const timeZone = isAgent(config, agentId)
    ? agentOf(config, agentId).userTimezone
    : config.agents.defaults.userTimezone;
  return resetDue({ policy, timeZone, lastTalkMs, nowMs: input.receivedAt });
}

/** The claim after its transcript has ended. Throws `TurnStopped` when the lock is lost. */
export async function resetTranscript<Claim extends SessionClaim>(
  context: TurnContext,
  claim: Claim,
  held: HeldSession,
  reason: 'message' | 'daily' | 'idle' | 'cron',
): Promise<Claim> {
  const { session } = claim;
  held.assertHeld();
  const { id: sessionId, epoch, transcriptNo, transcriptVersion } = session;
  if (!(await resetClaimed(context.database, { sessionId, epoch, transcriptNo, reason }))) throw lockLost(held);
  return {
    ...claim,
    entries: [],
    isWhole: true,
    session: {
      ...session,
      transcriptNo: transcriptNo + 1,
      transcriptVersion: transcriptVersion + 1,
      leafSeq: null,
      wasAborted: false,
      view: viewAfterReset(session.view),
      contextTokens: 0,
    },
  };
}
