// What the tools of agents read of sessions: the list of sessions, their entries, and what a turn is answering. Plain reads; the caller
// decides which sessions are visible.
import type { ContentBlock } from '../core/content.ts';
import type { Exchange } from '../core/exchange.ts';
import type { InputOptions } from '../core/input-options.ts';
import type { SessionId, SessionKey } from '../core/ids.ts';
import { chargeOfTurnSql } from './charged-inputs.ts';
import type { Database } from './database.ts';
import { sendQuery } from './send-query.ts';
import { literal } from './statement.ts';

/** A session as the tools know it. */
export interface ListedSession {
  id: SessionId;
  key: SessionKey;
  agentId: string;
  kind: string;
  label: string | null;
  status: 'idle' | 'waiting' | 'running';
  ancestors: SessionId[];
  /** The run that it works on as a subagent; null: none. */
  runId: string | null;
  contextTokens: number;
  /** Milliseconds since the epoch. */
  updatedAt: number;
}

/** The largest number of sessions that a list reads. */
const LISTED_MAX = 1_000;
const ENTRIES_MAX = 400;

const COLUMNS = `s.id, s.key, s.agent_id as "agentId", s.kind, s.label, s.ancestors, s.run_id as "runId",
  s.context_tokens::float8 as "contextTokens", (extract(epoch from s.updated_at) * 1000)::float8 as "updatedAt",
  case when s.turn_id is not null then 'running' when s.waiting > 0 then 'waiting' else 'idle' end as status`;

export const FIND_LISTED = literal({
  name: 'find-listed',
  purpose: 'Read the session of a key.',
  text: `select ${COLUMNS} from holdfast.sessions s where s.key = $1`,
});

/** The session of a key; null: it does not exist. */
export async function findListed(database: Database, key: string): Promise<ListedSession | null> {
  const [row] = await sendQuery<ListedSession>(database.views, FIND_LISTED.prepared([key]));
  return row ?? null;
}

export const LIST_TREE = literal({
  name: 'list-tree',
  purpose: 'Read a session and all sessions below it, newest first.',
  text: `with recursive tree as (
  select $1::uuid as id union select r.child_id from tree join holdfast.subagent_runs r on r.parent_id = tree.id
)
select ${COLUMNS} from tree join holdfast.sessions s on s.id = tree.id where s.archived_at is null order by s.id desc limit ${LISTED_MAX}`,
});

/** A session and all sessions below it, newest first. Archived ones are left out. */
export async function listTree(database: Database, id: SessionId): Promise<ListedSession[]> {
  return sendQuery<ListedSession>(database.views, LIST_TREE.prepared([id]));
}

export const LIST_SESSIONS = literal({
  name: 'list-sessions',
  purpose: 'Read the newest sessions, of one agent or of all.',
  text: `select ${COLUMNS} from holdfast.sessions s
where ($1::text is null or s.agent_id = $1) and s.archived_at is null order by s.id desc limit ${LISTED_MAX}`,
});

/** The newest sessions, of one agent or of all. Archived ones are left out. */
export async function listSessionsOf(database: Database, agentId: string | null): Promise<ListedSession[]> {
  return sendQuery<ListedSession>(database.views, LIST_SESSIONS.prepared([agentId]));
}

export const READ_ENTRIES = literal({
  name: 'read-entries',
  purpose: 'Read the newest entries that a session shows, oldest first.',
  text: `select role, content from (
  select e.seq, e.role, e.content from holdfast.entries e join holdfast.sessions s on s.id = e.session_id
  where e.session_id = $1 and e.transcript_no = s.transcript_no and e.state = 'active' order by e.seq desc limit ${ENTRIES_MAX}
) as newest order by seq`,
});

/** The newest entries that a session shows, oldest first. */
export async function readEntries(
  database: Database,
  sessionId: SessionId,
): Promise<{ role: 'user' | 'assistant'; content: ContentBlock[] }[]> {
  return sendQuery(database.views, READ_ENTRIES.prepared([sessionId]));
}

/** The origin of a turn: where its answer is sent, and the exchange that it is part of. */
export interface TurnOrigin {
  /** `deliver` absent: the default of the configuration; null: nowhere. */
  origin: Exchange['origin'];
  exchange: Exchange | null;
  /** What its costs count for (charged-inputs.ts). */
  chargedTo: object;
  /** What it starts takes these over. */
  options: InputOptions;
}

export const TURN_ORIGIN = literal({
  name: 'turn-origin',
  purpose: 'Read where the answer of a turn is sent, the exchange that it is part of, and its options.',
  text: `select i.body -> 'exchange' as exchange, coalesce(i.body -> 'options', '{}') as options,
  case when i.body -> 'deliver' is null then json_build_object('route', i.route)
    else json_build_object('route', i.route, 'deliver', i.body -> 'deliver') end as origin, ${chargeOfTurnSql('$1')} as "chargedTo"
from holdfast.inbox i where i.turn_id = $1 order by i.seq desc limit 1`,
});

/** The newest input of a turn; null: it has none. */
export async function readTurnOrigin(database: Database, turnId: string): Promise<TurnOrigin | null> {
  const [row] = await sendQuery<TurnOrigin>(database.views, TURN_ORIGIN.prepared([turnId]));
  return row ?? null;
}

/** The options of a turn. */
export async function readTurnOptions(database: Database, turnId: string): Promise<InputOptions> {
  return (await readTurnOrigin(database, turnId))?.options ?? {};
}
