// How long a cron waits after it failed, and when it is disabled.
import { MINUTE_MS, SECOND_MS } from '../time.ts';

const RESTS_MS = [30 * SECOND_MS, MINUTE_MS, 5 * MINUTE_MS, 15 * MINUTE_MS, 60 * MINUTE_MS];

/** After this many consecutive failures a cron is disabled, with a notice. */
const FAILURES_IN_A_ROW_MAX = 10;
/** How often a one-time cron is tried again when its failure is temporary. */
const ONE_SHOT_RETRIES_MAX = 3;

/** Failures that a later run may not have. */
const PASSING_CODES: ReadonlySet<string> = new Set([
  'model_rate_limited',
  'model_overloaded',
  'model_unavailable',
  'model_timeout',
  'model_network',
  'model_cut_stream',
  'turn_timeout',
]);

/** How long to pause after this many consecutive failures, at least 1: 30 s, 1 m, 5 m, 15 m, then 60 m. */
export function failurePauseMs(failures: number): number {
  return RESTS_MS[Math.min(failures, RESTS_MS.length) - 1] ?? 0;
}

/** Why a cron that has done its work is disabled. */
export const DONE = 'done';

/** The changes of a cron after a run of it. Null values change nothing. */
export interface CronRunEffect {
  failures: number;
  /** Slots before it are passed over. */
  notBeforeMs: number | null;
  /** A slot outside the schedule: the next attempt of a one-time schedule. */
  retrySlotMs: number | null;
  /** Set: it is disabled, for this reason. */
  disabledReason: string | null;
  /** True when its owner must be notified that it was disabled. */
  isNoticeOwed: boolean;
}

/** `cancelled`: a person stopped it, which says nothing about the cron. */
export type CronRunResult = { kind: 'ok' } | { kind: 'cancelled' } | { kind: 'failed'; code: string; message: string };

export interface RunCron {
  isOneShot: boolean;
  /** True when it is deleted after a successful run. */
  isDeletedAfterRun: boolean;
  /** Failed runs in a row, before this one. */
  failures: number;
  /** True for a run on request: it does not change the schedule. */
  isManual: boolean;
}

export function decideCronRunEffect(end: CronRunResult, cron: RunCron, nowMs: number): CronRunEffect {
  const quiet: CronRunEffect = {
    failures: cron.failures,
    notBeforeMs: null,
    retrySlotMs: null,
    disabledReason: null,
    isNoticeOwed: false,
  };
  if (cron.isManual || end.kind === 'cancelled') return quiet;
  if (end.kind === 'ok') return { ...quiet, failures: 0, disabledReason: cron.isDeletedAfterRun ? DONE : null };
  const failures = cron.failures + 1;
  const restedMs = nowMs + failurePauseMs(failures);
  if (cron.isOneShot) {
    const mayRetry = PASSING_CODES.has(end.code) && failures <= ONE_SHOT_RETRIES_MAX;
    if (mayRetry) return { ...quiet, failures, retrySlotMs: restedMs };
    return { ...quiet, failures, disabledReason: `failed: ${end.message}`, isNoticeOwed: true };
  }
  if (failures < FAILURES_IN_A_ROW_MAX) return { ...quiet, failures, notBeforeMs: restedMs };
  const disabledReason = `failed ${failures} times in a row; the last time: ${end.message}`;
  return { ...quiet, failures, disabledReason, isNoticeOwed: true };
}
