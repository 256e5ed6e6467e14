// A session as a worker holds it.
import type { Lane, QueueMode, ThinkingLevel } from '../../config.ts';
import type { SessionId } from '../../core/ids.ts';
import type { SessionStop } from '../../core/statuses.ts';
import type { SessionView } from '../../core/view.ts';

/** The session row as it was claimed. */
export interface ClaimedSession {
  id: SessionId;
  key: string;
  agentId: string;
  kind: string;
  lane: Lane;
  parentId: SessionId | null;
  /** The run that it works on as a subagent; null: none. */
  runId: string | null;
  /** How many sessions are above it in its family. */
  depth: number;
  label: string | null;
  channel: string | null;
  queueMode: QueueMode | null;
  model: string | null;
  thinking: ThinkingLevel | null;
  reasoning: string | null;
  epoch: number;
  waiting: number;
  transcriptNo: number;
  transcriptVersion: number;
  entrySeq: number;
  leafSeq: number | null;
  /**
   * Tokens of the last request and its answer together; 0: not known, because nothing was asked or
   * the transcript has changed.
   */
  contextTokens: number;
  wasAborted: boolean;
  stop: SessionStop | null;
  /** The session's own settings of its queue; null: the configuration's hold. */
  queueDebounceMs: number | null;
  queueCap: number | null;
  /** The number of the last message that was meant for a running turn. */
  steerSeq: number;
  /** Messages that were dropped over the cap and that no prompt has mentioned yet. */
  overflowed: number;
  /**
   * How many of its held tool calls were answered: an answer that a turn has not seen makes it due.
   */
  heldSeq: number;
  /** How often in a row the lock ran out before a turn was open. */
  lostClaims: number;
  /**
   * The most inputs that a turn takes, because the prompt of more was too long for the model; null:
   * no such limit.
   */
  collectMax: number | null;
  view: SessionView;
}
