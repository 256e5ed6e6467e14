// Checks before every model call whether its request leaves the reserve free, and compacts the
// transcript when it does not: as a step of the turn that is recorded like any other. A failed
// compaction costs only its time: the turn continues with the unchanged transcript. Only a request
// that the provider refuses for its length, and that cannot be made shorter, ends the turn. A turn
// that only compacts its session, on request, is claimed, recorded, stopped and resumed like any
// other turn, but it has no prompt and adds only the summary to the transcript.
import { classifyFailure } from '../../../core/failure.ts';
import type { ModelError } from '../../../model/model.ts';
import type { TurnContext } from '../context.ts';
import { compactTranscript, NOTHING_TO_COMPACT, planFor } from './compact-transcript.ts';
import { isFull, pickLogIds, type OpenedTurn } from '../opened-turn.ts';
import { TurnFailed } from '../turn-stop.ts';

/** Why the transcript is compacted before the next call; null: it is not. */
export function reasonToCompact(turn: OpenedTurn) {
  const { interruptedCompaction, hasGivenUpCompacting } = turn.journal.attempt;
  return interruptedCompaction ?? (!hasGivenUpCompacting && isFull(turn) ? 'threshold' : null);
}

/**
 * Makes room for the next call when it needs some. Throws `TurnStopped` when the turn stops
 * meanwhile.
 */
export async function compactWhenFull(context: TurnContext, turn: OpenedTurn): Promise<void> {
  const reason = reasonToCompact(turn);
  turn.journal.note({ interruptedCompaction: null });
  if (reason === null) return;
  const outcome = await compactTranscript(context, turn, { reason, instructions: null });
  // By the next step there may be more to compact.
  if (outcome.kind === 'compacted' || outcome.code === NOTHING_TO_COMPACT) return;
  // Any other fault would fail the next step as well.
  turn.journal.note({ hasGivenUpCompacting: true });
  const { code, message } = outcome;
  context.logger.warn({ ...pickLogIds(context, turn), code }, `Turn continues without a compaction: ${message}`);
}

/**
 * Makes room after the provider refused a request for its length. Throws `TurnFailed` (`blocked`)
 * when there is no way to.
 */
export async function compactAfterOverflow(context: TurnContext, turn: OpenedTurn, refusal: ModelError): Promise<void> {
  const outcome = await compactTranscript(context, turn, { reason: 'overflow', instructions: null });
  if (outcome.kind === 'unchanged') throw tooLongFailure(refusal, `and it could not be compacted: ${outcome.message}`);
}

/** True when there is something that a refused request could do without. */
export function canCompact(turn: OpenedTurn): boolean {
  return planFor(turn, { reason: 'overflow' }, 0) !== null;
}

const NOT_COMPACTED = 'and it could not be compacted: nothing in it can be compacted.';
export const STILL_TOO_LONG = 'and what a compaction has left of it does not fit either.';

/** The end of a turn whose request cannot be made short enough. */
export function tooLongFailure(refusal: ModelError, why = NOT_COMPACTED): TurnFailed {
  const { kind, code } = classifyFailure(refusal);
  // Its size in bytes is refused, whatever the model could read.
  if (kind !== 'overflow') return new TurnFailed(code, refusal.message, refusal);
  const message =
    `The conversation does not fit the context of the model (${refusal.message}), ${why} ` +
    'Send a shorter message, reset the session, or choose a model with a larger context.';
  return new TurnFailed('blocked', message, refusal);
}

/**
 * Compacts, and resolves with the reply. Throws `TurnFailed` when the compaction failed,
 * `TurnStopped` when it stops.
 */
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
