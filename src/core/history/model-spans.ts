// Which model answered which entries. A session stores only the changes, as snapshots: thinking is signed by the model that
// thought it, so after a change the thinking of the other is left out.
import type { ModelSpan } from '../view.ts';

/** The most changes that are remembered; thinking of before the first of them is left out. */
export const MODEL_SPANS_MAX = 32;

/** The spans with the model of the turn whose prompt is `seq`: the same array when it does not change. */
export function withModel(spans: readonly ModelSpan[] | undefined, seq: number, model: string): readonly ModelSpan[] {
  if (spans === undefined) return [{ seq, model }];
  if (spans.at(-1)?.model === model) return spans;
  return [...spans, { seq, model }].slice(-MODEL_SPANS_MAX);
}

/** The model that answered the entry `seq`; undefined when it is of before the first span. */
export function modelAt(spans: readonly ModelSpan[], seq: number): string | undefined {
  return spans.findLast((span) => span.seq <= seq)?.model;
}
