// What kind of prompt a turn's inputs become. Inputs of different kinds never share a turn.
import type { PromptedKind, WaitingInput } from '../../store/claim-session.ts';

/** The kind of the first input. A compaction says nothing to the model; where a kind is needed all the same, it is a message. */
export function promptedKindOf(inputs: readonly Pick<WaitingInput, 'kind'>[]): PromptedKind {
  const kind = inputs[0]?.kind ?? 'message';
  return kind === 'compaction' ? 'message' : kind;
}
