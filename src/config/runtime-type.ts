// The settings from the environment, as the rest of Holdfast sees them.
import type { LogFileLimits } from './log-file-limits.ts';
import type { Lane, LogFormat, LogLevel, TraceSampler } from './choices.ts';

/** The settings from the environment. An empty variable counts as unset. */
export interface RuntimeSettings {
  /** Absent: embedded PostgreSQL in the data directory. */
  databaseUrl?: string;
  /** Absent: BullMQ's PostgreSQL backend. */
  redisUrl?: string;
  /** Absolute. */
  dataDir: string;
  /** Absolute path of the file that was read; null when there is none. */
  configPath: string | null;
  host: string;
  /** 0: any free port. */
  port: number;
  /** Where a process without the API serves its metrics; 0: any free port; absent: nowhere. */
  metricsPort?: number;
  /** Absent: the generated one, see `ensureApiKey`. */
  apiKey?: string;
  leaseMs: number;
  reconcileMs: number;
  /** `lanes`, with what HOLDFAST_CONCURRENCY says over it. */
  concurrency: Record<Lane, number>;
  logLevel: LogLevel;
  logFormat: LogFormat;
  /** Null: no log files are written. */
  logFiles: LogFileLimits | null;
  /** Where traces are exported to, by OTLP over HTTP; absent: nowhere. */
  traceEndpoint?: string;
  /** Absent: `parentbased_always_on`. */
  traceSampler?: TraceSampler;
  /** The part of the traces that a sampler by ratio keeps, 0 to 1; absent: all. */
  traceRatio?: number;
  /** ANTHROPIC_API_KEY, else `models.providers.anthropic.apiKey`; absent: the scripted model. */
  anthropicApiKey?: string;
  /** ANTHROPIC_BASE_URL, else `models.providers.anthropic.baseUrl`; absent: the SDK's own. */
  anthropicBaseUrl?: string;
}
