// The history that a client sends against the one that is stored. A fresh session begins with what
// the client has sent. In a session that has a history, the stored one counts; a client that wants
// its own can have a fork.
import { hash } from 'node:crypto';
import { cutHead } from '../../core/text.ts';
import { partHistory, type ClientEntry, type StoredHistory } from './rules/conversation.ts';
import type { SessionKey } from '../../core/ids.ts';
import { copySession } from '../../kernel/use-cases/change-transcript.ts';
import type { KeyedRequest } from '../../database/idempotency.ts';
import { readSaid } from './views/turns.ts';
import { parseSessionKey } from '../../api/parse-json.ts';
import { conflict } from '../../api/problem.ts';
import type { ApiContext } from '../../api/context.ts';

/** Leaves room for the suffix of a fork's key. */
const KEY_CHARS_KEPT = 160;

/** A text of 32 characters for session keys, of any text. */
export function hashText(text: string): string {
  return hash('sha256', text, 'hex').slice(0, 32);
}

/** Where a conversation goes. */
export interface Target {
  key: SessionKey;
  /** True when the request names a session, which may have a history; false: it gets a new one. */
  isNamed: boolean;
  /** Its history, where that has been read. */
  stored?: StoredHistory;
}

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
  const fork = await forkAfter(context, { target, keyed, entryId: parted.lastEntryId });
  return { key: fork.key, begin: { entries: parted.rest, after: fork.entries }, differs: true };
}

const NOTHING = { entries: [], after: 0 };

/** A copy up to an entry, the same one for a request with the same key; null: an empty session. */
async function forkAfter(
  context: ApiContext,
  { target, keyed, entryId }: { target: Target; keyed: KeyedRequest; entryId: string | null },
): Promise<{ key: SessionKey; entries: number }> {
  const suffix = hashText(JSON.stringify([target.key, keyed.scope, keyed.key]));
  const key = parseSessionKey(`${cutHead(target.key, KEY_CHARS_KEPT)}:fork-${suffix}`, 'x-holdfast-history');
  if (entryId === null) return { key, entries: 0 };
  const copied = await copySession(context.service, {
    sourceKey: target.key,
    entryId,
    targetKey: key,
    idempotency: null,
  });
  if (copied.kind === 'ok' || copied.kind === 'exists') return { key, entries: copied.entries };
  // A reset or a compaction has just removed the entry from the path.
  throw conflict('Another request changed the history of the session. Send the request again.');
}
