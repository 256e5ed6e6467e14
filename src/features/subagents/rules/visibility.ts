// The sessions that an agent's tools are allowed to read and write. Enforced outside the model: no
// prompt can extend it (G30).
/**
 * `self`: only its own; `tree`: those below it, too; `agent`: all of its agent; `all`: those of
 * agents that it may exchange messages with.
 */
export type Visibility = 'self' | 'tree' | 'agent' | 'all';

export interface VisibleSession {
  id: string;
  agentId: string;
  ancestors: readonly string[];
  /** True: a caller that sees a part of the service has sent something to its family. */
  isConfined: boolean;
}

export interface VisibilityRules {
  visibility: Visibility;
  /** Agents, or `*`, among which sessions are shown to each other when that is switched on. */
  agentToAgent: { enabled: boolean; allow: readonly string[] };
}

/**
 * True when `viewer` is allowed to see `target`. A subagent and a confined session never see more
 * than the sessions below them.
 */
export function maySee(
  viewer: VisibleSession,
  target: VisibleSession,
  { visibility, agentToAgent }: VisibilityRules,
): boolean {
  if (target.id === viewer.id) return true;
  const isBelow = target.ancestors.includes(viewer.id);
  const isBound = viewer.isConfined || viewer.ancestors.length > 0;
  const reach = isBound && visibility !== 'self' ? 'tree' : visibility;
  switch (reach) {
    case 'self':
      return false;
    case 'tree':
      return isBelow;
    case 'agent':
      return isBelow || target.agentId === viewer.agentId;
    case 'all':
      return (
        isBelow ||
        target.agentId === viewer.agentId ||
        (agentToAgent.enabled && isAllowed(viewer.agentId, agentToAgent) && isAllowed(target.agentId, agentToAgent))
      );
    default:
      return reach satisfies never;
  }
}

function isAllowed(agentId: string, { allow }: VisibilityRules['agentToAgent']): boolean {
  return allow.includes('*') || allow.includes(agentId);
}
