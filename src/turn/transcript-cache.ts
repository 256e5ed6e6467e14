// A session's transcript as a worker holds it: the prepared history, how far it reaches, and the check that remembers what
// it has looked at. Transcripts of sessions that ran lately are kept, so that the next turn reads only what is new.
//
// A kept transcript is valid while the session's transcript version is the same: within a version, entries are only ever
// appended. A turn that ends in any unclear way does not give its transcript back.
import { LRUCache } from 'lru-cache';
import type { ContentBlock } from '../core/content.ts';
import type { Entry } from '../core/entry.ts';
import { createRequestCheck } from '../core/history/check-request.ts';
import { createHistory, type History } from '../core/history/prepare-history.ts';
import type { SessionId } from '../core/ids.ts';

/** The most text that is kept, in UTF-16 units. */
const KEPT_CHARS_MAX = 6_000_000;

export class Transcript {
  readonly version: number;
  readonly history: History = createHistory();
  /** Says what is wrong with the messages; looks at new ones only. */
  readonly check = createRequestCheck();
  /** The last entry. */
  last: Entry | null = null;
  /** How much text it holds, about. */
  chars = 0;

  constructor(version: number) {
    this.version = version;
  }

  push(entry: Entry): void {
    this.history.push(entry);
    this.last = entry;
    this.chars += charsOf(entry.content);
  }
}

export class TranscriptCache {
  readonly #kept = new LRUCache<SessionId, Transcript>({
    maxSize: KEPT_CHARS_MAX,
    sizeCalculation: (transcript) => Math.max(1, transcript.chars),
  });

  /** What is known of a session, for its claim; version -1 when nothing is. */
  known(sessionId: SessionId): { version: number; seq: number } {
    const transcript = this.#kept.get(sessionId);
    return transcript?.last ? { version: transcript.version, seq: transcript.last.seq } : { version: -1, seq: 0 };
  }

  /** Takes a transcript out: while its turn runs, nobody else may have it. */
  take(sessionId: SessionId): Transcript | null {
    const transcript = this.#kept.get(sessionId) ?? null;
    this.#kept.delete(sessionId);
    return transcript;
  }

  /** Keeps a transcript whose every entry is committed. */
  keep(sessionId: SessionId, transcript: Transcript): void {
    if (transcript.chars <= KEPT_CHARS_MAX) this.#kept.set(sessionId, transcript);
  }
}

/** About how much text blocks hold, in UTF-16 units. */
function charsOf(content: ContentBlock[]): number {
  let chars = 64;
  for (const block of content) {
    if (block.type === 'text') chars += block.text.length;
    else if (block.type === 'tool_result' && typeof block.content === 'string') chars += block.content.length;
    else chars += JSON.stringify(block).length;
  }
  return chars;
}
