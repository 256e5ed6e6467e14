// How a turn writes its next request after a refusal that another request would not get: each way once until the model has answered. It is another
// request, so none of it is a retry (G16); when no way is left, the refusal ends the turn.
//
//   unforced     a model that thinks on its own cannot be forced to call the tool of a structured answer: it is only offered
//   reasoning    a server that wants reasoning with each answer of the history gets an empty one, where there is none
//   images       of a request that is too large for the server (413), the images are left out
//   answer       where the server names a window that is smaller than what was known, and the prompt fits into it, a shorter answer is asked for
//   transcript   the transcript of a request that is too long is compacted
import { classifyFailure, isTooLong, MISSING_REASONING, REFUSED_FORCING } from '../../../core/failure.ts';
import { findNamedWindow } from '../../../core/model-traits.ts';
import type { ModelError } from '../../../model/model.ts';
import { canCompact } from '../compact/compact-when-full.ts';
import type { TurnContext } from '../context.ts';
import { leaveOutImages, learnTrait } from '../open/asked-model.ts';
import type { OpenedTurn } from '../opened-turn.ts';
import { fitToWindow, isFull } from '../request-tokens.ts';

export type Rewriting = 'unforced' | 'reasoning' | 'images' | 'answer' | 'transcript';

interface Refusal {
  fault: ModelError;
  /** The ways that were taken since the model has answered. */
  taken: ReadonlySet<Rewriting>;
}

/** How the next request is written, which is noted; a compaction is left to the caller. Null: it would be the same one. */
export function rewriteRequest(context: TurnContext, turn: OpenedTurn, refusal: Refusal): Rewriting | null {
  const { fault } = refusal;
  if (fault.type === REFUSED_FORCING) return learnTrait(turn, { isUnforced: true }) ? 'unforced' : null;
  if (fault.type === MISSING_REASONING) return learnTrait(turn, { wantsReasoning: true }) ? 'reasoning' : null;
  return isTooLong(fault) ? shortenRequest(context, turn, refusal) : null;
}

function shortenRequest({ config }: TurnContext, turn: OpenedTurn, { fault, taken }: Refusal): Rewriting | null {
  const isTooLarge = fault.status === 413 || classifyFailure(fault).code === 'model_request_too_large';
  if (isTooLarge && !taken.has('images') && leaveOutImages(turn)) return 'images';
  const { maxTokens } = fitToWindow(config, turn);
  const named = findNamedWindow(fault.message) ?? Infinity;
  const isLower = named < (turn.journal.attempt.traits.contextTokens ?? Infinity);
  if (isLower) learnTrait(turn, { contextTokens: named });
  const isShorter = isLower && !isFull(turn) && fitToWindow(config, turn).maxTokens < maxTokens;
  if (isShorter && !taken.has('answer')) return 'answer';
  return !taken.has('transcript') && canCompact(turn) ? 'transcript' : null;
}
