// The runs of a family as a tree: which rows are shown, and the runs below each.
import type { FamilyRun } from '../api.ts';
import { shortened } from './long-text.ts';

/** A run in the tree. */
export interface TreeRow {
  run: FamilyRun;
  /** 1 for a run of the root. */
  level: number;
  /** Its place among the runs that the same run has spawned, from 1, and how many these are. */
  place: number;
  siblings: number;
  /** The run above it; null: the root. */
  parent: FamilyRun | null;
  hasChildren: boolean;
  /** False: the runs below it are not shown. */
  isOpen: boolean;
}

const NAME_CHARS_MAX = 80;

/** The name of a run: the beginning of its label, or of its task. */
export function nameOf({ label, task }: FamilyRun): string {
  return shortened(label ?? task, NAME_CHARS_MAX);
}

/**
 * The rows that are shown, each run before those below it; `closed` are the runs whose rows below
 * are not.
 */
export function treeRowsOf(runs: readonly FamilyRun[], closed: ReadonlySet<string>): TreeRow[] {
  const children = Map.groupBy(runs, ({ parentRunId }) => parentRunId);
  const rows: TreeRow[] = [];
  const add = (parent: FamilyRun | null, level: number): void => {
    const siblings = children.get(parent?.runId ?? null) ?? [];
    for (const [index, run] of siblings.entries()) {
      const isOpen = !closed.has(run.runId);
      const hasChildren = children.has(run.runId);
      rows.push({ run, level, place: index + 1, siblings: siblings.length, parent, hasChildren, isOpen });
      if (isOpen) add(run, level + 1);
    }
  };
  add(null, 1);
  return rows;
}

/**
 * The runs that a stop of a run, or of all (null), would end: their number, and the topmost of
 * them.
 */
export function runningBelow(
  runs: readonly FamilyRun[],
  top: FamilyRun | null,
): { count: number; topmost: FamilyRun[] } {
  const children = Map.groupBy(runs, ({ parentRunId }) => parentRunId);
  const topmost: FamilyRun[] = [];
  let count = 0;
  const visit = (run: FamilyRun, isBelowRunning: boolean): void => {
    const isRunning = run.status === 'running';
    if (isRunning) count += 1;
    if (isRunning && !isBelowRunning) topmost.push(run);
    for (const child of children.get(run.runId) ?? []) visit(child, isBelowRunning || isRunning);
  };
  for (const run of top === null ? (children.get(null) ?? []) : [top]) visit(run, false);
  return { count, topmost };
}

/**
 * The nearest run above a run that has not ended; null: the root is the nearest session that is
 * active.
 */
export function activeAbove(runs: readonly FamilyRun[], run: FamilyRun): FamilyRun | null {
  const above = runs.find(({ runId }) => runId === run.parentRunId);
  if (above === undefined || above.status === 'running') return above ?? null;
  return activeAbove(runs, above);
}

/** How the end of a run reached a session above it, in words. */
export const ANNOUNCED: Readonly<Record<NonNullable<FamilyRun['announcement']>['how'], string>> = {
  waiting: 'queued',
  steered: 'into a running turn',
  ownTurn: 'in its own turn',
  notSent: 'not sent',
  noRecipient: 'no session was left for it',
};
