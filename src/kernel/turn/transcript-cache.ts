// A session's transcript as a worker holds it: the entries of the active path, how far they reach, and the history that the last
// turn made of them. Transcripts of sessions that ran lately are kept, so that the next turn reads only what is new, and extends
// the same history when it shows the same past.
//
// A kept transcript is valid while the session's transcript version is the same: within a version, entries are only ever
// appended. A turn that ends in any unclear way does not return its transcript.
import { LRUCache } from 'lru-cache';
import type { ContentBlock } from '../../core/content.ts';
import type { Entry } from '../../core/entry.ts';
import type { ViewEntry } from '../../history/view-messages.ts';
import type { SessionId } from '../../core/ids.ts';
import type { SessionClaim } from '../sessions/claim-session.ts';
import type { Violation } from '../../history/check-request.ts';
import type { History } from '../../history/prepare-history.ts';
import type { ModelMessage } from '../../core/model-request.ts';

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
   * Removes a transcript from the cache, before its session is claimed: what the claim names as known must still exist when it is
   * answered. Null when there is none to extend.
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

/** A history, the inputs that made it, and how far it reaches. Kept with the transcript, so that the next turn can extend it. */
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
