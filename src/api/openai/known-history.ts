// The history that a client sends against the one that is stored. A fresh session begins with what the client has sent. In a session that has
// a history, the stored one counts; a client that wants its own can have a fork.
import { createHash } from 'node:crypto';
import { commonLength, differs, saidIn, type ClientEntry } from '../../core/openai/conversation.ts';
import type { SessionKey } from '../../core/ids.ts';
import { copySession } from '../../service/copy-session.ts';
import type { KeyedRequest } from '../../store/idempotency.ts';
import { readSaid } from '../../store/views/client-turns.ts';
import { parseSessionKey } from '../path-parameters.ts';
import type { ApiContext } from '../context.ts';

/** Where a conversation goes. */
export interface Target {
  key: SessionKey;
  /** True when the request names a session, which may have a history; false: it gets one of its own. */
  isNamed: boolean;
}

/** The session that a request is for. */
export interface KnownHistory {
  key: SessionKey;
  /** What it begins with, if it has nothing yet. */
  begin: readonly ClientEntry[];
  /** True when the client's history says something else than the stored one, which counts. */
  differs: boolean;
}

/** Decides it, and makes the fork if one is asked for. */
export async function historyOf(
  context: ApiContext,
  request: { target: Target; history: readonly ClientEntry[]; mode: 'server' | 'fork'; keyed: KeyedRequest },
): Promise<KnownHistory> {
  const { target, history, mode, keyed } = request;
  if (!target.isNamed || history.length === 0) return { key: target.key, begin: history, differs: false };
  const stored = await readSaid(context.views, target.key);
  if (stored.length === 0) return { key: target.key, begin: history, differs: false };
  const sent = saidIn(
    history.map(({ role, kind, content }) => ({
      role,
      kind,
      texts: content.flatMap((block) => (block.type === 'text' ? [block.text] : [])),
    })),
  );
  const said = saidIn(stored);
  if (!differs(said, sent)) return { key: target.key, begin: [], differs: false };
  if (mode === 'server') return { key: target.key, begin: [], differs: true };
  return {
    key: await forkAt(context, { target, keyed, stored, common: commonLength(said, sent) }),
    begin: [],
    differs: true,
  };
}

/** A copy up to what both have in common; the same one for a request that comes again. */
async function forkAt(
  context: ApiContext,
  fork: { target: Target; keyed: KeyedRequest; stored: Awaited<ReturnType<typeof readSaid>>; common: number },
): Promise<SessionKey> {
  const { target, keyed, stored, common } = fork;
  const suffix = createHash('sha256').update(`${keyed.scope} ${keyed.key}`).digest('hex').slice(0, 16);
  const key = parseSessionKey(`${target.key.slice(0, 180)}:fork-${suffix}`, 'x-holdfast-history');
  if (common === 0) return key;
  const entryId = lastEntryOf(stored, common);
  await copySession(context.service, { sourceKey: target.key, entryId, targetKey: key, idempotency: null });
  return key;
}

/** The last entry of the first `count` things that were said. */
function lastEntryOf(stored: Awaited<ReturnType<typeof readSaid>>, count: number): string | null {
  for (let at = stored.length; at > 0; at -= 1) {
    if (saidIn(stored.slice(0, at)).length <= count) return stored[at - 1]?.id ?? null;
  }
  return null;
}
