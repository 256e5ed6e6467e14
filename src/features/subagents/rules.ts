// Decisions about subagents: whether one may be spawned, what the end of a run means (whether it
// ends at all, who receives the announcement, and how), and which sessions the tools of an agent
// may read and write.
import type { SubagentEnd, SpawnRefusal } from '../../core/subagents.ts';
import type { EndingRun, FamilyState, RunResult } from '../../kernel/rules/family.ts';

/** A session as the spawn that has locked it sees it. */
export interface SpawnState extends Pick<
  FamilyState,
  'id' | 'ancestors' | 'runId' | 'turnId' | 'isArchived' | 'liveChildren'
> {
  /** Its turn is asked to stop. */
  isStopping: boolean;
  /** Runs of its family that have not ended; only at the top. */
  liveDescendants: number;
}

export interface SpawnLimits {
  depthMax: number;
  childrenMax: number;
  descendantsMax: number;
}

interface JudgedSpawn {
  parent: SpawnState;
  /** The top of the family. */
  root: SpawnState;
  /** The subagent that gets another task; undefined: it is a new one. */
  child: SpawnState | undefined;
  /** The turn whose tool call it is; null: it is spawned from outside. */
  turnId: string | null;
  limits: SpawnLimits;
}

/** Why a subagent is not spawned, with the number that was compared with the limit; null: it is. */
export function judgeSpawn({
  parent,
  root,
  child,
  turnId,
  limits,
}: JudgedSpawn): { code: SpawnRefusal; count: number } | null {
  const { liveChildren, ancestors } = parent;
  if (parent.isArchived || (!isTop(parent) && parent.runId === null)) return { code: 'ended', count: 0 };
  if (turnId !== null && (parent.turnId !== turnId || parent.isStopping)) return { code: 'stopped', count: 0 };
  if (ancestors.length >= limits.depthMax) return { code: 'depth', count: ancestors.length };
  if (liveChildren >= limits.childrenMax) return { code: 'children', count: liveChildren };
  if (root.liveDescendants >= limits.descendantsMax) return { code: 'descendants', count: root.liveDescendants };
  if (child !== undefined && (child.runId !== null || child.isArchived)) return { code: 'working', count: 0 };
  return null;
}

export interface DecidedEnd {
  /** The session that receives the announcement; null: none is left. */
  recipientId: string | null;
  /** True: it joins the running turn of the recipient. */
  steers: boolean;
  /** True: it is not announced, as the subagent asked. */
  isSkipped: boolean;
  announcement: SubagentEnd;
}

/**
 * A run does not end while inputs wait or runs below it are active: they bring its session another
 * turn.
 */
export function isRunOver(child: FamilyState): boolean {
  return child.turnId === null && child.waiting === 0 && child.liveChildren === 0;
}

/**
 * The recipient is the nearest session above that is still active: one whose run has not ended, or
 * the top of the family. An end that the subagent asked not to announce is announced all the same
 * if a subagent above waits for nothing else, because it would wait without end.
 */
export function decideRunEnd(
  { run, end }: { run: EndingRun; end: RunResult },
  family: ReadonlyMap<string, FamilyState>,
): DecidedEnd {
  const child = family.get(run.childId);
  const recipient = child?.ancestors
    .map((id) => family.get(id))
    .findLast((above) => above !== undefined && !above.isArchived && (isTop(above) || above.runId !== null));
  const active = recipient === undefined ? 0 : recipient.liveChildren - (recipient.id === run.parentId ? 1 : 0);
  const waitsForIt =
    recipient !== undefined &&
    recipient.runId !== null &&
    recipient.turnId === null &&
    recipient.waiting === 0 &&
    active === 0;
  const mode = recipient?.queueMode ?? end.modes.byChannel[recipient?.channel ?? ''] ?? end.modes.mode;
  return {
    recipientId: recipient?.id ?? null,
    steers: recipient?.isBusy === true && (mode === 'steer' || mode === 'steer-backlog'),
    isSkipped: end.isSuppressed && !waitsForIt,
    announcement: {
      kind: 'subagent',
      runId: run.id,
      sessionId: run.childId,
      sessionKey: child?.key ?? '',
      label: run.label,
      status: end.status,
      ...(end.error === null ? {} : { error: end.error }),
      ...(end.result === null ? {} : { result: end.result }),
      runtimeMs: run.runtimeMs,
      inputTokens: run.inputTokens,
      outputTokens: run.outputTokens,
      isForUser: recipient !== undefined && isTop(recipient),
      active,
    },
  };
}

function isTop({ ancestors }: Pick<FamilyState, 'ancestors'>): boolean {
  return ancestors.length === 0;
}

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
}

export interface VisibilityRules {
  visibility: Visibility;
  /** Agents, or `*`, among which sessions are shown to each other when that is switched on. */
  agentToAgent: { enabled: boolean; allow: readonly string[] };
}

/**
 * True when `viewer` is allowed to see `target`. A subagent never sees more than the sessions below
 * it.
 */
export function maySee(
  viewer: VisibleSession,
  target: VisibleSession,
  { visibility, agentToAgent }: VisibilityRules,
): boolean {
  if (target.id === viewer.id) return true;
  const isBelow = target.ancestors.includes(viewer.id);
  const reach = viewer.ancestors.length > 0 && visibility !== 'self' ? 'tree' : visibility;
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
