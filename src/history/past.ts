// How much of its past a session shows. Direct chats and groups have limits of their own; a platform may have others, and a single person on
// it, too. A limit counts turns, whole: a prompt with everything until the next one, so tool calls keep their results. Polls that found
// nothing to do are left out, and the thinking of a model that is no longer asked.
import type { SessionKind } from '../core/session-key.ts';
import type { Entry } from '../core/entry.ts';
import { joinText } from '../core/content.ts';
import { readHeartbeatAnswer } from '../core/heartbeat.ts';
import { given } from '../core/given.ts';
import type { Author, ModelSpan } from '../core/view.ts';

/** The limits of a platform, by the names of the configuration (`channels.<name>`). */
export interface PlatformLimits {
  historyLimit?: number;
  dmHistoryLimit?: number;
  /** By the person's id there. */
  dms?: Record<string, { historyLimit?: number }>;
}

export interface HistoryLimits {
  /** `session.dmHistoryLimit` and `session.historyLimit`. */
  session: { dmHistoryLimit?: number; historyLimit?: number };
  platforms: Readonly<Record<string, PlatformLimits>>;
}

/** The person or group of the limit. */
export interface LimitedSession {
  key: string;
  kind: SessionKind;
  /** True when its messages come from a group; for sessions whose key does not show it. */
  isGroup: boolean;
}

/** The last part of a key with a person or a group in it: its platform, and their id. */
interface Peer {
  platform: string;
  id: string;
}

const PEER_SEGMENTS: ReadonlySet<string> = new Set(['direct', 'dm', 'group', 'channel']);
const THREAD_SEGMENTS: ReadonlySet<string> = new Set(['thread', 'topic']);

/** The limit for a session, in user turns; undefined: there is none (also when it is set to 0). Only chats with people have one. */
export function chooseHistoryLimit(session: LimitedSession, limits: HistoryLimits): number | undefined {
  const limit = isGroupChat(session) ? groupLimit(session, limits) : directLimit(session, limits);
  return limit === undefined || limit <= 0 ? undefined : limit;
}

function isGroupChat({ kind, isGroup }: LimitedSession): boolean {
  return kind === 'group' || ((kind === 'other' || kind === 'main') && isGroup);
}

function groupLimit({ key }: LimitedSession, { session, platforms }: HistoryLimits): number | undefined {
  const peer = parsePeer(key);
  return (peer && findPlatform(platforms, peer)?.historyLimit) ?? session.historyLimit;
}

function directLimit({ key, kind }: LimitedSession, { session, platforms }: HistoryLimits): number | undefined {
  if (kind !== 'direct' && kind !== 'main' && kind !== 'other') return undefined;
  const peer = parsePeer(key);
  const platform = peer && findPlatform(platforms, peer);
  return (peer && limitOfPerson(platform, peer.id)) ?? platform?.dmHistoryLimit ?? session.dmHistoryLimit;
}

function findPlatform(platforms: HistoryLimits['platforms'], { platform }: Peer): PlatformLimits | undefined {
  return Object.hasOwn(platforms, platform) ? platforms[platform] : undefined;
}

/** Keys are lower case, ids in the configuration need not be. */
function limitOfPerson(platform: PlatformLimits | null | undefined, id: string): number | undefined {
  return Object.entries(platform?.dms ?? {}).find(([known]) => known.toLowerCase() === id)?.[1].historyLimit;
}

/** The peer of `agent:<id>:<platform>:[<account>:]direct:<peer>`, without the thread after it; null for other keys. */
function parsePeer(key: string): Peer | null {
  const segments = key.split(':').slice(2);
  const typeAt = segments.slice(0, 3).findIndex((segment) => PEER_SEGMENTS.has(segment));
  const [platform] = segments;
  if (typeAt < 1 || platform === undefined) return null;
  const rest = segments.slice(typeAt + 1);
  const threadAt = rest.findIndex((segment) => THREAD_SEGMENTS.has(segment));
  return { platform, id: (threadAt === -1 ? rest : rest.slice(0, threadAt)).join(':') };
}

/**
 * The entries of the last `turnsMax` prompts, with everything after them. The prompt of the current turn is not among `entries`:
 * it does not count. No limit when it is absent, zero or negative.
 */
export function limitTurns<Item extends Pick<Entry, 'kind'>>(
  entries: readonly Item[],
  turnsMax?: number,
): readonly Item[] {
  if (turnsMax === undefined || turnsMax <= 0) return entries;
  let turns = 0;
  for (let at = entries.length - 1; at >= 0; at -= 1) {
    if (entries[at]?.kind !== 'prompt') continue;
    turns += 1;
    if (turns === turnsMax) return withSummaries(entries, at);
  }
  return entries;
}

function withSummaries<Item extends Pick<Entry, 'kind'>>(entries: readonly Item[], from: number): readonly Item[] {
  if (from === 0) return entries;
  return [...entries.slice(0, from).filter(({ kind }) => kind === 'summary'), ...entries.slice(from)];
}

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
  return isWordsOnly && readHeartbeatAnswer(joinText(last.content), ackCharsMax).isAck;
}

/** The trailing user entries without an answer, oldest first; tool results do not count. */
export function orphanedPrompts<Item extends Pick<Entry, 'kind'>>(entries: readonly Item[]): readonly Item[] {
  const last = entries.findLastIndex(({ kind }) => kind !== 'prompt' && kind !== 'steer');
  return entries.slice(last + 1);
}

/** The most changes that are remembered; thinking of before the first of them is left out. */
export const MODEL_SPANS_MAX = 32;

/** The spans with the model of the turn whose prompt is `seq`: the same array when it does not change. */
export function withModel(
  spans: readonly ModelSpan[] | undefined,
  seq: number,
  { model, scope }: Author,
): readonly ModelSpan[] {
  const span = { seq, model, ...given({ scope }) };
  if (spans === undefined) return [span];
  const isLast = (of: readonly ModelSpan[]): boolean => of.at(-1)?.model === model && of.at(-1)?.scope === scope;
  if (isLast(spans)) return spans;
  // One of the same number has written nothing: a key or a model that was chosen and not used.
  const used = spans.at(-1)?.seq === seq ? spans.slice(0, -1) : spans;
  if (isLast(used)) return used;
  return [...used, span].slice(-MODEL_SPANS_MAX);
}

/** Who wrote the entry `seq`; undefined when it is of before the first span. */
export function authorAt(spans: readonly ModelSpan[], seq: number): Author | undefined {
  return spans.findLast((span) => span.seq <= seq);
}
