// What the tools about sessions are given: other sessions, as far as the calling one may see and
// change them. It works on rows; nothing here waits for another session.
import type { SpawnRequest } from '../../core/subagents.ts';
import type { HistoryItem, HistoryOptions } from '../../kernel/rules/session-history.ts';
import type { ToolCall } from '../../tools/tool.ts';

/** A session as an agent sees it. */
export interface SeenSession {
  key: string;
  agentId: string;
  kind: string;
  label: string | null;
  status: 'idle' | 'waiting' | 'running';
  contextTokens: number;
  /** ISO 8601. */
  updatedAt: string;
}

/** A subagent as its parent sees it. */
export interface SeenSubagent {
  runId: string;
  sessionKey: string;
  label: string | null;
  task: string;
  status: 'running' | 'ok' | 'failed' | 'timedOut' | 'killed';
  error: string | null;
  runtimeMs: number;
}

export interface SeenAgent {
  id: string;
  model: string;
}

/** `error`: nothing was done, and the text says why. */
export type Refusal = { kind: 'error'; text: string };

/**
 * Every function is idempotent on the call that it is given, and rejects only for faults of the
 * database.
 */
export interface SessionsPort {
  spawn(call: ToolCall, request: SpawnRequest): Promise<{ kind: 'ok'; runId: string; sessionKey: string } | Refusal>;
  /**
   * Those that this session has spawned and that work, or have ended within the last minutes; the
   * oldest first.
   */
  subagents(call: ToolCall, recentMinutes: number): Promise<SeenSubagent[]>;
  kill(call: ToolCall, runId: string): Promise<{ kind: 'ok'; runs: number } | Refusal>;
  /** `again`: it had ended and has started again with this. */
  steer(
    call: ToolCall,
    runId: string,
    text: string,
  ): Promise<{ kind: 'ok'; how: 'joins' | 'waits' | 'again' } | Refusal>;
  /** The newest sessions that may be seen. */
  list(call: ToolCall): Promise<SeenSession[]>;
  history(
    call: ToolCall,
    sessionKey: string,
    options: HistoryOptions,
  ): Promise<{ kind: 'ok'; items: HistoryItem[] } | Refusal>;
  send(
    call: ToolCall,
    message: {
      to: { key: string } | { label: string; agentId?: string | undefined };
      text: string;
      wantsAnswer: boolean;
    },
  ): Promise<{ kind: 'ok'; sessionKey: string; messageId: string } | Refusal>;
  /** Notes how long the session waits once its turn has ended. */
  noteYield(call: ToolCall, seconds: number): Promise<void>;
  /** The agents that may be spawned from here, the caller's own first. */
  agents(call: ToolCall): SeenAgent[];
}
