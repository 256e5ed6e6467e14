// The dependencies of a turn on its process. Built once by the entry point of a worker; tests build
// their own.
import type { TurnEffect, Effects } from '../effects/turn-effects.ts';
import type { Committed, Publish } from '../queue/after-commit.ts';
import type { Clock } from '../../clock.ts';
import type { AgentSettings, Config } from '../../config.ts';
import type { PriceBook } from '../../core/prices.ts';
import type { SubagentRole } from '../../core/subagents.ts';
import type { ImageLoader } from '../../images/load-images.ts';
import type { Logger } from '../../logger.ts';
import type { Model } from '../../model/model.ts';
import type { Plugins } from '../../plugins/plugins.ts';
import type { Database } from '../../database/database.ts';
import type { JournalWrite, Verdict, TurnEnd } from './journal/journal.ts';
import type { CompactionBegin, CompactionStart } from './journal/begin-compaction.ts';
import type { FinishResult } from './journal/finish-turn.ts';
import type { NewTurn, Opening } from './journal/open-turn.ts';
import type { Parking, TurnPark } from './journal/park-turn.ts';
import type { CompactionVerdict, CompactionWrite } from './journal/write-compaction.ts';
import type { Claim, ClaimRequest } from '../sessions/claim-session.ts';
import type { HeldLock, Release } from '../sessions/session-locks.ts';
import type { RowSubmitter } from '../../database/statement.ts';
import type { ChangingTools, Toolset } from '../../tools/toolset.ts';
import type { Tracing } from '../../tracing.ts';
import type { DeltaWriter } from './delta-writer.ts';
import type { LockKeeper } from './held-session.ts';
import type { HoldKind, StandInKind } from './hold-kind.ts';
import type { GateCheck } from './gate-check.ts';
import type { ModelStates, OutputHistory } from './model-states.ts';
import type { KnownSnapshots, SnapshotCache, TranscriptCache } from './transcript-cache.ts';
import type { OpenedTurn } from './opened-turn.ts';
import type { TurnMeter } from './turn-meter.ts';
import type { GivenRequest } from '../../core/given-request.ts';
import type { WaitingInput } from '../sessions/claim-session.ts';
import type { AnsweredCall, EndDecision, TurnResult, TurnWrite } from './position.ts';

/** What a turn uses of its process; the store and the models have groups of their own. */
export interface TurnContext {
  config: Config;
  clock: Clock;
  logger: Logger;
  store: TurnStore;
  models: TurnModels;
  /** What features do in turns. */
  features: readonly TurnFeature[];
  effects: Effects;
  /**
   * The tools that policies let through in a session of that role, in stable order; with those that
   * change, as they are now.
   */
  toolsetOf: (
    agent: Pick<AgentSettings, 'id' | 'toolPolicies' | 'externalTools'>,
    role: SubagentRole,
  ) => Promise<Toolset>;
  plugins: Plugins;
  images: ImageLoader;
  /**
   * Called with the result of each write within a turn; the `after` of its last write is part of
   * its outcome.
   */
  publish: Publish;
  /** Measures what turns do. */
  meter: TurnMeter;
  /** Null: nothing is traced. */
  tracing: Tracing | null;
  /** A number in [0, 1), for jitter. */
  random: () => number;
  /** True while the worker drains: a turn stops at its next step boundary and is left resumable. */
  isDraining: () => boolean;
}

/** The statements of turns, and what this worker keeps between them. */
export interface TurnStore {
  database: Database;
  claim: RowSubmitter<ClaimRequest, Claim>;
  release: RowSubmitter<HeldLock, Release>;
  openTurn: RowSubmitter<NewTurn, Committed<Opening>>;
  commitStep: RowSubmitter<JournalWrite, Committed<Verdict>>;
  parkTurn: RowSubmitter<TurnPark, Parking>;
  finishTurn: RowSubmitter<TurnEnd, FinishResult>;
  beginCompaction: RowSubmitter<CompactionBegin, Committed<CompactionStart>>;
  writeCompaction: RowSubmitter<CompactionWrite, Committed<CompactionVerdict>>;
  locks: LockKeeper;
  deltas: DeltaWriter;
  transcripts: TranscriptCache;
  /**
   * Hashes of snapshots that are in the database already. It drops them soon, because an erasure
   * deletes those that no other turn shows.
   */
  knownSnapshots: KnownSnapshots;
  /** Contents of snapshots that turns ask for again. */
  snapshotCache: SnapshotCache;
}

/** The models, and what this worker knows of them. */
export interface TurnModels {
  client: Model;
  /** The prices of this process's calls. */
  prices: PriceBook;
  /** How long the last answers of each agent were. */
  recentOutputs: OutputHistory;
  /** The models that must not be called now. */
  states: ModelStates;
  /** The gate before model calls: what is asked of each call, in this order. */
  checks: readonly GateCheck[];
  /** Called when a call has waited for a rate limit or a block. Must not throw. */
  onRateWait: (wait: { model: string; waitedMs: number }) => void;
}

/** What the part of a feature in turns is made from. */
export interface TurnParts
  extends Pick<TurnContext, 'config' | 'clock' | 'logger'>, Pick<TurnModels, 'prices' | 'recentOutputs'> {
  database: Database;
  model: Model;
  /** Names this process; never used twice. */
  owner: string;
}

/**
 * What a feature may do in turns. Where several answer, the first in the order of src/features.ts
 * does.
 */
export interface TurnFeature {
  /** Asked before a model call, between the kernel's own checks, and called when it is stored. */
  readonly check?: GateCheck;
  /**
   * A request that was fixed before the turn: it is sent in place of one that is assembled; null: it
   * is assembled. Asked when a turn opens. Throws `TurnFailed` for one that cannot be made.
   */
  readonly request?: (inputs: readonly WaitingInput[], agent: AgentSettings) => Promise<GivenRequest | null>;
  /**
   * Called before each answer is asked for: may commit what the model has to read first. Throws
   * what stops, parks or ends the turn.
   */
  readonly prepare?: (context: TurnContext, turn: OpenedTurn) => Promise<void>;
  /** Gets the next answer in its own way; null: the model is asked. Throws as `askModel` does. */
  readonly ask?: (context: TurnContext, turn: OpenedTurn) => Promise<AnsweredCall | null>;
  /**
   * Its tools that may be others at the next turn: asked when a turn opens, and when another worker
   * resumes it; null: none for this agent.
   */
  readonly tools?: (agentId: string, agent: Pick<AgentSettings, 'externalTools'>) => Promise<ChangingTools | null>;
  /**
   * What it does with tool calls: something else runs in place of their tools, or they wait for
   * something outside before they run or have a result.
   */
  readonly calls?: StandInKind | HoldKind;
  /**
   * Ends the turn in a way of its own when the model has said its last word; null: it ends as any
   * other.
   */
  readonly judge?: (
    context: TurnContext,
    turn: OpenedTurn,
    said: { write: TurnWrite; reply: string | null },
  ) => EndDecision | null;
  /** What the end of a turn leaves to be done for it. */
  readonly effects?: (turn: OpenedTurn, result: TurnResult) => TurnEffect[];
}
