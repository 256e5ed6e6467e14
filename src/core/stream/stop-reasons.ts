// Why an answer ended. A reason that stops an answer because of its content, or an unknown one, ends the turn with a text for
// people; tool calls of such an answer are not run.
import { headOf } from '../cut-text.ts';
import type { ModelStopReason } from '../model-request.ts';
import type { DraftAnswer } from './draft-answer.ts';
import { endWithNote, noteRepair } from './draft-answer.ts';

/** The reasons of the Messages API, which a turn knows how to take. */
const KNOWN: ReadonlySet<string> = new Set<ModelStopReason>([
  'end_turn',
  'tool_use',
  'max_tokens',
  'stop_sequence',
  'pause_turn',
  'refusal',
  'model_context_window_exceeded',
]);

/** The same values of other providers, whose models gateways offer in the Messages API's form. */
const SYNONYMS: ReadonlyMap<string, ModelStopReason> = new Map<string, ModelStopReason>([
  ['stop', 'end_turn'],
  ['length', 'max_tokens'],
  ['tool_calls', 'tool_use'],
  ['function_call', 'tool_use'],
]);

/** What providers write when a filter of theirs ends an answer, in lower case without separators. */
const SENSITIVE: ReadonlySet<string> = new Set([
  'sensitive',
  'contentfilter',
  'contentfiltered',
  'contentpolicy',
  'contentblocked',
  'safety',
  'blocklist',
  'prohibitedcontent',
  'recitation',
  'spii',
  'guardrailintervened',
]);

/** Step: an answer that was stopped for what it says, or for a reason that is not known, ends with a note that says so. */
export function takeStopReason(answer: DraftAnswer): DraftAnswer {
  const wire = answer.wireStopReason;
  if (KNOWN.has(wire)) return { ...answer, stopReason: wire as ModelStopReason };
  const synonym = SYNONYMS.get(wire);
  if (synonym !== undefined) return { ...answer, stopReason: synonym };
  const stopReason = stopReasonOf(wire);
  const noted = noteRepair(answer, { step: 'stop-reason', callId: null, was: wire });
  return endWithNote(noted, `[${stopMessage(stopReason, wire)}]`, stopReason);
}

/** The stop reason for a value that the Messages API does not define. */
export function stopReasonOf(wire: string): 'sensitive' | 'unhandled' {
  return SENSITIVE.has(wire.toLowerCase().replace(/[^a-z]/g, '')) ? 'sensitive' : 'unhandled';
}

/** What happened, for a person. */
export function stopMessage(stopReason: 'sensitive' | 'unhandled', wire: string): string {
  const reason = JSON.stringify(headOf(wire, 100));
  return stopReason === 'sensitive'
    ? `The provider stopped this answer because of its content (stop reason ${reason}).`
    : `The provider stopped this answer for a reason that Holdfast does not know (stop reason ${reason}).`;
}
