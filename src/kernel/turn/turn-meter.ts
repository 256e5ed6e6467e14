// The metrics of a process's turns. All but tools are counted after the commit, so what another
// worker does again counts where it is committed; a tool counts when it has run.
import type { Lane } from '../../config.ts';
import type { CompactionReason } from '../../compaction/plan-compaction.ts';
import type { TurnKind } from '../../core/statuses.ts';
import type { ModelCallRow, TurnEnd } from './journal/journal.ts';
import type { TurnFigures } from './journal/finish-turn.ts';
import type { CompactionStep } from './journal/write-compaction.ts';

/**
 * The fields of an `OpenedTurn` that a meter reads. It is the same object from the opening of a
 * turn to its end.
 */
export interface MeteredTurn {
  readonly kind: TurnKind;
  readonly session: { readonly lane: Lane };
  readonly agent: { readonly id: string };
  readonly journal: { readonly attempt: { readonly interruptedCompaction: CompactionReason | null } };
}

/** Nothing here may throw. */
export interface TurnMeter {
  turnEnded(turn: MeteredTurn, end: Pick<TurnEnd, 'status' | 'error'> & { figures: TurnFigures }): void;
  /** This worker resumes a turn that another one left open. */
  turnTakenOver(lane: string): void;
  modelCalled(turn: MeteredTurn, call: ModelCallRow): void;
  toolRan(
    turn: MeteredTurn,
    run: { name: string; status: 'done' | 'failed' | 'unknown' | 'stopped'; durationMs: number },
  ): void;
  compactionBegan(turn: MeteredTurn, reason: CompactionReason): void;
  compactionStored(turn: MeteredTurn, step: CompactionStep['kind']): void;
}

/** Measures nothing. */
export const NO_METER: TurnMeter = {
  turnEnded: () => undefined,
  turnTakenOver: () => undefined,
  modelCalled: () => undefined,
  toolRan: () => undefined,
  compactionBegan: () => undefined,
  compactionStored: () => undefined,
};
