// A history that a client sends: the entries that a new session, or a fork, has before its first message.
import type { ClientEntry } from '../rules/conversation.ts';
import type { EntryId, SessionId } from '../../../core/ids.ts';
import { newId } from '../../../ids.ts';
import type { Database } from '../../../database/database.ts';
import { sendQuery } from '../../../database/send-query.ts';
import { literal } from '../../../database/statement.ts';

/** No turn of Holdfast has written these entries. */
export const NO_TURN = '00000000-0000-0000-0000-000000000000';

export const BEGIN_HISTORY = literal({
  name: 'begin-history',
  purpose:
    'Append the history of a client to a session that has so many entries and no message. Answers whether it did.',
  locking: 'The session row.',
  text: `with locked as materialized (
  select s.id, s.transcript_no from holdfast.sessions s
  where s.id = $1 and s.entry_seq = $6::bigint and s.inbox_seq = 0 for no key update
),
stored as (
  insert into holdfast.entries (session_id, seq, id, transcript_no, parent_seq, kind, role, content, turn_id, provenance)
  select locked.id, $6::bigint + e.n, e.id, locked.transcript_no, nullif($6::bigint + e.n - 1, 0), e.kind, e.role, e.content, '${NO_TURN}', '{"kind": "client"}'
  from locked, unnest($2::uuid[], $3::text[], $4::text[], $5::json[]) with ordinality as e (id, kind, role, content, n)
),
updated_sessions as (
  update holdfast.sessions s set entry_seq = $6::bigint + cardinality($2::uuid[]), leaf_seq = $6::bigint + cardinality($2::uuid[]), updated_at = clock_timestamp()
  from locked where s.id = locked.id
)
select exists (select from locked) as "isBegun"`,
});

/** Appends the entries while the session has exactly `after` entries and no message; sent again, it inserts nothing. */
export async function beginHistory(
  database: Database,
  sessionId: SessionId,
  { entries, after }: { entries: readonly ClientEntry[]; after: number },
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
      after,
    ]),
  );
}
