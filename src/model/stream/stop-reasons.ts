// Why an answer ended. A reason that stops an answer because of its content, or an unknown one, ends the turn with a text for
// people; tool calls of such an answer are not run.
// The times after which a call ends that receives nothing are here, too.
import { cutHead } from '../../core/text.ts';
import type { ModelStopReason } from '../../core/model-request.ts';
import { endWithNote, noteRepair, type DraftAnswer } from './draft-answer.ts';

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

/** The reasons with which a model ends an answer itself, after whole blocks. */
const WHOLE: ReadonlySet<ModelStopReason> = new Set<ModelStopReason>(['end_turn', 'tool_use', 'pause_turn']);

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
  const known = knownStopReason(wire);
  if (known !== null) return { ...answer, stopReason: known };
  const stopReason = classifyStopReason(wire);
  const noted = noteRepair(answer, { step: 'stop-reason', callId: null, was: wire });
  return endWithNote(noted, `[${stopMessage(stopReason, wire)}]`, stopReason);
}

/** True for a reason that may end an answer within a call. */
export function isCut(wire: string): boolean {
  const known = knownStopReason(wire);
  return known !== null && !WHOLE.has(known);
}

function knownStopReason(wire: string): ModelStopReason | null {
  return KNOWN.has(wire) ? (wire as ModelStopReason) : (SYNONYMS.get(wire) ?? null);
}

/** The stop reason for a value that the Messages API does not define. */
export function classifyStopReason(wire: string): 'sensitive' | 'unhandled' {
  return SENSITIVE.has(wire.toLowerCase().replace(/[^a-z]/g, '')) ? 'sensitive' : 'unhandled';
}

/** What happened, for a person. */
export function stopMessage(stopReason: 'sensitive' | 'unhandled', wire: string): string {
  const reason = JSON.stringify(cutHead(wire, 100));
  return stopReason === 'sensitive'
    ? `The provider stopped this answer because of its content (stop reason ${reason}).`
    : `The provider stopped this answer for a reason that Holdfast does not know (stop reason ${reason}).`;
}

// How long a model may send nothing before a call times out, by what started the turn. Every received byte restarts the limit; a
// long answer that keeps arriving is never cut.

/** The limits of an agent, in seconds; 0: off. */
export interface IdleLimits {
  idleTimeoutSeconds: number;
  /** In cron jobs. */
  cronIdleTimeoutSeconds: number;
}

/** Where the configuration sets none. In a cron job it is short enough that another try still fits into its time. */
export const IDLE_LIMITS_DEFAULT: Readonly<IdleLimits> = { idleTimeoutSeconds: 120, cronIdleTimeoutSeconds: 60 };

/** This many consecutive calls that timed out, without an answer in between, end a turn, even with retry budget left. */
export const IDLE_TIMEOUTS_IN_A_ROW_MAX = 5;

/**
 * How long a model can be silent, in milliseconds; 0: as long as the turn can take. Never longer than the turn itself. No person waits for a
 * cron job, but it holds one of few slots.
 */
export function idleTimeoutMs(turn: { limits: IdleLimits; isCron: boolean; turnTimeoutSeconds: number }): number {
  const { limits, isCron, turnTimeoutSeconds } = turn;
  const seconds = isCron ? limits.cronIdleTimeoutSeconds : limits.idleTimeoutSeconds;
  return Math.min(seconds, turnTimeoutSeconds) * 1000;
}
