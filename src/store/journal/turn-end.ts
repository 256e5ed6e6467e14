// The end of a turn, as `finish-turn` writes it.
import type { RunStatus } from '../../core/announcement.ts';
import type { DeliveryId, MessageId, SessionId } from '../../core/ids.ts';
import type { NewEvent } from '../events.ts';
import type { JournalWrite } from '../journal.ts';
import type { QueueModes } from '../subagent-ends.ts';

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
  /** The result of the heartbeat that it answered; absent: it answered none. */
  pollResult?: 'acknowledged' | 'alert' | 'duplicate' | 'failed';
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
  /** True when it may still wait for a batch of the provider. */
  dropsRequests?: boolean;
  /** The end of the run that it was part of. Absent: its session works on none, or is not done. */
  run?: SubagentRunEnd;
  /** True when its session worked on a run when the turn was claimed. */
  isPartOfRun?: boolean;
  /** Messages that it leaves for other sessions. */
  notices?: Notice[];
  /** True when a request in this process waits for messages of the session to be settled: the result then contains how they ended. */
  isAwaited: boolean;
}

/** How the run of this turn ends, if neither inputs wait nor runs below it are active. */
export interface SubagentRunEnd {
  status: RunStatus;
  /** The last text of the subagent; null: none. */
  result: string | null;
  /** Why it did not end well. */
  error: string | null;
  /** True when the subagent asked not to announce it. */
  isSuppressed: boolean;
  modes: QueueModes;
}

/** A message for another session. */
export interface Notice {
  id: MessageId;
  sessionId: SessionId;
  /** As JSON text. */
  body: string;
  route: string;
  /** Its cause: there is one message for each. */
  causeKey: string;
}
