// The log: pino to stderr, JSON lines, pretty only when asked for (a terminal). Secrets are removed
// twice, by the name of the field and by their value wherever it appears, because an error message
// of a driver may carry what no field name betrays (G31).
import { createRequire } from 'node:module';
import { hostname } from 'node:os';
import { pino, type DestinationStream, type Logger as PinoLogger } from 'pino';
import type { LogFormat, LogLevel, LogFileLimits } from './config/schema-environment.ts';
import { secretPatterns } from './config/secrets.ts';
import { closeSync, fstatSync, mkdirSync, openSync, readdirSync, rmSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';

export type Logger = PinoLogger;

export interface LoggerOptions {
  level: LogLevel;
  format: LogFormat;
  name: string;
  /** The roles of this process, on every line: `api`, `worker,scheduler`; absent: none. */
  role?: string;
  /**
   * Known secret values, see `secretsOf`; each is replaced wherever it appears in a line. Shorter
   * than 6 characters are ignored. A function returns the same list until the secrets change.
   */
  secrets?: readonly string[] | (() => readonly string[]);
  /** Where they go as well, always as JSON; absent: nowhere. */
  files?: DestinationStream | undefined;
  /** Where the lines go; absent: stderr. */
  destination?: DestinationStream;
}

const CENSOR = '[redacted]';

const SECRET_FIELDS = [
  'authorization',
  'Authorization',
  'cookie',
  'set-cookie',
  'proxy-authorization',
  'x-api-key',
  'apiKey',
  'api_key',
  'secret',
  'displaySecret',
  'password',
  'passwd',
  'token',
  'accessToken',
  'databaseUrl',
  'redisUrl',
  'connectionString',
];

/**
 * A logger. Its format and level are fixed for its life; children (`logger.child({ turnId })`)
 * share its redaction.
 */
export function createLogger(options: LoggerOptions): Logger {
  const destination = options.destination ?? toStderr(options.format);
  const { secrets = [] } = options;
  return pino(
    {
      name: options.name,
      level: options.level,
      base: {
        name: options.name,
        ...(options.role === undefined ? {} : { role: options.role }),
        process: `${hostname()}:${process.pid}`,
      },
      timestamp: pino.stdTimeFunctions.isoTime,
      redact: { paths: redactPaths(), censor: CENSOR },
    },
    withoutSecrets(
      options.files === undefined ? destination : both(destination, options.files),
      typeof secrets === 'function' ? secrets : () => secrets,
    ),
  );
}

function both(first: DestinationStream, second: DestinationStream): DestinationStream {
  return {
    write(line: string) {
      first.write(line);
      second.write(line);
    },
  };
}

/** The fields at the top of a line, and one and two levels below it. */
function redactPaths(): string[] {
  return SECRET_FIELDS.flatMap((field) => {
    const step = /^\w+$/.test(field) ? `.${field}` : `["${field}"]`;
    const top = /^\w+$/.test(field) ? field : `["${field}"]`;
    return [top, `*${step}`, `*.*${step}`];
  });
}

/** Replaces known secret values and things shaped like keys in finished lines. */
function withoutSecrets(destination: DestinationStream, secrets: () => readonly string[]): DestinationStream {
  const toPattern = (list: readonly string[]) => new RegExp([...secretPatterns(list), ...KEY_SHAPES].join('|'), 'g');
  let known = secrets();
  let pattern = toPattern(known);
  return {
    write(line: string) {
      const now = secrets();
      if (now !== known) [known, pattern] = [now, toPattern(now)];
      destination.write(line.replace(pattern, CENSOR));
    },
  };
}

/**
 * Keys that are recognised by their form: Anthropic's, webhook secrets, our own, bearer headers,
 * passwords in URLs.
 */
const KEY_SHAPES = [
  String.raw`sk-ant-[\w-]{8,}`,
  String.raw`whsec_[\w+/=]{8,}`,
  String.raw`\bhft?_[\w-]{20,}`,
  String.raw`(?<=[Bb]earer )[\w.~+/=-]{8,}`,
  String.raw`(?<=(?:postgres|postgresql|redis|rediss|https?):\/\/[^\s:/@"]{0,200}:)[^\s/@"]{1,200}(?=@)`,
];

/**
 * stderr, synchronously: a line written just before an exit is not lost. The pretty printer is
 * loaded only when it is used.
 */
function toStderr(format: LogFormat): DestinationStream {
  if (format === 'json') return pino.destination({ dest: 2, sync: true });
  const pretty = createRequire(import.meta.url)('pino-pretty') as (options: object) => DestinationStream;
  return pretty({ destination: 2, sync: true, translateTime: 'SYS:HH:MM:ss.l', ignore: 'process' });
}

// Logs the outage of a dependency as a story of a few lines: one when it starts, one per minute
// while it lasts, one when it ends. During an outage every part of the process fails several times
// a second; without this the log would be a wall of warnings. A dependency (the database, the
// queue) has one outage log per process, and every part reports its faults there.

export interface OutageLog {
  /**
   * Logs an error that the caller survives. A fault of the dependency is part of its outage; any
   * other error is one warning with this message and these facts.
   */
  report(error: unknown, message: string, facts?: Record<string, unknown>): void;
  /** Notes a fault of the dependency. */
  failed: (error: unknown) => void;
  /** True from the first fault of an outage until the dependency answers again. */
  readonly isOngoing: boolean;
  /** When the outage began that lasts now; null: none does. */
  readonly since: Date | null;
  /** Faults of the dependency since the process started. */
  readonly faults: number;
  /** Notes that the dependency has answered. Cheap: call it for every answer. */
  answered(): void;
}

export interface OutageLogOptions {
  /** How the lines name the dependency: `database`, `queue`. */
  dependency: string;
  logger: Pick<Logger, 'info' | 'warn'>;
  /** True for an error that means that the dependency cannot work now. */
  isOutage: (error: unknown) => boolean;
  /** Called with each fault. Must not throw. */
  onFault?: (error: unknown) => void;
  /** Milliseconds that never go back; absent: the machine's monotonic clock. */
  monotonicMs?: () => number;
}

/** While an outage lasts, one line is logged per interval, in milliseconds. */
const REMINDER_MS = 60_000;

/**
 * An outage is over when the dependency answers and nothing has failed for so long: connections
 * come back one by one.
 */
const SETTLED_MS = 2_000;

interface Outage {
  since: Date;
  startedAtMs: number;
  loggedAtMs: number;
  failedAtMs: number;
  faults: number;
}

/** Makes the outage log of one dependency. */
export function createOutageLog(options: OutageLogOptions): OutageLog {
  const { dependency, logger, isOutage, monotonicMs = () => performance.now() } = options;
  let outage: Outage | null = null;
  let total = 0;

  function failed(error: unknown): void {
    const nowMs = monotonicMs();
    total += 1;
    options.onFault?.(error);
    if (outage === null) {
      outage = { since: new Date(), startedAtMs: nowMs, loggedAtMs: nowMs, failedAtMs: nowMs, faults: 1 };
      logger.warn({ dependency, ...toReason(error) }, `The ${dependency} is unavailable; calls to it are retried`);
      return;
    }
    outage.failedAtMs = nowMs;
    outage.faults += 1;
    if (nowMs - outage.loggedAtMs < REMINDER_MS) return;
    outage.loggedAtMs = nowMs;
    const { faults, startedAtMs } = outage;
    const facts = { dependency, ...toReason(error), faults, durationMs: Math.round(nowMs - startedAtMs) };
    logger.warn(facts, `The ${dependency} is still unavailable`);
  }

  return {
    failed,
    get isOngoing() {
      return outage !== null;
    },
    get since() {
      return outage?.since ?? null;
    },
    get faults() {
      return total;
    },
    report(error, message, facts) {
      if (isOutage(error)) failed(error);
      else logger.warn({ err: error, ...facts }, message);
    },
    answered() {
      if (outage === null) return;
      const nowMs = monotonicMs();
      if (nowMs - outage.failedAtMs < SETTLED_MS) return;
      const { faults, startedAtMs } = outage;
      outage = null;
      const durationMs = Math.round(nowMs - startedAtMs);
      logger.info({ dependency, faults, durationMs }, `The ${dependency} is available again`);
    },
  };
}

/**
 * The part of the error that is logged: its message and its code. The error's own fields may hold a
 * whole connection, and the stack adds nothing.
 */
function toReason(error: unknown): { reason: string; code?: string } {
  if (!(error instanceof Error)) return { reason: String(error) };
  const { code } = error as { code?: unknown };
  // A refused connection to several addresses is an AggregateError without a message of its own.
  const first = error instanceof AggregateError && error.errors[0] instanceof Error ? error.errors[0] : error;
  const reason = error.message || first.message || error.name;
  return typeof code === 'string' ? { reason, code } : { reason };
}

// Log files: JSON lines in the data directory, beside what goes to stderr. Each process writes
// files of its own, in pieces of a bounded size. Of the files of all processes, the latest stay,
// and the newest of each process that still writes. A disk that refuses costs log lines and nothing
// else.

/** Where they are, in the data directory. */
export const LOG_FOLDER = 'logs';

/** So that names are in the order of their numbers. */
const NUMBER_DIGITS = 6;
const NAME = /^holdfast-.+\.jsonl$/;
/** Its time, the host and the id of its process, and its number. */
const PARTS = /^holdfast-[^-]+-(?<host>.+)-(?<pid>\d+)-\d+\.jsonl$/;
/** A host is asked for a process only by its own name. */
const HOST = hostname().replaceAll(/[^\w.-]/g, '_');
/** A process of another host that has written nothing for so long counts as gone. */
const GONE_MS = 24 * 60 * 60 * 1000;
/** After a write that failed, lines are left out for so long. */
const FAILED_MS = 60_000;

/** The names of the log files in a folder, in the order in which they were begun. */
export function logFilesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => NAME.test(name))
      .toSorted();
  } catch {
    return [];
  }
}

