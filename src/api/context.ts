// The dependencies of the API. Use cases write, views read; nothing here depends on turns or jobs.
import type { Registry } from 'prom-client';
import type { Clock } from '../clock.ts';
import type { Config, LiveConfig, Setting } from '../config.ts';
import type { Logger, OutageLog } from '../logger.ts';
import type { MeasurePrompt, OpenModel, Service } from '../kernel/use-cases/service.ts';
import type { ViewDatabase } from '../database/page.ts';
import type { Wake } from '../kernel/queue/rings.ts';

export interface ApiContext {
  config: Config;
  /** Reads the configuration again. */
  live: LiveConfig;
  /** The options of the command, as settings. */
  flags: readonly Setting[];
  installation: Installation;
  logger: Logger;
  /** Takes the faults of the database that a request or a stream survives. */
  outages: OutageLog;
  clock: Clock;
  /** The key with all rights, in addition to those of the configuration. */
  adminKey: string;
  views: ViewDatabase;
  /**
   * The views of GET requests: they have their own pool, so that reading takes no connection from
   * other work.
   */
  reads: ViewDatabase;
  /** What every write goes through. */
  service: Service;
  deriveRequest: DeriveRequest;
  measurePrompt: MeasurePrompt;
  /** The model as the workers ask it, for probes. */
  openModel: OpenModel;
  wake: CommitWake;
  modelInfo: ModelInfo;
  /** The dependencies in addition to the database, which is always checked. */
  dependencies: Dependency[];
  /** Absent: the API makes its own. Other metrics of the process are served with it. */
  metrics?: Registry;
}

/** The model request of call `n` of a turn, as it was sent; null when there was no such call. */
type DeriveRequest = (turnId: string, n: number) => Promise<object | null>;

/** Reports that something of a session was committed in this process. Listeners must not throw. */
export type CommitWake = Pick<Wake, 'onCommit'>;

/** What this process runs, in addition to its database. */
export interface Installation {
  holdfast: string;
  queue: string;
  /** `embedded`: its own in the data directory. */
  database: 'embedded' | 'configured';
}

export interface ModelInfo {
  provider: string;
  /** The default model of agents. */
  name: string;
  /** True when answers come from the built-in script because there is no key. */
  isScripted: boolean;
}

export interface Dependency {
  name: string;
  /**
   * True: without it messages are still accepted, so the service is degraded and not unavailable.
   */
  isOptional?: boolean;
  /** Knows since when it is away; absent: since the first check that failed. */
  outages?: Pick<OutageLog, 'since'>;
  /** Rejects when the dependency cannot be used; must stop when the signal aborts. */
  check(signal: AbortSignal): Promise<void>;
}

/** The context over the use cases of a process. */
export function createApiContext(parts: Omit<ApiContext, 'config' | 'views' | 'reads' | 'outages'>): ApiContext {
  const { config, views, reads, database } = parts.service;
  return { ...parts, config, views, reads, outages: database.outages };
}
