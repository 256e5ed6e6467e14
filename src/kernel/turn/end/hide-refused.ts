// What leaves the active path when the provider has refused a request: the part of it that no earlier request had. It would fail the turns
// after this one, too (docs/decisions/0009).
import type { TurnEnd } from '../journal/turn-end.ts';
import type { OpenedTurn } from '../opened-turn.ts';

/** Failures that the same request would bring about again. */
const REFUSALS = new Set(['model_invalid_request', 'model_request_too_large', 'malformed_history']);
const FAULTS_OF_REQUEST = new Set([...REFUSALS, 'model_context_overflow', 'blocked']);

/**
 * The entries to hide after a failure with this code. After an answer of the turn those after its prompt, which was accepted with it; else the
 * prompt. A summary that no answer has followed is as new as they are: it is undone with them. If the next request is refused in the same
 * place, the summary stays hidden; if there is none, what the turn before has said is at fault, too.
 */
export function hideRefused(turn: OpenedTurn, code: string): Pick<TurnEnd, 'hides' | 'hidesFromSeq' | 'hidesSummary'> {
  if (!FAULTS_OF_REQUEST.has(code)) return { hides: null };
  const { promptSeq } = turn.journal.attempt.requests.rules;
  const summary = turn.transcript.entries.find(({ kind }) => kind === 'summary');
  const entries = turn.transcript.entries.filter(({ kind }) => kind !== 'summary');
  const own = entries.filter(({ seq }) => seq >= promptSeq);
  if (own.length === 0) return { hides: null };
  const isNew = summary !== undefined && !entries.some(({ kind, seq }) => kind === 'answer' && seq > summary.seq);
  // Of a request that is too large, a summary is not at fault.
  const isAtFault = isNew && REFUSALS.has(code) && code !== 'model_request_too_large';
  const undone = isAtFault ? { hidesSummary: { seq: summary.seq, isUndone: true } } : {};
  if (own.some(({ kind }) => kind === 'answer')) return { hides: 'refused', hidesFromSeq: promptSeq + 1, ...undone };
  if (!REFUSALS.has(code)) return { hides: 'refused', hidesFromSeq: promptSeq };
  const past = entries.filter(({ seq }) => seq < promptSeq);
  const lastSeq = past.at(-1)?.seq ?? 0;
  // The signature of a thought may be refused: thoughts of a model that is not known are not sent.
  const { models: _models, refusedAfterSeq, ...view } = turn.journal.attempt.sessionView;
  turn.journal.note({ sessionView: { ...view, refusedAfterSeq: lastSeq } });
  if (refusedAfterSeq === undefined || lastSeq > refusedAfterSeq)
    return { hides: 'refused', hidesFromSeq: promptSeq, ...undone };
  if (summary !== undefined && (isNew || past.length === 0))
    return { hides: 'refused', hidesFromSeq: promptSeq, hidesSummary: { seq: summary.seq, isUndone: false } };
  const before = past.findLast(({ kind }) => kind === 'prompt');
  return { hides: 'refused', hidesFromSeq: before === undefined ? (past[0]?.seq ?? promptSeq) : before.seq + 1 };
}
