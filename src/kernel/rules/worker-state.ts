// The state of a process, from the row that it renews.

/** How often a process renews its row, in milliseconds. */
export const WORKER_REPORT_MS = 3_000;

/** A process that has missed three reports counts as lost, in milliseconds. */
export const WORKER_LOST_MS = 9_000;

export const WORKER_STATES = ['running', 'draining', 'lost'] as const;
export type WorkerState = (typeof WORKER_STATES)[number];

/** The state of a process that reported so long ago. */
export function workerState({ silentMs, isDraining }: { silentMs: number; isDraining: boolean }): WorkerState {
  if (silentMs > WORKER_LOST_MS) return 'lost';
  return isDraining ? 'draining' : 'running';
}
