// What the API is given: everything that it can do, as functions. Writing is done by the store through these, reading through the
// views; nothing here knows a turn or a queue.
import type { Registry } from 'prom-client';
import type { Clock } from '../clock.ts';
import type { Config } from '../config.ts';
import type { CronInput, CronPatch } from '../config/schema-crons.ts';
import type { InboundMessage } from '../core/inbound.ts';
import type { SessionId, SessionKey } from '../core/ids.ts';
import type { SpawnRequest } from '../core/subagent-spawn.ts';
import type { Usage } from '../core/model-request.ts';
import type { Logger } from '../logger.ts';
import type { OutageLog } from '../outage-log.ts';
import type { Wake } from '../wake.ts';
import type { NewCommand } from '../store/commands.ts';
import type { Cron, CronRow } from '../store/crons.ts';
import type { LetterFilter } from '../store/decide-dead-letters.ts';
import type { CronChange } from '../store/manage-crons.ts';
import type { SessionPatch } from '../store/patch-session.ts';
import type { StopCommand } from '../store/stop-family.ts';
import type { QueuedEvent } from '../store/system-events.ts';
import type { Acceptance } from '../store/accept-messages.ts';
import type { SpawnAnswer, SteerAnswer } from '../store/family.ts';
import type { ForkResult } from '../store/fork-session.ts';
import type { Reset } from '../store/reset-session.ts';
import type { Restoration } from '../store/restore-compaction.ts';
import type { KeyedRequest } from '../store/idempotency.ts';
import type { SessionFacts } from '../store/session-facts.ts';
import type { DeliveryDecision } from '../store/decide-delivery.ts';
import type { MessageView } from '../store/views/messages.ts';
import type { ViewDatabase } from '../store/views/page.ts';

export interface ApiContext {
  config: Config;
  logger: Logger;
  /** Takes the faults of the database that a request or a stream survives. */
  outages: OutageLog;
  clock: Clock;
  /** The key with all rights, in addition to those of the configuration. */
  adminKey: string;
  views: ViewDatabase;
  accept: AcceptMessage;
  enqueueSystemEvent: EnqueueSystemEvent;
  control: Control;
  lifecycle: SessionLifecycle;
  subagents: Subagents;
  deadLetters: DeadLetterControl;
  schedule: ScheduleControl;
  deriveRequest: DeriveRequest;
  wake: CommitWake;
  modelInfo: ModelInfo;
  /** The dependencies in addition to the database, which is always checked. */
  dependencies: Dependency[];
  /** Absent: the API makes its own. Other metrics of the process are served with it. */
  metrics?: Registry;
  /** What tokens cost in dollars; null when no price of the model is known. Absent: no costs are shown. */
  priceOf?: (model: string, usage: Usage) => number | null;
}

/** What became of a message at the door. */
type Disposition = 'queued' | 'steered' | 'interrupting' | 'duplicate' | 'command' | 'rejected';

export interface AcceptedAnswer {
  message: MessageView;
  session: SessionFacts;
  disposition: Disposition;
}

/**
 * `accepted`: committed. `duplicate`: it was accepted before; the answer is
 * the first one when the Idempotency-Key says so, else it shows the message as it is now. `mismatch`: the key was used with another
 * body. `full`: nothing was written.
 */
export type AcceptResult =
  | ({ kind: 'accepted'; sessionId: string } & AcceptedAnswer)
  | ({ kind: 'duplicate'; by: 'idempotency' | 'platform'; sessionId: string } & AcceptedAnswer)
  | { kind: 'mismatch' }
  | { kind: 'full'; retryAfterMs: number };

/** Resolves after the commit. Rejects when nothing is known to be written: the database is away or refuses. */
export type AcceptMessage = (input: {
  sessionKey: SessionKey;
  body: InboundMessage;
  idempotency: KeyedRequest | null;
}) => Promise<AcceptResult>;

/** Creates the session if need be. Resolves after the commit. */
export type EnqueueSystemEvent = (input: {
  sessionKey: SessionKey;
  text: string;
  contextKey: string | null;
  trusted: boolean;
  idempotency: KeyedRequest | null;
}) => Promise<QueuedEvent>;

/**
 * What people and programs do to what is already there. With a key, each stores it in the statement of its effect, and rejects as
 * `isKeyTaken` says when another request was first.
 */
