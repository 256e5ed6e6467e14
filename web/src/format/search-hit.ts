// Hits of the search: where they lead, and their words in pieces.
import type { SearchHit } from '../api.ts';

/** The place in the transcript that has the words, or the turn that failed. */
export function hitHref({ turnId, sessionKey, entrySeq, entryState, transcriptNo }: SearchHit): string {
  if (entrySeq === null) return `/turns/${turnId}`;
  const query = new URLSearchParams({ entry: String(entrySeq) });
  if (entryState !== 'active') query.set('state', 'all');
  if (transcriptNo !== null) query.set('transcript', String(transcriptNo));
  return `/sessions/${encodeURIComponent(sessionKey)}?${query.toString()}`;
}

export function markedPieces({ text, ranges }: SearchHit['snippet']): { text: string; isHit: boolean }[] {
  const pieces = ranges.flatMap(({ start, end }, n) => [
    { text: text.slice(ranges[n - 1]?.end ?? 0, start), isHit: false },
    { text: text.slice(start, end), isHit: true },
  ]);
  return [...pieces, { text: text.slice(ranges.at(-1)?.end ?? 0), isHit: false }].filter((piece) => piece.text !== '');
}
