// A family of sessions: one that talks with a user, and those below it, each of which works on a
// run for the session above it. Without a feature that spawns, every family is one session.
import type { RunStatus } from '../../core/subagents.ts';

/** How a run ends, if nothing else brings its session another turn. */
export interface RunResult {
  status: RunStatus;
  /** The last text of the subagent; null: none. */
  result: string | null;
  /** Why it did not end well. */
  error: string | null;
  /** True when the subagent asked not to announce it. */
  isSuppressed: boolean;
  modes: QueueModes;
}

/** The queue modes for messages to a busy session, where the session itself has none. */
export interface QueueModes {
  mode: string;
  byChannel: Readonly<Record<string, string>>;
}

/** A session of the family, as its locked row shows it. */
export interface FamilyState {
  id: string;
  key: string;
  /** The sessions above it, from the top. */
  ancestors: readonly string[];
  /** The run that it works on. */
  runId: string | null;
  /** Its open turn. */
  turnId: string | null;
  /** True while it runs a turn, or a worker has claimed it. */
  isBusy: boolean;
  isArchived: boolean;
  waiting: number;
  /** Runs that it has spawned and that have not ended. */
  liveChildren: number;
  queueMode: string | null;
  channel: string;
}

/** A run, with what it has used by itself. */
export interface EndingRun {
  id: string;
  parentId: string;
  childId: string;
  label: string;
  runtimeMs: number;
  inputTokens: number;
  outputTokens: number;
}
