// How much of its past a session shows. Direct chats and groups have limits of their own; a
// platform may have others, and a single person on it, too. A limit counts turns, whole: a prompt
// with everything until the next one, so tool calls keep their results. Polls that found nothing to
// do are left out, and the thinking of a model that is no longer asked.
import { modelNameOf } from '../core/input-options.ts';
import { type ContentBlock, type ImageBlock, joinText } from '../core/content.ts';
import type { Entry } from '../core/entry.ts';
import { imagesAfter } from '../images/rules/plan-images.ts';
import type { ModelMessage } from '../core/model-request.ts';
import type { InjectedMessage } from '../prompt/read-contributions.ts';
import { applyPruning } from './prune-tool-results.ts';
import type { CallView, TurnRequestSettings, Author, ModelSpan } from '../core/view.ts';
import { createHistory, type History, type HistoryEntry } from './prepare-history.ts';
import { given } from '../core/json.ts';
import type { SessionKind } from '../core/session-key.ts';
import { readHeartbeatAnswer } from '../core/heartbeat.ts';

// From the entries of a transcript to the messages of a request, as the views say. The order of the
// steps:
//
//   acknowledged polls are left out            decided when the turn was opened
//                                              (TurnRequestSettings): the same in all of its
//                                              requests
//   the past is limited to its last turns
//   images follow their prompts
//   messages of plugins come first
//   all of it is joined as a provider takes it (prepare-history.ts): pairs are mended again after
//   the limit
//   old tool results are pruned                what one call decided (CallView)
//
// The same function builds a request when it is sent and when it is shown later. Views are cheap: a
// turn's history grows at its end, a call that changes nothing has the same message objects as the
// call before.

/** An entry as a view needs it. Summaries come first, all others in the order of the numbers. */
export type ViewEntry = Pick<Entry, 'seq' | 'kind' | 'role' | 'content' | 'provenance'>;

/** A turn's view with everything that it only names. */
export interface ViewRules {
  view: TurnRequestSettings;
  /** The entry of the turn's prompt: everything before it is the past. */
  promptSeq: number;
  /** The model that is asked, by its own name. */
  model: string;
  injected: readonly InjectedMessage[];
  /** The block of an image's snapshot; undefined: it does not exist, and the image is left out. */
  imageOf: (sha256: string) => ImageBlock | undefined;
  isTraced?: boolean;
}

/**
 * The messages of one request, with what they begin with and, when traced, where each block is
 * from.
 */
export interface ViewedMessages {
  messages: readonly ModelMessage[];
  /**
   * Per message, the entry that it begins with; 0: made up, -n: the nth message that a plugin put
   * in front.
   */
  seqs: readonly number[];
  /** The entry of each block, per message; empty unless traced. */
  trace: readonly (readonly number[])[];
}

/** The messages of a past or future request: all entries up to it, its turn's view and its own. */
export function viewMessages(entries: readonly ViewEntry[], rules: ViewRules, call: CallView | null): ViewedMessages {
  const history = openHistory(shownEntries(entries, rules), rules);
  const { messages, seqs, trace } = history;
  return { messages: call?.pruning === undefined ? messages : applyPruning(history, call.pruning), seqs, trace };
}

/**
 * The entries that a turn shows: earlier ones as far as its view allows, and all of its own. The
 * same array when that is all.
 */
export function shownEntries(
  entries: readonly ViewEntry[],
  { view, promptSeq }: Pick<ViewRules, 'view' | 'promptSeq'>,
): readonly ViewEntry[] {
  // The past of a given request is in it.
  if (view.given !== undefined) return entries.filter(({ seq }) => seq >= promptSeq);
  if (view.historyLimit === undefined && view.heartbeatAckCharsMax === undefined) return entries;
  const begin = entries.findIndex(({ seq, kind }) => kind !== 'summary' && seq >= promptSeq);
  const past = begin === -1 ? entries : entries.slice(0, begin);
  const shown = limitTurns(dropHeartbeatPairs(past, view.heartbeatAckCharsMax), view.historyLimit);
  if (shown === past) return entries;
  return begin === -1 ? shown : [...shown, ...entries.slice(begin)];
}

/**
 * The history of a turn's requests, from the entries that it shows. It may grow: later entries of
 * the turn are pushed.
 */
