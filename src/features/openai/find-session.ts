// Which session a request is for: one that it names, the chat of its user that its history
// continues, or a new one, which begins with what the client has sent. In a session that has a
// history, the stored one counts; a client that wants its own can have a fork.
import { hash } from 'node:crypto';
import { cutHead } from '../../core/text.ts';
import type { SessionKey } from '../../core/ids.ts';
import type { ApiContext } from '../../api/context.ts';
import { parseSessionKey } from '../../api/parse-json.ts';
import { conflict } from '../../api/problem.ts';
import type { AnyRequest } from '../../api/route.ts';
import type { KeyedRequest } from '../../database/idempotency.ts';
import { copySession } from '../../kernel/use-cases/change-transcript.ts';
import type { ClientEntry, Conversation } from './rules/conversation.ts';
import { firstWords, isContinued, partHistory, type StoredHistory } from './rules/history.ts';
import { findChats, findEarlierSession, readSaid, type OwnName } from './views/turns.ts';

/** A text of 32 characters for session keys, of any text. */
export function hashText(text: string): string {
  return hash('sha256', text, 'hex').slice(0, 32);
}

/** Where a conversation goes. */
export interface Target {
  key: SessionKey;
  /** True when the request names a session, which may have a history; false: it gets a new one. */
  isNamed: boolean;
  /** True for a key that is made of the owner of the request and a name that it gives. */
  isOwn?: true;
  /** Its history, where that has been read. */
  stored?: StoredHistory;
}

/** The session of a request that a header names, a user, or nothing. */
export async function findTarget(
  context: ApiContext,
  { principal: { owner } }: AnyRequest,
  { agentId, named, user, ...asked }: AskedTarget & { agentId: string; named?: string; user: string | undefined },
): Promise<Target> {
  if (named !== undefined) return { key: parseSessionKey(named, 'x-holdfast-session-key'), isNamed: true };
  if (user === undefined) return freshTarget(`agent:${agentId}:openai:`, asked.keyed);
  const name: SessionName = { kind: 'user', agentId, owner, name: user };
  const whole = await ownTarget(context, name);
  return context.config.openai.user === 'session' ? whole : await chatTarget(context, { whole, name }, asked);
}

interface AskedTarget {
  keyed: KeyedRequest;
  conversation: Conversation;
  mode: 'server' | 'fork';
}

/**
 * The chat of a user that the history continues; with the mode `fork`, the last of those that begin
 * with the same words if it continues none. Otherwise a new one: a client that names its user need
 * not name the chat.
 */
async function chatTarget(
  { views }: ApiContext,
  { whole, name }: { whole: Target; name: SessionName },
  { keyed, conversation, mode }: AskedTarget,
): Promise<Target> {
  const prefix = `${ownKey(name)}:${hashText(firstWords(conversation)).slice(0, 16)}-`;
  const fresh = freshTarget(prefix, keyed);
  if (conversation.history.length === 0) return fresh;
  const known = await findChats(views, { prefix, whole: whole.key });
  for (const one of known) {
    const stored = await readSaid(views, one);
    if (isContinued(stored, conversation.history)) return { key: parseSessionKey(one, 'user'), isNamed: true, stored };
  }
  const [last] = mode === 'fork' ? known : [];
  return last === undefined ? fresh : { key: parseSessionKey(last, 'user'), isNamed: true };
}

type SessionName = Omit<OwnName, 'nameSha'> & { name: string };

/**
 * The session for which the API key of a request uses this name. It belongs to this key, and to
 * those that replace it, alone: both names count whole.
 */
export async function ownTarget({ views }: ApiContext, { name, ...own }: SessionName): Promise<Target> {
  const earlier = await findEarlierSession(views, { ...own, nameSha: hashText(name) });
  return { key: parseSessionKey(earlier ?? ownKey({ ...own, name }), own.kind), isNamed: true, isOwn: true };
}

function ownKey({ kind, agentId, owner, name }: SessionName): string {
  return `agent:${agentId}:openai:${kind}@${hashText(JSON.stringify([owner, name]))}`;
}

/** A new session, which a request with the same key finds again. */
function freshTarget(prefix: string, keyed: KeyedRequest): Target {
  return {
    key: parseSessionKey(`${prefix}${hashText(`${keyed.scope} ${keyed.key}`)}`, 'model'),
    isNamed: false,
    isOwn: true,
  };
}

/** Leaves room for the suffix of a fork's key. */
const KEY_CHARS_KEPT = 160;

/** The session that a request is for. */
export interface KnownHistory {
  key: SessionKey;
  /**
   * The client's earlier messages that are stored before its message, unless the session has more
   * than `after` entries already.
   */
  begin: { entries: readonly ClientEntry[]; after: number };
  /** True when the client's history differs from the stored one. */
  differs: boolean;
}

/** Decides it, and makes the fork if one is asked for. */
export async function findHistory(
  context: ApiContext,
  request: { target: Target; history: readonly ClientEntry[]; mode: 'server' | 'fork'; keyed: KeyedRequest },
): Promise<KnownHistory> {
  const { target, history, mode, keyed } = request;
  const { key } = target;
  const fresh = { key, begin: { entries: history, after: 0 }, differs: false };
  if (!target.isNamed || history.length === 0) return fresh;
  const stored = target.stored ?? (await readSaid(context.views, key));
  if (stored.isWhole && stored.entries.length === 0) return fresh;
  const parted = partHistory(stored, history);
  if (parted === null || mode === 'server') return { key, begin: NOTHING, differs: parted !== null };
  const fork = await forkAfter(context, keyed, { key, entryId: parted.lastEntryId, word: 'fork', of: key });
  return { key: fork.key, begin: { entries: parted.rest, after: fork.entries }, differs: true };
}

const NOTHING = { entries: [], after: 0 };

/**
 * A copy of a session up to an entry, the same one for a request with the same key and about the
 * same thing (`of`); `entryId` null: an empty session.
 */
export async function forkAfter(
  { service }: ApiContext,
  keyed: KeyedRequest,
  { key, entryId, word, of }: { key: SessionKey; entryId: string | null; word: 'fork' | 'after'; of: string },
): Promise<{ key: SessionKey; entries: number }> {
  const suffix = hashText(JSON.stringify([of, keyed.scope, keyed.key]));
  const targetKey = parseSessionKey(`${cutHead(key, KEY_CHARS_KEPT)}:${word}-${suffix}`, 'x-holdfast-history');
  if (entryId === null) return { key: targetKey, entries: 0 };
  const copied = await copySession(service, { sourceKey: key, entryId, targetKey, idempotency: null });
  if (copied.kind === 'ok' || copied.kind === 'exists') return { key: targetKey, entries: copied.entries };
  // A reset or a compaction has just removed the entry from the path.
  throw conflict('Another request changed the history of the session. Send the request again.');
}
