// What a connection to an MCP server offers, and how it answers.
import type { ListedTool } from './rules.ts';
import type { ServerInfo } from './store/servers.ts';

/** A task that a call has begun. */
export interface TaskState {
  id: string;
  /** How often the server wants to be asked; null: it does not say. */
  pollMs: number | null;
}

/** What a server has answered to a call, in whatever form. */
export interface SentAnswer {
  result?: unknown;
  error?: unknown;
}

/** What a server says of a task. */
export type TaskReply =
  | { kind: 'runs'; pollMs: number | null }
  | { kind: 'ended'; answer: SentAnswer }
  | { kind: 'failed'; reason: string }
  /** The server does not know it, or not any more. */
  | { kind: 'gone'; reason: string };

export interface ServerCall {
  tool: string;
  input: Record<string, unknown>;
  meta: Record<string, string>;
  signal: AbortSignal;
  /** It runs as a task. */
  isTask: boolean;
}

/** How a call ended, if it was not aborted. */
export type CallReply =
  | { kind: 'answered'; answer: SentAnswer }
  | { kind: 'begun'; task: TaskState }
  /** The server has answered that it does not do this. */
  | { kind: 'refused'; reason: string }
  /** The call has certainly not begun; another connection may do better. */
  | { kind: 'not-sent'; reason: string }
  /** The call was sent, and no answer came. */
  | { kind: 'lost'; reason: string };

export interface OpenClient {
  readonly info: ServerInfo;
  listTools(): Promise<ListedTool[]>;
  /**
   * Rejects with the signal's reason after an abort; then the server is notified that the call is
   * cancelled.
   */
  call(call: ServerCall): Promise<CallReply>;
  /** Rejects when the server cannot be asked. */
  readTask(id: string, signal: AbortSignal): Promise<TaskReply>;
  cancelTask(id: string, signal: AbortSignal): Promise<void>;
  /** True when the server answers at all. */
  ping(): Promise<boolean>;
  close(): Promise<void>;
}
