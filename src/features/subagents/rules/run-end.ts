// What the end of a run means: whether it ends at all, who receives the announcement, and how.
import type { SubagentEnd } from '../../../core/subagents.ts';
import type { EndingRun, FamilyState, RunResult } from '../../../kernel/rules/family.ts';

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
