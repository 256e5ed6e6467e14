// A turn that only compacts its session, on request. It is claimed, recorded, stopped and resumed like any other turn, but it has
// no prompt and adds only the summary to the transcript.
import { compactTranscript, NOTHING_TO_COMPACT } from './compact-transcript.ts';
import type { TurnContext } from '../context.ts';
import type { OpenedTurn } from '../opened-turn.ts';
import { TurnFailed } from '../turn-end.ts';

/** Compacts, and resolves with the reply. Throws `TurnFailed` when the compaction failed, `TurnStopped` when it stops. */
export async function compactOnRequest(context: TurnContext, turn: OpenedTurn): Promise<string> {
  const { text } = (turn.journal.at.inputs[0]?.body ?? {}) as { text?: unknown };
  // A chat command contains its text as it was written.
  const command = typeof text === 'string' ? text.trim() : '';
  const wanted = command.replace(/^\/compact(?:@\w+)?(?=\s|$)/i, '').trim();
  const instructions = wanted === '' ? null : wanted;
  const outcome = await compactTranscript(context, turn, { reason: 'manual', instructions });
  if (outcome.kind === 'compacted') {
    return `Compacted: about ${outcome.tokensBefore} tokens became ${outcome.tokensAfter}.`;
  }
  if (outcome.code === NOTHING_TO_COMPACT) return outcome.message;
  throw new TurnFailed(outcome.code, outcome.message);
}
