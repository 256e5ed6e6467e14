// What a feature runs in a process beside its turns: the type of it, and what it is made from.
import type { Registry } from 'prom-client';
import type { SessionId } from '../core/ids.ts';
import type { LiveConfig } from '../config.ts';
import type { Logger } from '../logger.ts';
import type { Tracing } from '../tracing.ts';
import type { DeliveryRing } from './queue/after-commit.ts';
import type { Rounds } from './queue/start-rounds.ts';
import type { WorkQuestion, WorkWatch } from './queue/work-watch.ts';
import type { OpenModel, Service } from './use-cases/service.ts';
import type { WorkerIdentity } from './processes/report-worker.ts';

export type Role = 'api' | 'worker' | 'scheduler';

/** Where models are asked: at the provider, or at a scripted model of this process. */
export interface ModelEndpoint {
  apiKey: string;
  baseUrl?: string;
  isScripted: boolean;
}

/** What a process has for its features. */
export interface Process {
  roles: readonly Role[];
  service: Service;
  live: LiveConfig;
  logger: Logger;
  identity: WorkerIdentity;
  modelEndpoint: ModelEndpoint;
  /** The model as the workers ask it. A process without workers loads it when it is called first. */
  openModel: OpenModel;
  /** Asks whether there is work, for all rounds of the process. */
  watch: WorkWatch;
  /** Undefined: nothing is traced. */
  tracing: Tracing | undefined;
  /** Null: nothing is measured. */
  metrics: Registry | null;
}

/** What a feature runs in a process. */
export interface ProcessPart {
  /** Repeated from when the process works until its drain, each for itself. */
  rounds?: readonly Omit<Rounds, 'database' | 'watch'>[];
  schedule?: ScheduleStep;
  /**
   * Sends the replies of a session: the jobs of the lane `deliver`. After `draining` it begins
   * none, and on `signal` it leaves the one in progress.
   */
  deliver?: (job: { sessionId: SessionId; signal: AbortSignal; draining: AbortSignal }) => Promise<unknown>;
  due?: DueDeliveries;
  /** Called when nothing of the process works any more. */
  stop?: () => Promise<unknown>;
}

/** The sessions with replies to send that have no ring, or whose ring may be lost. */
export interface DueDeliveries {
  /** Whether there may be any. */
  work: WorkQuestion;
  read: () => Promise<readonly DeliveryRing[]>;
}

/** Starts the traces of a process, which its parts are given. */
export type OpenTracing = (process: Omit<Process, 'tracing'>) => Tracing & { stop(): Promise<void> };

/**
 * What begins by the clock. The scheduler calls those of all features one after the other, in one
 * round: none may wait for anything but the database.
 */
export interface ScheduleStep {
  /**
   * Whether something is due within `SOON_SQL`, or has ended; absent: it is asked in each round.
   */
  work?: WorkQuestion;
  /** Applies the configuration: at the beginning, after a reload, and again when it has failed. */
  sync: () => Promise<void>;
  /**
   * Starts what is due; resolves with the milliseconds until more is, or null when that is not
   * known.
   */
  start: (signal: AbortSignal) => Promise<number | null>;
  /** Called after all have started what is due: settles what has ended. */
  settle?: () => Promise<void>;
}

/** Opens the part before the process begins to work. */
export type OpenPart = (process: Process) => ProcessPart | Promise<ProcessPart>;