/** Writes lines to files in a folder, which it makes. */
export class LogFiles implements DestinationStream {
  readonly #folder: string;
  readonly #limits: LogFileLimits;
  #file: { descriptor: number; bytes: number } | null = null;
  #begun = 0;
  #failedAtMs = -Infinity;

  constructor(folder: string, limits: LogFileLimits) {
    this.#folder = folder;
    this.#limits = limits;
  }

  write(line: string): void {
    if (performance.now() - this.#failedAtMs < FAILED_MS) return;
    try {
      const bytes = Buffer.from(line);
      if (this.#file === null || this.#file.bytes + bytes.length > this.#limits.bytes || isDeleted(this.#file))
        this.#next();
      if (this.#file !== null) this.#file.bytes += writeSync(this.#file.descriptor, bytes);
    } catch {
      this.#failedAtMs = performance.now();
      this.#close();
    }
  }

  #next(): void {
    this.#close();
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    this.#begun += 1;
    const time = new Date().toISOString().replaceAll(/[-:.]/g, '');
    const path = join(
      this.#folder,
      `holdfast-${time}-${HOST}-${process.pid}-${String(this.#begun).padStart(NUMBER_DIGITS, '0')}.jsonl`,
    );
    this.#file = { descriptor: openSync(path, 'a', 0o600), bytes: 0 };
    this.#deleteOld();
  }

  /** Deletes the oldest files, except those to which a process may still write. */
  #deleteOld(): void {
    const files = logFilesIn(this.#folder).map((name) => {
      const path = join(this.#folder, name);
      const { host = '', pid = '' } = PARTS.exec(name)?.groups ?? {};
      const writtenAtMs = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
      return { path, host, pid, process: `${host}-${pid}`, writtenAtMs };
    });
    const newest = new Map(files.map(({ process, path }) => [process, path]));
    const old = files
      .toReversed()
      .toSorted((a, b) => b.writtenAtMs - a.writtenAtMs)
      .slice(this.#limits.count);
    for (const file of old)
      if (newest.get(file.process) !== file.path || isGone(file)) rmSync(file.path, { force: true });
  }

  #close(): void {
    const file = this.#file;
    this.#file = null;
    try {
      if (file !== null) closeSync(file.descriptor);
    } catch {
      // A disk may report at the end that it has lost what was written.
    }
  }
}

/** Whether the process of a file writes no longer. */
function isGone({ host, pid, writtenAtMs }: { host: string; pid: string; writtenAtMs: number }): boolean {
  if (host !== HOST) return Date.now() - writtenAtMs > GONE_MS;
  try {
    process.kill(Number(pid), 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}

function isDeleted({ descriptor }: { descriptor: number }): boolean {
  return fstatSync(descriptor).nlink === 0;
}
