// An outage of a model, as one worker sees it: when a call may be made, and how long to wait
// otherwise. A breaker of three states:
//
//   closed       calls are made; failures are noted
//   suspicious   calls of one session have failed and nothing has succeeded since: that may be the
//                session's own fault, so others continue
//   open         calls of two sessions have failed in a row: no calls but one probe at a time, at
//                growing intervals
//
// An open breaker is shared by all workers, and one of them makes the probe. A success closes it.
// Pure: clocks and randomness are passed in; src/kernel/turn/model-states.ts keeps the states.
import type { ModelFault } from '../../core/failure.ts';

/** The shortest and the longest time between two probes, in milliseconds. */
export interface ProbeBounds {
  min: number;
  max: number;
}

/** The state of a model since its last success; null: nothing has failed since. */
export interface ModelTrouble {
  /**
   * Sessions whose calls have failed; two are enough to know that it is not one session's trouble.
   */
  failed: readonly string[];
  /** Probes that have failed. */
  probes: number;
  /** No probe before then, monotonic milliseconds. */
  probeAtMs: number;
  /** The session whose call is the probe in flight. */
  probing: string | null;
  /** The database says that the model is away. */
  isShared: boolean;
}

/** `wait`: no call; after `ms` the next probe may be made. */
export type CallCheck = { kind: 'call' } | { kind: 'probe' } | { kind: 'wait'; ms: number };

/** This many sessions must have failed before calls are held back. */
const SESSIONS_MIN = 2;

/** True when calls are held back. */
export function isAway(trouble: ModelTrouble | null): boolean {
  return trouble !== null && (trouble.isShared || trouble.failed.length >= SESSIONS_MIN);
}

/** Says whether a session may call the model now. */
export function checkCall(
  trouble: ModelTrouble | null,
  { session, nowMs }: { session: string; nowMs: number },
): CallCheck {
  if (trouble === null || !isAway(trouble)) return { kind: 'call' };
  if (trouble.probing === session) return { kind: 'probe' };
  if (trouble.probing === null && nowMs >= trouble.probeAtMs) return { kind: 'probe' };
  return { kind: 'wait', ms: Math.max(0, trouble.probeAtMs - nowMs) };
}

/** The state after a call that failed because of an outage of the model. */
export function noteFailure(
  trouble: ModelTrouble | null,
  { session, nowMs, retryAfterMs, random }: { session: string; nowMs: number; retryAfterMs: number; random: number },
  bounds: ProbeBounds,
): ModelTrouble {
  const { failed, probes, probeAtMs, probing, isShared } = trouble ?? NO_TROUBLE;
  const wasProbe = probing === session;
  const nowFailed = failed.length >= SESSIONS_MIN || failed.includes(session) ? failed : [...failed, session];
  const failedProbes = probes + (wasProbe ? 1 : 0);
  const nextProbeMs = nowMs + Math.max(retryAfterMs, probeDelayMs(failedProbes, random, bounds));
  // A call that had begun before the breaker opened says nothing new about when to probe.
  const isNews = wasProbe || !isAway(trouble);
  return {
    failed: nowFailed,
    probes: failedProbes,
    probeAtMs: isNews ? nextProbeMs : Math.max(probeAtMs, nowMs + retryAfterMs),
    probing: wasProbe ? null : probing,
    isShared,
  };
}

/** The state when the database says that the model is away, with the next probe at a time. */
export function noteAway(trouble: ModelTrouble | null, probeAtMs: number): ModelTrouble {
  return { ...(trouble ?? NO_TROUBLE), isShared: true, probeAtMs };
}

const NO_TROUBLE: ModelTrouble = { failed: [], probes: 0, probeAtMs: 0, probing: null, isShared: false };

function probeDelayMs(probes: number, random: number, { min, max }: ProbeBounds): number {
  return Math.min(max, min * 2 ** Math.min(probes, 20)) * (1 - 0.2 * random);
}

/**
 * How long a turn waits whose own call has failed, in milliseconds: from the shortest time between
 * probes, doubled with each pause, up to twice the longest; shortened by up to a half (`random` in
 * [0, 1)); never below `atLeastMs`.
 */
export function pauseAfterFailureMs(
  { pauses, random, atLeastMs }: { pauses: number; random: number; atLeastMs: number },
  { min, max }: ProbeBounds,
): number {
  const grown = Math.min(2 * max, min * 2 ** Math.min(pauses, 20));
  return Math.ceil(Math.max(atLeastMs, grown * (1 - 0.5 * random)));
}

/**
 * The answers by which a provider holds back a model for all callers: too many calls (429), or
 * overloaded (529).
 */
const BLOCKING_STATUSES: ReadonlySet<number> = new Set([429, 529]);

/** After a block its calls resume within this many milliseconds, spread evenly. */
export const RESUME_MS = 1_000;

/**
 * How long no worker should call the model after such a fault, in milliseconds; null: the fault
 * does not hold back other calls.
 */
export function chooseBlockMs({ status, retryAfterMs }: Pick<ModelFault, 'status' | 'retryAfterMs'>): number | null {
  if (status === null || !BLOCKING_STATUSES.has(status) || retryAfterMs === null || retryAfterMs <= 0) return null;
  return Math.ceil(retryAfterMs);
}
