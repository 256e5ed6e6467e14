// What earlier turns fixed and later ones read again: contents of snapshots by their hash. They never change, so a worker keeps what
// it has seen; only one that meets a session for the first time asks the database.
import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Database } from '../../database/database.ts';
import { readSnapshots } from '../sessions/snapshots.ts';

/** A part of a request as it is kept: JSON text under the hash of its bytes. */
export interface Snapshot {
  sha256: string;
  content: string;
}

/** A value with the snapshot that it is kept as. */
export interface ValueSnapshot<Value> {
  value: Value;
  snapshot: Snapshot;
}

/** The most that is kept, in UTF-16 units of JSON. */
const KEPT_CHARS_MAX = 24_000_000;

const snapshots = new WeakMap<object, Snapshot>();

/** The snapshot of an immutable value; the same object is hashed once. */
export function takeSnapshot(value: object): Snapshot {
  const known = snapshots.get(value);
  if (known !== undefined) return known;
  const content = JSON.stringify(value);
  const snapshot = { sha256: createHash('sha256').update(content).digest('hex'), content };
  snapshots.set(value, snapshot);
  return snapshot;
}

export class SnapshotCache {
  readonly #kept = new LRUCache<string, object>({ maxSize: KEPT_CHARS_MAX });

  /** Caches a value under its hash. Equal values become one object, so that everything derived from it is made once. */
  keep<Value extends object>(value: Value): ValueSnapshot<Value> {
    const snapshot = takeSnapshot(value);
    const known = this.#kept.get(snapshot.sha256);
    if (known !== undefined) return { value: known as Value, snapshot: takeSnapshot(known) };
    this.#kept.set(snapshot.sha256, value, { size: Math.max(1, snapshot.content.length) });
    return { value, snapshot };
  }

  /**
   * The values of the given hashes; what is in neither memory nor database is missing. Costs a round trip only for what this
   * worker has not seen.
   */
  async recall(database: Database, hashes: readonly string[]): Promise<Map<string, object>> {
    const found = new Map<string, object>();
    for (const sha256 of hashes) {
      const value = this.#kept.get(sha256);
      if (value !== undefined) found.set(sha256, value);
    }
    const missing = hashes.filter((sha256) => !found.has(sha256));
    if (missing.length === 0) return found;
    for (const [sha256, value] of await readSnapshots(database, missing)) {
      if (typeof value !== 'object' || value === null) continue;
      found.set(sha256, value);
      this.#kept.set(sha256, value, { size: Math.max(1, JSON.stringify(value).length) });
    }
    return found;
  }
}

const KNOWN_MAX = 10_000;
/** How long a stored snapshot is assumed to exist, in milliseconds: an erasure waits longer than this before it deletes any. */
const KNOWN_MS = 1_000;

/** The snapshots that this process has stored lately. It stores another one again, which costs little and changes nothing. */
export class KnownSnapshots {
  readonly #hashes = new LRUCache<string, true>({ max: KNOWN_MAX, ttl: KNOWN_MS });

  has(sha256: string): boolean {
    return this.#hashes.has(sha256);
  }

  add(sha256: string): void {
    this.#hashes.set(sha256, true);
  }
}
