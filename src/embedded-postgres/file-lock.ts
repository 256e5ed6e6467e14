// Locks between the processes of one machine. The kernel holds them and releases them when their
// process ends in any way: no lock file can go stale and no recycled process id can be mistaken for
// a holder. Node has no call for such a lock, but its SQLite takes one for every transaction, on
// every platform; the databases stay empty.
import { accessSync, constants } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { EmbeddedPostgresError } from './embedded-postgres-error.ts';

const POLL_MS = 15;
const SQLITE_BUSY = 5;

/** Keeps held locks from being collected as garbage, which would release them. */
const held = new Set<DatabaseSync>();

/** A lock that is held until `release`, which may be called twice, or until the process ends. */
export interface FileLock {
  release(): void;
}

/**
 * Takes the lock `path` alone, waiting for other holders up to `waitMs`. Throws
 * `embedded_postgres_lock_timeout` after that.
 */
export function lockAlone(path: string, waitMs: number): Promise<FileLock> {
  return waitForLock(path, waitMs, tryLockAlone);
}

/** The same, shared with other holders. */
export function lockShared(path: string, waitMs: number): Promise<FileLock> {
  return waitForLock(path, waitMs, tryLockShared);
}

/** Acquires the lock `path` exclusively if there is no holder; null otherwise. */
export function tryLockAlone(path: string): Promise<FileLock | null> {
  return tryLock(path, 'BEGIN EXCLUSIVE');
}

function tryLockShared(path: string): Promise<FileLock | null> {
  // The lock is taken by the first read of the transaction, not by its BEGIN.
  return tryLock(path, 'BEGIN; SELECT count(*) FROM sqlite_master');
}

async function waitForLock(path: string, waitMs: number, tryIt: typeof tryLockAlone): Promise<FileLock> {
  const deadline = performance.now() + waitMs;
  for (;;) {
    const lock = await tryIt(path);
    if (lock !== null) return lock;
    if (performance.now() >= deadline) {
      throw new EmbeddedPostgresError({
        code: 'embedded_postgres_lock_timeout',
        problem: `Another process has been starting or stopping the embedded PostgreSQL for ${waitMs} ms (lock ${path}).`,
        remedy: 'Wait for that Holdfast process, or end it.',
      });
    }
    await delay(POLL_MS);
  }
}

async function tryLock(path: string, statement: string): Promise<FileLock | null> {
  const { DatabaseSync } = await import('node:sqlite');
  let database;
  try {
    database = new DatabaseSync(path, { timeout: 0 });
    // SQLite would accept read-only access, and a lock that excludes no other process.
    accessSync(path, constants.W_OK);
    // Nothing is ever written, and a journal file left by a killed process would only look like
    // damage.
    database.exec('PRAGMA journal_mode = OFF');
    database.exec(statement);
    return hold(database);
  } catch (error) {
    database?.close();
    if (error instanceof Error && 'errcode' in error && error.errcode === SQLITE_BUSY) return null;
    throw new EmbeddedPostgresError({
      code: 'embedded_postgres_data_dir_unusable',
      problem: `The lock file ${path} cannot be used: ${String(error)}.`,
      remedy: 'Give this user write access to the data directory, or set HOLDFAST_DATA_DIR to another one.',
      cause: error,
    });
  }
}

function hold(database: DatabaseSync): FileLock {
  held.add(database);
  return {
    release: () => {
      if (held.delete(database)) database.close();
    },
  };
}