export interface Control {
  /** Null: no such session. */
  abortSession(input: {
    sessionKey: SessionKey;
    keepQueued: boolean;
    idempotency?: KeyedRequest | null;
    /** The chat command that asks for it. */
    command?: StopCommand;
  }): Promise<{ aborted: string | null; cancelled: number; stoppedRuns: number } | null>;
  abortTurn(turnId: string, idempotency: KeyedRequest | null): Promise<'stopped' | 'ended' | 'unknown'>;
  /** `messageIds`: the messages that wait now. */
  retryTurn(
    turnId: string,
    idempotency: KeyedRequest | null,
  ): Promise<{ kind: 'ok'; messageIds: string[] } | { kind: 'conflict' | 'unknown' }>;
  /** False: no such session. */
  patchSession(sessionKey: SessionKey, patch: SessionPatch): Promise<boolean>;
  /** Changes overrides by a chat command. False: the command was stored before. */
  patchByCommand(input: { sessionId: SessionId; patch: SessionPatch; command: NewCommand }): Promise<boolean>;
  redriveDelivery(id: string, idempotency: KeyedRequest | null): Promise<DeliveryDecision>;
  discardDelivery(id: string, idempotency: KeyedRequest | null): Promise<DeliveryDecision>;
}

/** What is done to a session's transcript as a whole. */
export interface SessionLifecycle {
  /** Accepts the request as an input of the session. Null: no such session. */
  requestCompaction(input: {
    sessionKey: SessionKey;
    /** Empty: none. */
    instructions: string;
    idempotency: KeyedRequest | null;
  }): Promise<{ sessionId: string; acceptance: Acceptance } | null>;
  /** `isAborting`: a running turn is stopped, and waited for. */
  reset(input: { sessionKey: SessionKey; isAborting: boolean; idempotency: KeyedRequest | null }): Promise<Reset>;
  fork(input: {
    sourceKey: SessionKey;
    entryId: string | null;
    targetKey: SessionKey;
    idempotency: KeyedRequest | null;
  }): Promise<ForkResult>;
  restoreCompaction(input: {
    sessionKey: SessionKey;
    compactionId: string;
    idempotency: KeyedRequest | null;
  }): Promise<Restoration['kind']>;
}

/** Subagents, for people. */
export interface Subagents {
  /** Creates the session if need be. Resolves after the commit. */
  spawn(sessionKey: SessionKey, request: SpawnRequest, idempotency: KeyedRequest | null): Promise<SpawnAnswer>;
  /** How many runs have ended by it; null: no such run. */
  kill(runId: string, reason: string, idempotency: KeyedRequest | null): Promise<number | null>;
  steer(runId: string, text: string, idempotency: KeyedRequest | null): Promise<SteerAnswer>;
}

/** What happens by the clock. Everything resolves after its commit. */
export interface ScheduleControl {
  /** Resolves with the row of the cron; null: its agent has as many as it may have. Rejects with `InvalidCronError`. */
  addCron(input: CronInput, idempotency: KeyedRequest | null): Promise<CronRow | null>;
  findCron(id: string): Promise<Cron | null>;
  /** Rejects with `InvalidCronError`. */
  editCron(id: string, patch: CronPatch): Promise<CronChange>;
  removeCron(id: string): Promise<'done' | 'unknown' | 'fixed'>;
  runCron(
    id: string,
    idempotency: KeyedRequest | null,
  ): Promise<{ kind: 'ran'; scheduledFor: Date } | { kind: 'unknown' } | { kind: 'full' }>;
  /** The database's time, in epoch milliseconds. */
  readTime(): Promise<number>;
  /** Polls an agent of the configuration now; resolves with the id of the poll. */
  poll(agentId: string, idempotency: KeyedRequest | null): Promise<string>;
}

export interface RedrivenLetter {
  id: string;
  result: 'redriven' | 'skipped';
  /** Why it was skipped; it stays open. */
  reason: string | null;
  /** The messages that wait because of it. */
  messageIds: string[];
}

interface Redriven {
  redriven: number;
  skipped: number;
  /** Open letters that the request names and has not reached: it is to be sent again for them. */
  remaining: number;
  letters: RedrivenLetter[];
}

/** What people do to dead letters. */
export interface DeadLetterControl {
  redrive(filter: LetterFilter, idempotency: KeyedRequest | null): Promise<Redriven>;
  discard(filter: LetterFilter, idempotency: KeyedRequest | null): Promise<number>;
}

/** The model request of call `n` of a turn, as it was sent; null when there was no such call. */
type DeriveRequest = (turnId: string, n: number) => Promise<object | null>;

/** Reports that something of a session was committed in this process, and registers waiting requests. Listeners must not throw. */
export type CommitWake = Pick<Wake, 'onCommit' | 'addWaiter'>;

export interface ModelInfo {
  provider: string;
  /** The default model of agents. */
  name: string;
  /** True when answers come from the built-in script because there is no key. */
  isScripted: boolean;
}

export interface Dependency {
  name: string;
  /** True: without it messages are still accepted, so the service is degraded and not unavailable. */
  isOptional?: boolean;
  /** Rejects when the dependency cannot be used; must stop when the signal says so. */
  check(signal: AbortSignal): Promise<void>;
}
