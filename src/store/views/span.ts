// The stretches of a turn's time.

export const SPAN_KINDS = [
  'accept',
  'gather',
  'lock.wait',
  'queue.wait',
  'prompt.assemble',
  'rate.wait',
  'provider.wait',
  'worker.lost',
  'model.call',
  'compaction',
  'tool.exec',
  'deliver',
  'announce',
] as const;

/** A stretch of a turn's time, from the times that rows hold; `n` numbers model calls and steps of tools. */
export interface SpanView {
  kind: (typeof SPAN_KINDS)[number];
  name: string;
  n: number | null;
  startedAt: string;
  endedAt: string | null;
}