export function openHistory(shown: readonly ViewEntry[], rules: ViewRules): History {
  const { injected, isTraced } = rules;
  const { family, originsAfterSeq, imagesAfterSeq } = rules.view;
  const inFront: HistoryEntry[] = injected.map(({ role, content }, index) => ({ role, content, seq: -1 - index }));
  return createHistory([...inFront, ...shown.map((entry) => withCallerNames(entry, rules))], {
    ...given({ family, isTraced, originsAfterSeq, imagesAfterSeq }),
    model: rules.model,
    isOwn: isOwnRule(rules),
    isOfScope: isOfScopeRule(rules),
    ...imagesRule(shown, rules),
  });
}

/**
 * The inputs of a history besides the entries that it shows. With equal keys, the next turn can
 * extend the history of a turn.
 */
export function historyKey({ view, model, promptSeq }: ViewRules): string {
  const { family, scope, models, images, injectedSha256, originsAfterSeq, imagesAfterSeq, callerNames = [] } = view;
  // The place of an image that several prompts show depends on which of them is the turn's own.
  const ownSeq = images?.some((entry) => entry.images.length > 0) === true ? promptSeq : null;
  const asked = models === undefined ? null : [model, scope, models];
  return JSON.stringify([family, asked, images, ownSeq, injectedSha256, originsAfterSeq, imagesAfterSeq, callerNames]);
}

/** An entry that a client has sent calls its tools by the client's names. */
function withCallerNames(entry: ViewEntry, { view: { callerNames = [] } }: ViewRules): ViewEntry {
  if (callerNames.length === 0 || entry.provenance?.kind !== 'client') return entry;
  const content = entry.content.map((block) =>
    block.type === 'tool_use' ? { ...block, name: modelNameOf(block.name, callerNames) } : block,
  );
  return { ...entry, content };
}

/**
 * The entries that the model of the call answered itself; never messages that a plugin injected, but
 * the past of a request that was fixed for this model.
 */
function isOwnRule({ view: { models, scope, given: fixed }, model }: ViewRules): (seq: number) => boolean {
  if (fixed !== undefined) return (seq) => seq > 0 || fixed.isSameModel;
  if (models === undefined) return (seq) => seq > 0;
  return (seq) => {
    const author = authorAt(models, seq);
    return seq > 0 && author?.model === model && author.scope === scope;
  };
}

/**
 * The first message that is new since the last answer of the model that is asked; 0: it has given
 * none of these answers.
 */
export function firstNewMessage({ messages, seqs }: Pick<History, 'messages' | 'seqs'>, rules: ViewRules): number {
  const isOwn = isOwnRule(rules);
  return messages.findLastIndex(({ role }, at) => role === 'assistant' && isOwn(seqs[at] ?? 0)) + 1;
}

/** The entries whose reasoning a key of the call's scope can read, if the model can. */
function isOfScopeRule({ view: { models, scope } }: ViewRules): (seq: number) => boolean {
  return models === undefined ? () => true : (seq) => authorAt(models, seq)?.scope === scope;
}

const NO_BLOCKS: readonly ContentBlock[] = [];

function imagesRule(
  shown: readonly ViewEntry[],
  { view, promptSeq, imageOf }: ViewRules,
): { imagesOf?: (seq: number) => readonly ContentBlock[] } {
  if (view.images === undefined) return {};
  const visible = new Set(shown.map(({ seq }) => seq));
  // The turn's own prompt is possibly not among the entries yet.
  visible.add(promptSeq);
  const shownImages = imagesAfter(view.images, { promptSeq, isVisible: (seq) => visible.has(seq), blockOf: imageOf });
  return { imagesOf: (seq) => shownImages.get(seq) ?? NO_BLOCKS };
}

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

/**
 * The limit for a session, in user turns; undefined: there is none (also when it is set to 0). Only
 * chats with people have one.
 */
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

/**
 * The peer of `agent:<id>:<platform>:[<account>:]direct:<peer>`, without the thread after it; null
 * for other keys.
 */
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
 * The entries of the last `turnsMax` prompts, with everything after them. The prompt of the current
 * turn is not among `entries`: it does not count. No limit when it is absent, zero or negative.
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
 * The entries without acknowledged polls, each with all its tool calls. A turn that a person
 * steered stays: it answers more than the poll. `ackCharsMax` is how much an acknowledgement may
 * say; absent: everything stays.
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

/**
 * The spans with the model of the turn whose prompt is `seq`: the same array when it does not
 * change.
 */
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
