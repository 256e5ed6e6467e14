// Log files: JSON lines in the data directory, beside what goes to stderr. Each process writes files of its own, in pieces of a bounded size. Of the
// files of all processes, the latest stay, and the newest of each process that still writes. A disk that refuses costs log lines and nothing else.
import { closeSync, fstatSync, mkdirSync, openSync, readdirSync, rmSync, statSync, writeSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { DestinationStream } from 'pino';
import type { LogFileLimits } from './config/schema-environment.ts';

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

  /** Those that were written to longest ago, unless a process may still write to them. */
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
