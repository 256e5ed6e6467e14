// What the tools of agents read of sessions: the list of sessions and their entries. Plain reads;
// the caller decides which sessions are visible.
import type { ContentBlock } from '../../../core/content.ts';
import type { SessionId, SessionKey } from '../../../core/ids.ts';
import { isConfinedSql } from '../../../kernel/sessions/confinement.ts';
import { literalQuery } from '../../../database/literal-query.ts';

/** A session as the tools know it. */
export interface ListedSession {
  id: SessionId;
  key: SessionKey;
  agentId: string;
  kind: string;
  label: string | null;
  status: 'idle' | 'waiting' | 'running';
  ancestors: SessionId[];
  isConfined: boolean;
  /** The run that it works on as a subagent; null: none. */
  runId: string | null;
  contextTokens: number;
  /** Milliseconds since the epoch. */
  updatedAt: number;
}

/** The largest number of sessions that a list reads. */
const LISTED_MAX = 1_000;
const ENTRIES_MAX = 400;

const COLUMNS = `s.id, s.key, s.agent_id as "agentId", s.kind, s.label, s.ancestors, s.run_id as "runId", ${isConfinedSql('s')} as "isConfined",
  s.context_tokens::float8 as "contextTokens", (extract(epoch from s.updated_at) * 1000)::float8 as "updatedAt",
  case when s.turn_id is not null then 'running' when s.waiting > 0 then 'waiting' else 'idle' end as status`;

export const findListed = literalQuery({
  name: 'find-listed',
  purpose: 'Read the session of a key; null: it does not exist.',
  pool: 'views',
  text: `select ${COLUMNS} from holdfast.sessions s where s.key = $1`,
  values: (key: string) => [key],
  answer: ([session]: ListedSession[]) => session ?? null,
});

export const listTree = literalQuery({
  name: 'list-tree',
  purpose: 'Read a session and all sessions below it, newest first. Archived ones are left out.',
  pool: 'views',
  text: `with recursive tree as (
  select $1::uuid as id union select r.child_id from tree join holdfast.subagent_runs r on r.parent_id = tree.id
)
select ${COLUMNS} from tree join holdfast.sessions s on s.id = tree.id where s.archived_at is null order by s.id desc limit ${LISTED_MAX}`,
  values: (id: SessionId) => [id],
  answer: (sessions: ListedSession[]) => sessions,
});

export const listAgentSessions = literalQuery({
  name: 'list-sessions',
  purpose: 'Read the newest sessions, of one agent or of all. Archived ones are left out.',
  pool: 'views',
  text: `select ${COLUMNS} from holdfast.sessions s
where ($1::text is null or s.agent_id = $1) and s.archived_at is null order by s.id desc limit ${LISTED_MAX}`,
  values: (agentId: string | null) => [agentId],
  answer: (sessions: ListedSession[]) => sessions,
});

export const readEntries = literalQuery({
  name: 'read-entries',
  purpose: 'Read the newest entries that a session shows, oldest first.',
  pool: 'views',
  text: `select role, content from (
  select e.seq, e.role, e.content from holdfast.entries e join holdfast.sessions s on s.id = e.session_id
  where e.session_id = $1 and e.transcript_no = s.transcript_no and e.state = 'active' order by e.seq desc limit ${ENTRIES_MAX}
) as newest order by seq`,
  values: (sessionId: SessionId) => [sessionId],
  answer: (entries: { role: 'user' | 'assistant'; content: ContentBlock[] }[]) => entries,
});
