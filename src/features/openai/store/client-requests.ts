// The keys of requests of OpenAI's clients. A request without an Idempotency-Key is given one,
// which is stored with the hash of its body before anything else: a client that repeats the request
// by itself is found by the hash and joins what the first one has begun. Beside them: histories
// that clients send, and responses that they have deleted.
import { newId } from '../../../ids.ts';
import type { Database } from '../../../database/database.ts';
import { literalQuery } from '../../../database/literal-query.ts';
import type { ClientEntry } from '../rules/conversation.ts';
import type { EntryId, SessionId } from '../../../core/ids.ts';

/** A repetition arrives within this time, in milliseconds. */
const REPEATED_WITHIN_MS = 600_000;

/**
 * A repetition joins a request that has ended for so long at most, in milliseconds; later it is a
 * new one.
 */
const ENDED_FOR_MS_MAX = 60_000;

/** Old rows that one statement deletes: more than it inserts. */
const DELETED_MAX = 10;

export const noteClientRequest = literalQuery({
  name: 'note-client-request',
  purpose: 'Store the key of a request of a client, and delete a few old ones.',
  locking: 'The rows that it deletes, skipping those that are locked.',
  text: `with old as (
  select r.sent_by, r.body_sha256, r.key from holdfast.client_requests r
  where r.created_at < clock_timestamp() - ${REPEATED_WITHIN_MS} * interval '1 millisecond'
  order by r.created_at limit ${DELETED_MAX} for update skip locked
),
deleted as (
  delete from holdfast.client_requests r using old
  where r.sent_by = old.sent_by and r.body_sha256 = old.body_sha256 and r.key = old.key
)
insert into holdfast.client_requests (sent_by, body_sha256, key) values ($1, $2, $3::uuid)
on conflict do nothing`,
  values: ({ owner, sha256 }: ClientRequestFacts, key: string) => [owner, sha256, key],
});

export const findClientRequest = literalQuery({
  name: 'find-client-request',
  purpose: 'Read the key of the newest equal request that a repetition may mean; null: there is none.',
  pool: 'views',
  text: `select r.key from holdfast.client_requests r
left join holdfast.idempotency_keys k on k.scope = $3 and k.key = r.key::text
left join holdfast.inbox i on i.id = k.resource_id
where r.sent_by = $1 and r.body_sha256 = $2 and r.created_at > clock_timestamp() - ${REPEATED_WITHIN_MS} * interval '1 millisecond'
  and (i.settled_at is null or i.settled_at > clock_timestamp() - ${ENDED_FOR_MS_MAX} * interval '1 millisecond')
order by r.key desc limit 1`,
  values: ({ owner, sha256, scope }: ClientRequestFacts) => [owner, sha256, scope],
  answer: ([request]: { key: string }[]) => request?.key ?? null,
});

/**
 * What identifies a request: whose it is (as `Principal.owner`), its body, and the scope of its
 * key.
 */
export interface ClientRequestFacts {
  owner: string;
  sha256: string;
  scope: string;
}

/** The key of a request; that of an earlier one when it repeats it. */
export async function keyOfClientRequest(
  database: Database,
  request: ClientRequestFacts,
  isRepeated: boolean,
): Promise<string> {
  const found = isRepeated ? await findClientRequest(database, request) : null;
  if (found !== null) return found;
  const key = newId<string>();
  await noteClientRequest(database, request, key);
  return key;
}

// A history that a client sends: the entries that a new session, or a fork, has before its first
// message.

/** No turn of Holdfast has written these entries. */
export const NO_TURN = '00000000-0000-0000-0000-000000000000';

/**
 * Appends the entries while the session has exactly `after` entries and no message; sent again, it
 * inserts nothing.
 */
export const beginHistory = literalQuery({
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
  values: (sessionId: SessionId, { entries, after }: { entries: readonly ClientEntry[]; after: number }) => [
    sessionId,
    entries.map(() => newId<EntryId>()),
    entries.map(({ kind }) => kind),
    entries.map(({ role }) => role),
    entries.map(({ content }) => JSON.stringify(content)),
    after,
  ],
});

/** Hides a response that its client has deleted. */
export const hideResponse = literalQuery({
  name: 'hide-response',
  purpose: 'Note that a response is hidden.',
  locking: 'None.',
  text: 'insert into holdfast.hidden_responses (message_id, after_step) values ($1, $2) on conflict do nothing',
  values: ({ messageId, afterStep }: { messageId: string; afterStep: number }) => [messageId, afterStep],
});
