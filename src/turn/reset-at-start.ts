// A message that begins a new session (`/new`, `/reset`) takes its turn like any other; when it comes, the transcript before it
// ends, and its turn is the first of the next one.
import { isReset, mayCommand } from '../core/chat-command.ts';
import type { InboundMessage } from '../core/inbound.ts';
import { isFromSession } from '../core/session-message.ts';
import type { Claim, WaitingInput } from '../store/claim-session.ts';
import { resetClaimed } from '../store/reset-claimed.ts';
import type { TurnContext } from './context.ts';
import { lockLost } from './running-turn.ts';
import type { HeldSession } from './held-session.ts';

type Claimed = Extract<Claim, { kind: 'claimed' }>;

/** True for a message with which somebody who may do so begins a new session. */
export function asksForReset({ config }: TurnContext, input: Pick<WaitingInput, 'kind' | 'body'>): boolean {
  if (input.kind !== 'message') return false;
  const message = input.body as InboundMessage;
  if (isFromSession(message)) return false;
  return isReset(message.text, config.session.resetTriggers) && mayCommand(message, config.owner.ids);
}

/** The claim as it is once its transcript has ended. Throws `TurnStopped` when the lock is gone. */
export async function resetTranscript(
  context: TurnContext,
  claim: Claimed,
  held: HeldSession,
  reason: 'message' | 'daily' | 'idle' | 'cron',
): Promise<Claimed> {
  const { session } = claim;
  held.assertHeld();
  const { id: sessionId, epoch, transcriptNo, transcriptVersion } = session;
  if (!(await resetClaimed(context.database, { sessionId, epoch, transcriptNo, reason }))) throw lockLost({ held });
  context.transcripts.take(sessionId);
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
      view: {},
      contextTokens: 0,
    },
  };
}
