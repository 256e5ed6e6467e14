// What a turn needs of the process that runs it. Built once by the entry point of a worker; tests build their own.
import type { Clock } from '../clock.ts';
import type { Config } from '../config.ts';
import type { ModelRequest } from '../core/model-request.ts';
import type { Logger } from '../logger.ts';
import type { Model } from '../model/model.ts';
import type { Coalesced } from '../store/coalescer.ts';
import type { Database } from '../store/database.ts';
import type { JournalWrite, Verdict } from '../store/journal.ts';
import type { Ending, TurnEnd } from '../store/journal/finish-turn.ts';
import type { NewTurn, Opening } from '../store/journal/open-turn.ts';
import type { Claim, ClaimRequest } from '../store/claim-session.ts';
import type { NeededRing, Release } from '../store/session-locks.ts';
import type { Toolset } from '../tools/toolset.ts';
import type { Committed } from '../wake.ts';
import type { DeltaWriter } from './delta-writer.ts';
import type { LockKeeper } from './held-session.ts';
import type { TranscriptCache } from './transcript-cache.ts';

export interface TurnContext {
  config: Config;
  clock: Clock;
  logger: Logger;
  database: Database;
  store: {
    claim: Coalesced<ClaimRequest, Claim>;
    release: Coalesced<Release, NeededRing | null>;
    openTurn: Coalesced<NewTurn, Opening>;
    commitStep: Coalesced<JournalWrite, Verdict>;
    finishTurn: Coalesced<TurnEnd, Ending>;
  };
  locks: LockKeeper;
  deltas: DeltaWriter;
  transcripts: TranscriptCache;
  model: Model;
  /** The tools of an agent, in stable order. */
  toolsetOf: (agentId: string) => Toolset;
  /** Hashes of snapshots that are in the database already. */
  knownSnapshots: Set<string>;
  /** A number in [0, 1), for jitter. */
  random: () => number;
  /** True while the worker drains: a turn stops at its next step boundary and is left resumable. */
  isDraining: () => boolean;
  /** Told after each commit of a session; must not throw. */
  onCommit: (sessionId: string, what: Committed) => void;
}

/** The unchanging parts of a turn's model requests. */
export type RequestBase = Omit<ModelRequest, 'messages'>;
