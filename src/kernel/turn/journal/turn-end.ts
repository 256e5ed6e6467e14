// The end of a turn, as `finish-turn` writes it.
import type { DeliveryId } from '../../../core/ids.ts';
import type { TurnEffect } from '../../effects/turn-effects.ts';
import type { NewEvent } from '../../events/events.ts';
import type { JournalWrite } from './journal.ts';

export interface NewDelivery {
  id: DeliveryId;
  channel: string;
  target: Record<string, unknown>;
  payload: object;
  expiresMs: number;
}

export interface TurnEnd extends JournalWrite {
  status: 'completed' | 'silent' | 'failed' | 'aborted' | 'timedOut';
  messageStatus: 'answered' | 'silent' | 'failed' | 'cancelled';
  reply: string | null;
  /** The model that answered, where that is not the one that the turn was opened with. */
  answeredModel?: string;
  /** `{code, message}`; null after a good end. */
  error: { code: string; message: string } | null;
  /** True when the user stopped it: the next prompt mentions it. */
  wasAborted: boolean;
  /** Tokens of the last request and its answer together. */
  contextTokens: number;
  deliveries: NewDelivery[];
  /**
   * What leaves the active path; the rows stay. `refused`: the entries from `hidesFromSeq` on, which the provider refuses and which would
   * fail the turns after it, too. `turn`: all that it said was rolled back. `poll`: it answered a heartbeat, and there is nothing to
   * remember of it. Null: nothing.
   */
  hides: 'refused' | 'turn' | 'poll' | null;
  hidesFromSeq?: number;
  /**
   * A summary that the provider refuses. `isUndone`: the entries that it replaced before `hidesFromSeq` are active again, so the next compaction
   * writes another one; else they stay compacted.
   */
  hidesSummary?: { seq: number; isUndone: boolean };
  /**
   * Set when its inputs are not settled but wait again: the most of them that a turn takes from now on, until none waits any more. Absent: they
   * are settled.
   */
  collectMax?: number;
  deadLetter: { id: string; code: string; reason: string } | null;
  /**
   * Waiting messages are collected until none has arrived for this long, in milliseconds, but no longer than `gatherMsMax`. 0: the
   * doorbell is rung immediately, as it is for a message that was meant for this turn and arrived after `steerSeen`, and when as many
   * messages wait as one turn may contain (`cap`).
   */
  debounceMs: number;
  /** The same where an announcement is the first that waits; absent: as `debounceMs`. */
  announceDebounceMs?: number;
  gatherMsMax: number;
  cap: number;
  steerSeen: number;
  ended: NewEvent;
  /** What it leaves to be done beside its own session. */
  effects: readonly NewEffect[];
}

/** An effect with its id, which is made once. */
export type NewEffect = { id: string } & TurnEffect;
