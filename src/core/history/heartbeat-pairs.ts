// Polls that found nothing to do are noise in a history: a poll and the turn that only acknowledged it are left out together. Rows of
// such turns are marked when they end; this is a second check, for rows of older versions or other paths.
import { textOf } from '../content.ts';
import type { Entry } from '../entry.ts';
import { readHeartbeatAnswer } from '../heartbeat-ack.ts';

type PairEntry = Pick<Entry, 'kind' | 'content' | 'provenance'>;

/**
 * The entries without acknowledged polls, each with all its tool calls. A turn that a person steered stays: it answers more than
 * the poll. `ackCharsMax` is how much an acknowledgement may say; absent: everything stays.
 */
export function dropHeartbeatPairs<Item extends PairEntry>(
  entries: readonly Item[],
  ackCharsMax: number | undefined,
): readonly Item[] {
  if (ackCharsMax === undefined || !entries.some(isPoll)) return entries;
  const kept: Item[] = [];
  for (let at = 0; at < entries.length;) {
    const end = endOfTurn(entries, at);
    const turn = entries.slice(at, end);
    if (!isAcknowledged(turn, ackCharsMax)) kept.push(...turn);
    at = end;
  }
  return kept;
}

/** True for the prompt of a heartbeat's turn. */
export function isPoll({ kind, provenance }: PairEntry): boolean {
  return kind === 'prompt' && provenance?.kind === 'heartbeat';
}

function endOfTurn(entries: readonly PairEntry[], start: number): number {
  let end = start + 1;
  while (end < entries.length && entries[end]?.kind !== 'prompt') end += 1;
  return end;
}

function isAcknowledged(turn: readonly PairEntry[], ackCharsMax: number): boolean {
  const [prompt] = turn;
  const last = turn.at(-1);
  if (prompt === undefined || last === undefined || !isPoll(prompt) || last.kind !== 'answer') return false;
  if (turn.some(({ kind }) => kind === 'steer')) return false;
  const isWordsOnly = last.content.every(({ type }) => type === 'text' || type.endsWith('thinking'));
  return isWordsOnly && readHeartbeatAnswer(textOf(last.content), ackCharsMax).isAck;
}
