// A session's transcript as a worker holds it: the entries of the active path, how far they reach,
// and the history that the last turn made of them. Transcripts of sessions that ran lately are
// kept, so that the next turn reads only what is new, and extends the same history when it shows
// the same past.
//
// A kept transcript is valid while the session's transcript version is the same: within a version,
// entries are only ever appended. A turn that ends in any unclear way does not return its
// transcript.
import { LRUCache } from 'lru-cache';
import type { ContentBlock } from '../../core/content.ts';
import type { Entry } from '../../core/entry.ts';
import type { ViewEntry } from '../../history/past.ts';
import type { SessionId } from '../../core/ids.ts';
import type { SessionClaim } from '../sessions/claim-session.ts';
import type { Violation } from '../../history/check-request.ts';
import type { History } from '../../history/prepare-history.ts';
import type { ModelMessage } from '../../core/model-request.ts';
import { createHash } from 'node:crypto';
import type { Database } from '../../database/database.ts';
import { readSnapshots } from '../sessions/snapshots.ts';

/** The most text that is kept, in UTF-16 units. */
const KEPT_CHARS_MAX = 6_000_000;

export class Transcript {
  #version: number;
  #entries: ViewEntry[] = [];
  #edits = 0;
  /** The end of the active path; null when there is none yet, or it was hidden. */
  last: Entry | null = null;
  /** The highest number of an entry that it holds. */
  untilSeq = 0;
  /** How much text it holds, about. */
  chars = 0;
  /** The view that the last turn built from it; null when there is nothing to extend. */
  view: GrowingView | null = null;

  constructor(version: number) {
    this.#version = version;
  }

  get version(): number {
    return this.#version;
  }

  /** The active entries: a summary first, all others in the order of their numbers. */
  get entries(): readonly ViewEntry[] {
    return this.#entries;
  }

  /** How often entries were removed; views from before the last time are outdated. */
  get edits(): number {
    return this.#edits;
  }

  /** Appends an entry; a summary is not added this way (`compact`), but may be the first entry. */
  push(entry: Entry): void {
    const { seq, kind, role, content, provenance } = entry;
    this.#entries.push({ seq, kind, role, content, ...(provenance ? { provenance } : undefined) });
    if (kind !== 'summary') this.last = entry;
    this.untilSeq = Math.max(this.untilSeq, seq);
    this.chars += countChars(content);
  }

  /** Puts a summary in place of everything before `firstKeptSeq` but the pinned entries. */
  compact(
    summary: Pick<Entry, 'seq' | 'kind' | 'role' | 'content'>,
    cut: { firstKeptSeq: number; pinnedSeqs: readonly number[] },
    version: number,
  ): void {
    const isKept = (seq: number): boolean => seq >= cut.firstKeptSeq || cut.pinnedSeqs.includes(seq);
    const kept = this.#entries.filter(({ seq, kind }) => kind !== 'summary' && isKept(seq));
    const { seq, kind, role, content } = summary;
    this.#edit([{ seq, kind, role, content }, ...kept], version);
    this.untilSeq = Math.max(this.untilSeq, seq);
  }

  /** Takes entries out of sight. */
  hide(seqs: ReadonlySet<number>, version: number): void {
    if (this.last !== null && seqs.has(this.last.seq)) this.last = null;
    this.#edit(
      this.#entries.filter(({ seq }) => !seqs.has(seq)),
      version,
    );
  }

  #edit(entries: ViewEntry[], version: number): void {
    this.#entries = entries;
    this.#version = version;
    this.#edits += 1;
    this.chars = entries.reduce((sum, { content }) => sum + countChars(content), 0);
    this.view = null;
  }
}

/** How far a worker knows a session, as passed to a claim; version -1: not at all. */
export function pickKnown(transcript: Transcript | null): { version: number; seq: number } {
  return transcript === null ? { version: -1, seq: 0 } : { version: transcript.version, seq: transcript.untilSeq };
}

export class TranscriptCache {
  readonly #kept = new LRUCache<SessionId, Transcript>({
    maxSize: KEPT_CHARS_MAX,
    sizeCalculation: (transcript) => Math.max(1, transcript.chars + (transcript.view?.imageChars ?? 0)),
  });

  /**
   * Removes a transcript from the cache, before its session is claimed: what the claim names as
   * known must still exist when it is answered. Null when there is none to extend.
   */
  take(sessionId: SessionId): Transcript | null {
    const transcript = this.#kept.get(sessionId);
    this.#kept.delete(sessionId);
    return transcript?.last ? transcript : null;
  }

  /** Keeps a transcript whose every entry is committed. */
  keep(sessionId: SessionId, transcript: Transcript): void {
    if (transcript.chars <= KEPT_CHARS_MAX) this.#kept.set(sessionId, transcript);
  }
}

/** About how much blocks hold, in UTF-16 units. */
function countChars(content: readonly ContentBlock[]): number {
  let chars = 64;
  for (const block of content) {
    if (block.type === 'text') chars += block.text.length;
    else if (block.type === 'tool_result' && typeof block.content === 'string') chars += block.content.length;
    else chars += JSON.stringify(block).length;
  }
  return chars;
}

/**
 * A history, the inputs that made it, and how far it reaches. Kept with the transcript, so that the
 * next turn can extend it.
 */
export interface GrowingView {
  key: string;
  history: History;
  /** Reports faults of the messages; checks only new ones. */
  check: (messages: readonly ModelMessage[]) => Violation[];
  /** How many entries it shows, and the numbers of the first and the last of them. */
  count: number;
  firstSeq: number | undefined;
  lastSeq: number | undefined;
  /** How much its images hold, in characters. */
  imageChars: number;
}

/** A claimed session, with the transcript of it that this worker had kept; null: none. */
export type ClaimWithTranscript = SessionClaim & { kept: Transcript | null };

// What earlier turns fixed and later ones read again: contents of snapshots by their hash. They
// never change, so a worker keeps what it has seen; only one that meets a session for the first
// time asks the database.

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
const SNAPSHOT_CHARS_MAX = 24_000_000;

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
  readonly #kept = new LRUCache<string, object>({ maxSize: SNAPSHOT_CHARS_MAX });

  /**
   * Caches a value under its hash. Equal values become one object, so that everything derived from
   * it is made once.
   */
  keep<Value extends object>(value: Value): ValueSnapshot<Value> {
    const snapshot = takeSnapshot(value);
    const known = this.#kept.get(snapshot.sha256);
    if (known !== undefined) return { value: known as Value, snapshot: takeSnapshot(known) };
    this.#kept.set(snapshot.sha256, value, { size: Math.max(1, snapshot.content.length) });
    return { value, snapshot };
  }

  /**
   * The values of the given hashes; what is in neither memory nor database is missing. Costs a
   * round trip only for what this worker has not seen.
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
/**
 * How long a stored snapshot is assumed to exist, in milliseconds: an erasure waits longer than
 * this before it deletes any.
 */
const KNOWN_MS = 1_000;

/**
 * The snapshots that this process has stored lately. It stores another one again, which costs
 * little and changes nothing.
 */
export class KnownSnapshots {
  readonly #hashes = new LRUCache<string, true>({ max: KNOWN_MAX, ttl: KNOWN_MS });

  has(sha256: string): boolean {
    return this.#hashes.has(sha256);
  }

  add(sha256: string): void {
    this.#hashes.set(sha256, true);
  }
}
