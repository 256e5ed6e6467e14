// Which harness answers a turn: the built-in loop, which calls the model itself, or one that a
// plugin provides. Decided once, when the turn is opened; a resumed turn continues with the harness
// that it started with.

/** The harness that is always there. */
export const BUILT_IN_HARNESS = 'built-in';

const AUTO = 'auto';

/** The settings of an agent's configuration. */
export interface HarnessPolicy {
  /** Absent: none is pinned. */
  pinned?: string;
  /** `built-in`, `auto`, or the id of a plugin's harness. */
  runtime: string;
  /** What answers when the harness that `runtime` names is not there; `none`: nothing does. */
  fallback: 'built-in' | 'none';
}

/** A harness of a plugin. */
export interface HarnessCandidate {
  id: string;
  /** Among those that support a model, the one with the highest value is used. */
  priority: number;
  /** Whether it is made for the model of the turn. */
  isSupporting: boolean;
}

export const HARNESS_REASONS = [
  'pinned',
  'forced_built_in',
  'forced_plugin',
  'forced_plugin_fallback',
  'auto_plugin',
  'auto_fallback',
] as const;

export type HarnessReason = (typeof HARNESS_REASONS)[number];

/** `missing`: the harness that must answer is not there, and nothing may in its place. */
export type HarnessChoice =
  | { kind: 'chosen'; id: string; reason: HarnessReason }
  | { kind: 'missing'; id: string; reason: 'pinned' | 'forced_plugin' };

/**
 * Chooses a harness. In this order: one that is pinned; the built-in or a plugin's, when `runtime`
 * names it, or the fallback where that is not there; on `auto` the plugin's of highest priority
 * that supports the model, ties by id; else the built-in.
 */
export function selectHarness(policy: HarnessPolicy, candidates: readonly HarnessCandidate[]): HarnessChoice {
  const { pinned, runtime, fallback } = policy;
  const isThere = (id: string): boolean =>
    id === BUILT_IN_HARNESS || candidates.some((candidate) => candidate.id === id);
  if (pinned !== undefined) return { kind: isThere(pinned) ? 'chosen' : 'missing', id: pinned, reason: 'pinned' };
  if (runtime === BUILT_IN_HARNESS) return { kind: 'chosen', id: runtime, reason: 'forced_built_in' };
  if (runtime !== AUTO) {
    if (isThere(runtime)) return { kind: 'chosen', id: runtime, reason: 'forced_plugin' };
    if (fallback === 'none') return { kind: 'missing', id: runtime, reason: 'forced_plugin' };
    return { kind: 'chosen', id: BUILT_IN_HARNESS, reason: 'forced_plugin_fallback' };
  }
  const [best] = candidates.filter(({ isSupporting }) => isSupporting).toSorted(byRank);
  if (best !== undefined) return { kind: 'chosen', id: best.id, reason: 'auto_plugin' };
  return { kind: 'chosen', id: BUILT_IN_HARNESS, reason: 'auto_fallback' };
}

function byRank(a: HarnessCandidate, b: HarnessCandidate): number {
  return b.priority - a.priority || (a.id < b.id ? -1 : 1);
}
