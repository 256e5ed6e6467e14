// A turn that only compacts its session, on request. It is claimed, recorded, stopped and resumed like any other turn, but it has
// no prompt and adds only the summary to the transcript.
import type { FinishResult } from '../../store/journal/finish-turn.ts';
import { compactTranscript, NOTHING_TO_COMPACT } from './compact-transcript.ts';
import type { TurnContext } from '../context.ts';
import { finishCompacted } from '../end/end-turn.ts';
import type { RunningTurn } from '../running-turn.ts';
import { TurnFailed } from '../turn-end.ts';

/** Compacts and ends the turn. Throws `TurnFailed` when the compaction failed, `TurnStopped` when it stops. */
export async function runCompactionTurn(context: TurnContext, turn: RunningTurn): Promise<FinishResult> {
  const { text } = (turn.inputs[0]?.body ?? {}) as { text?: unknown };
  // A chat command contains its text as it was written.
  const wanted =
    typeof text === 'string'
      ? text
          .trim()
          .replace(/^\/compact(?=\s|$)/i, '')
          .trim()
      : '';
  const instructions = wanted === '' ? null : wanted;
  const outcome = await compactTranscript(context, turn, { reason: 'manual', instructions });
  turn.held.assertHeld();
  if (outcome.kind === 'compacted') {
    return await finishCompacted(
      context,
      turn,
      `Compacted: about ${outcome.tokensBefore} tokens became ${outcome.tokensAfter}.`,
    );
  }
  if (outcome.code === NOTHING_TO_COMPACT) return await finishCompacted(context, turn, outcome.message);
  throw new TurnFailed(outcome.code, outcome.message);
}
