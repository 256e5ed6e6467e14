// A history that a client brings: the entries that a session begins with, before it has any of its own.
import type { ClientEntry } from '../core/openai/conversation.ts';
import type { EntryId, SessionId } from '../core/ids.ts';
import { newId } from '../ids.ts';
import type { Database } from './database.ts';
import { sendQuery } from './send-query.ts';
import { literal } from './statement.ts';

/** No turn of Holdfast has written these entries. */
export const NO_TURN = '00000000-0000-0000-0000-000000000000';

export const BEGIN_HISTORY = literal({
  name: 'begin-history',
  purpose: 'Insert the first entries of a session that has none and that nothing was sent to. Answers whether it did.',
  locking: 'The session row.',
  text: `with locked as materialized (
  select s.id, s.transcript_no from holdfast.sessions s
  where s.id = $1 and s.entry_seq = 0 and s.inbox_seq = 0 for no key update
),
stored as (
  insert into holdfast.entries (session_id, seq, id, transcript_no, parent_seq, kind, role, content, turn_id, provenance)
  select locked.id, e.n, e.id, locked.transcript_no, nullif(e.n - 1, 0), e.kind, e.role, e.content, '${NO_TURN}', '{"kind": "client"}'
  from locked, unnest($2::uuid[], $3::text[], $4::text[], $5::json[]) with ordinality as e (id, kind, role, content, n)
),
updated_sessions as (
  update holdfast.sessions s set entry_seq = cardinality($2::uuid[]), leaf_seq = cardinality($2::uuid[]), updated_at = clock_timestamp()
  from locked where s.id = locked.id
)
select exists (select from locked) as "isBegun"`,
});

/** Inserts the entries unless the session has begun; sent again, it inserts nothing. */
export async function beginHistory(
  database: Database,
  sessionId: SessionId,
  entries: readonly ClientEntry[],
): Promise<void> {
  if (entries.length === 0) return;
  await sendQuery(
    database.hot,
    BEGIN_HISTORY.prepared([
      sessionId,
      entries.map(() => newId<EntryId>()),
      entries.map(({ kind }) => kind),
      entries.map(({ role }) => role),
      entries.map(({ content }) => JSON.stringify(content)),
    ]),
  );
}
