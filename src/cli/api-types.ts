// What the service answers, as far as the command line shows it. Types of a client: kept apart from the service's
// own, which the command line must not import.

export interface MessageAnswer {
  id: string;
  sessionKey: string;
  seq: number;
  text: string;
  status: 'waiting' | 'claimed' | 'answered' | 'silent' | 'failed' | 'cancelled' | 'dropped';
  turnId: string | null;
  reply: string | null;
  error: unknown;
  receivedAt: string;
  settledAt: string | null;
}

export interface SessionAnswer {
  key: string;
  id: string;
  agentId: string;
  kind: string;
  status: 'idle' | 'waiting' | 'running';
  parentKey: string | null;
  label: string | null;
  channel: string | null;
  queueMode: string | null;
  model: string | null;
  thinking: string | null;
  reasoning: string | null;
  epoch: number;
  turnId: string | null;
  waitingMessages: number;
  systemEvents: number;
  tokens: { input: number; output: number; context: number };
  createdAt: string;
  updatedAt: string;
}

/** 202 of `POST .../messages`. */
export interface AcceptedMessageAnswer {
  message: MessageAnswer;
  session: SessionAnswer;
  disposition: 'queued' | 'steered' | 'interrupting' | 'duplicate' | 'command' | 'rejected';
}

/** 200 of `POST .../messages` with `Prefer: wait`. */
export interface SettledMessageAnswer {
  message: MessageAnswer;
  turn: TurnAnswer | null;
  reply: string | null;
}

export type TurnStatus =
  | 'running'
  | 'parked'
  | 'completed'
  | 'silent'
  | 'failed'
  | 'aborted'
  | 'timedOut'
  | 'interrupted'
  | 'resuming';

/** Why something waits. */
export interface WhyAnswer {
  code: string;
  text: string;
  since: string;
  until: string | null;
  by: string | null;
}

export interface UsageAnswer {
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
}

export interface StepAnswer {
  n: number;
  calls: {
    n: number;
    status: string;
    stopReason: string | null;
    error: unknown;
    usage: UsageAnswer;
    startedAt: string;
    endedAt: string | null;
  }[];
  tools: { callId: string; name: string; status: string; runs: number; startedAt: string; endedAt: string | null }[];
}

export interface TurnAnswer {
  id: string;
  sessionKey: string;
  kind: string;
  lane: string;
  status: TurnStatus;
  attempt: number;
  epoch: number;
  worker: string;
  model: string;
  harness?: { id: string; reason: string } | null;
  reply: string | null;
  error: unknown;
  /** Absent in answers of services of an older version. */
  why?: WhyAnswer | null;
  usage: UsageAnswer;
  queuedAt: string;
  claimedAt: string;
  startedAt: string;
  endedAt: string | null;
  stepCount?: number;
  steps: StepAnswer[];
}

export interface EntryAnswer {
  id: string;
  seq: number;
  kind: string;
  role: 'user' | 'assistant';
  content: string | ContentAnswer[];
  turnId: string;
  state: string;
  createdAt: string;
}

export interface CompactionAnswer {
  id: string;
  turnId: string;
  status: string;
  tokensBefore: number;
  tokensAfter: number | null;
}

/** A block in Anthropic's shapes. */
export interface ContentAnswer {
  type: string;
  text?: string;
  thinking?: string;
  name?: string;
  input?: unknown;
  content?: unknown;
  is_error?: boolean;
}

export interface DeliveryAnswer {
  id: string;
  sessionKey: string;
  seq: number;
  channel: string;
  target: unknown;
  status: string;
  attempts: number;
  dueAt: string;
  lastStatus: number | null;
  lastError: string | null;
  createdAt: string;
  settledAt: string | null;
}

export interface CronAnswer {
  id: string;
  name: string;
  agentId: string;
  schedule:
    | { kind: 'cron'; expr: string; tz: string }
    | { kind: 'every'; everyMs: number }
    | { kind: 'at'; at: string };
  target: string;
  enabled: boolean;
  disabledReason: string | null;
  failures: number;
  nextRunAt: string | null;
}

export interface CronFireAnswer {
  scheduledFor: string;
  status: string;
  reason: string | null;
  slots: number;
  isManual: boolean;
  messageId: string | null;
  turnId: string | null;
}

export interface CronSlotsAnswer {
  items: { slotAt: string; runAt: string }[];
}

export interface HeartbeatAnswer {
  agentId: string;
  scheduledFor: string;
  status: string;
  reason: string | null;
  detail: string | null;
  result: string | null;
  messageId: string | null;
  turnId: string | null;
}

export interface SubagentAnswer {
  runId: string;
  childSessionKey: string;
  parentSessionKey: string;
  label: string | null;
  task: string;
  status: 'running' | 'ok' | 'failed' | 'timedOut' | 'killed';
  result: string | null;
  error: string | null;
  tokens: { input: number; output: number };
  createdAt: string;
  endedAt: string | null;
  announcement: { messageId: string; sessionKey: string; status: string } | null;
}

export interface ListAnswer<Item> {
  items: Item[];
  nextCursor: string | null;
}

/** The message of an error in an answer, in any of its forms; null when there is none. */
export function errorText(error: unknown): string | null {
  if (error === null || error === undefined) return null;
  if (typeof error === 'string') return error;
  if (typeof error !== 'object') return JSON.stringify(error);
  const { message, code, type } = error as { message?: unknown; code?: unknown; type?: unknown };
  const name = [code, type].find((each) => typeof each === 'string');
  if (typeof message === 'string') return name === undefined ? message : `${message} (${name})`;
  return name ?? JSON.stringify(error);
}

export interface DeadLetterAnswer {
  id: string;
  sessionKey: string | null;
  turnId: string | null;
  deliveryId: string | null;
  reason: string;
  createdAt: string;
}

/** Of `GET /v1/dead-letters`. */
export interface DeadLetterGroupAnswer {
  kind: string;
  code: string;
  count: number;
  lastAt: string;
  /** The newest of them. */
  letters: DeadLetterAnswer[];
}

/** 200 of `POST /v1/dead-letters/redrive`, and of `discard`, which only has `discarded`. */
export interface RedrivenAnswer {
  discarded?: number;
  redriven?: number;
  skipped?: number;
  remaining?: number;
  letters?: { id: string; reason: string | null }[];
}
