// Sessions come into being with the first thing that reaches them. Their ids never change, so a
// process remembers those that it has seen for a minute: until then it may still know one that
// another process has erased, and what is written to that one writes nothing.
import type { Lane } from '../../config.ts';
import { LRUCache } from 'lru-cache';
import type { SessionId, SessionKey } from '../../core/ids.ts';
import { agentIdOf, laneOf, sessionKindOf } from '../../core/session-key.ts';
import { newId } from '../../ids.ts';
import type { Database } from '../../database/database.ts';
import { shareStatement } from '../../database/statement.ts';
import { literalQuery } from '../../database/literal-query.ts';

/** A session to ensure; the fields other than `key` are used only when it does not exist yet. */
export interface NeededSession {
  key: SessionKey;
  candidateId: SessionId;
  agentId: string;
  kind: string;
  lane: Lane;
  channel: string | null;
  /** What it belongs to; absent: itself. */
  root?: string | null;
}

/** The session of a canonical key, as it is made when something reaches it for the first time. */
export function buildNewSession(key: SessionKey, channel: string | null = null): NeededSession {
  const kind = sessionKindOf(key);
  return { key, candidateId: newId<SessionId>(), agentId: agentIdOf(key), kind, lane: laneOf(kind), channel };
}

const ATTEMPTS_MAX = 3;
const REMEMBERED_SESSIONS_MAX = 50_000;

/**
 * How long a session is remembered, in milliseconds: it may have been erased by another process.
 */
const REMEMBERED_MS = 60_000;

/** Returns the id of a session, which it creates if need be. */
export interface EnsureSession {
  (session: NeededSession): Promise<SessionId>;
  /** The session of this key is searched for again: it was erased. */
  drop(key: string): void;
}

/** The session was erased after it was found. Nothing was written; find it again. */
export class SessionErasedError extends Error {
  readonly code = 'session_erased';

  constructor(sessionId: SessionId) {
    super(`The session ${sessionId} was erased. Send the request again; it makes a new session.`);
    this.name = 'SessionErasedError';
  }
}

/** Makes that function, with its own cache. */
export function createEnsureSession(database: Database): EnsureSession {
  const known = new LRUCache<string, SessionId>({ max: REMEMBERED_SESSIONS_MAX, ttl: REMEMBERED_MS });
  const ensure = shareStatement('ensure-session', (sessions: NeededSession[]) => ensureAll(database, sessions));
  const find = async (session: NeededSession): Promise<SessionId> => {
    const remembered = known.get(session.key);
    if (remembered !== undefined) return remembered;
    const id = await ensure(session);
    known.set(session.key, id);
    return id;
  };
  return Object.assign(find, { drop: (key: string) => void known.delete(key) });
}

// The first query does not see a session that another process creates at the same time, but the
// second does.
export const insertSessions = literalQuery({
  name: 'ensure-session',
  purpose: 'Make the sessions that do not exist. Answers the id of each key.',
  // `shareStatement` sends it again.
  retryMs: 0,
  text: `with input as (
  select distinct on (key) * from unnest($1::text[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[])
    as input (key, id, agent_id, kind, lane, channel, root) order by key
),
created as (
  insert into holdfast.sessions (key, id, agent_id, kind, lane, channel, root)
  select key, id, agent_id, kind, lane, channel, root from input
  where not exists (select from holdfast.sessions s where s.key = input.key)
  on conflict (key) do nothing
  returning key, id
)
select key, id from created
union all
select s.key, s.id from holdfast.sessions s where s.key = any ($1::text[])`,
  values: (sessions: NeededSession[]) => [
    sessions.map(({ key }) => key),
    sessions.map(({ candidateId }) => candidateId),
    sessions.map(({ agentId }) => agentId),
    sessions.map(({ kind }) => kind),
    sessions.map(({ lane }) => lane),
    sessions.map(({ channel }) => channel),
    sessions.map(({ root = null }) => root),
  ],
  answer: (rows: { key: string; id: SessionId }[]) => rows,
});

async function ensureAll(database: Database, sessions: NeededSession[]): Promise<SessionId[]> {
  const found = new Map<string, SessionId>();
  for (let attempt = 1; attempt <= ATTEMPTS_MAX && sessions.some((session) => !found.has(session.key)); attempt += 1) {
    const missing = sessions.filter((session) => !found.has(session.key));
    for (const { key, id } of await insertSessions(database, missing)) found.set(key, id);
  }
  return sessions.map(({ key }) => {
    const id = found.get(key);
    if (id === undefined)
      throw new Error(`The session ${key} was neither found nor made in ${ATTEMPTS_MAX} looks. Try again.`);
    return id;
  });
}
