// A reset: the session continues with an empty transcript under the same key. The old one stays as
// it is, linked by its number. Only done on request (G15).
import type { SessionId } from '../../core/ids.ts';
import type { Database } from '../../database/database.ts';
import { insertEventsSql } from '../events/events.ts';
import { rootSql } from './confinement.ts';
import { literalQuery } from '../../database/literal-query.ts';
import type { Committed } from '../queue/after-commit.ts';
import { keyedSql, type KeyedRequest } from '../../database/idempotency.ts';
import { buildAfter, type RungColumns, RUNG_AGAIN_SQL } from '../queue/rings.ts';

/** What a new transcript keeps of the view of a session `s`: which alerts were sent lately. */
export const KEPT_VIEW_SQL = `case when s.view -> 'alerts' is null then '{}'::json else json_build_object('alerts', s.view -> 'alerts') end`;

// A reset by the worker that has claimed the session, before it opens the turn of the message that
// requested it. The worker keeps the lock. If it crashes afterwards, the next one finds an empty
// transcript and has nothing to reset.
/**
 * Ends transcript `transcriptNo`; false when this worker no longer holds the session. `reason` is
 * shown with the event: `message`, `daily` or `idle`.
 */
export const resetClaimed = literalQuery({
  name: 'reset-claimed',
  purpose: 'Begin a new transcript of a session that this worker has claimed.',
  locking: 'The session row.',
  text: `with locked as materialized (
  select s.* from holdfast.sessions s where s.id = $sessionId and s.epoch = $epoch and s.turn_id is null for no key update
),
fit as materialized (select * from locked where transcript_no = $transcriptNo),
ended as (
  insert into holdfast.ended_transcripts (session_id, transcript_no, last_seq) select id, transcript_no, entry_seq from fit
  on conflict do nothing
),
updated_sessions as (
  update holdfast.sessions s
  set transcript_no = s.transcript_no + 1, transcript_version = s.transcript_version + 1, leaf_seq = null, view = ${KEPT_VIEW_SQL},
    context_tokens = 0, was_aborted = false, updated_at = clock_timestamp()
  from fit where s.id = fit.id
  returning s.id, s.transcript_no
),
inserted_events as (${insertEventsSql(`select id as session_id, null::uuid as turn_id, 'session.reset' as type,
  json_build_object('transcriptNo', transcript_no, 'previousTranscriptNo', transcript_no - 1, 'reason', $reason::text) as data, 1 as n
  from updated_sessions`)})
select id from locked`,
  values: (reset: { sessionId: SessionId; epoch: number; transcriptNo: number; reason: string }) => reset,
  answer: (rows: object[]) => rows.length > 0,
});

/** `running`: a turn is open; end it first. `unknown`: no such session. */
export type Reset =
  | { kind: 'ok'; transcriptNo: number; previousNo: number }
  | { kind: 'running' }
  | { kind: 'unknown' };

// What a confined session `s` was sent is also in sessions of its root, and in what waits.
const IS_CLEAN_SQL = `not exists (select from holdfast.sessions other where ${rootSql('other')} = ${rootSql('s')} and other.id <> s.id)
  and not exists (select from holdfast.inbox i where i.session_id = s.id and i.status in ('delayed', 'waiting', 'claimed'))
  and not exists (select from holdfast.system_events e where e.session_id = s.id and e.state = 'queued')`;

// A worker that has claimed the session but not opened its turn yet assembles a prompt on the old
// transcript: the epoch is raised, so that its opening is refused, and the doorbell is rung again
// for the waiting messages.
export const beginTranscript = literalQuery({
  name: 'reset-session',
  purpose: 'Begin a new transcript, unless a turn is open.',
  locking: 'The session row.',
  text: `with locked as materialized (select s.* from holdfast.sessions s where s.key = $sessionKey for no key update),
fit as materialized (select * from locked where turn_id is null and transcript_no < $next),
ended as (
  insert into holdfast.ended_transcripts (session_id, transcript_no, last_seq) select id, transcript_no, entry_seq from fit
  on conflict do nothing
),
updated_sessions as (
  update holdfast.sessions s
  set transcript_no = s.transcript_no + 1, transcript_version = s.transcript_version + 1, leaf_seq = null, view = ${KEPT_VIEW_SQL},
    context_tokens = 0, was_aborted = false, stop_kind = null, stop_reason = null, epoch = s.epoch + 1, owner = null,
    lease_expires_at = null, updated_at = clock_timestamp(), is_confined = s.is_confined and not ($isTrusted and ${IS_CLEAN_SQL})
  from fit where s.id = fit.id
  returning s.*
),
${RUNG_AGAIN_SQL},
inserted_events as (${insertEventsSql(`select id as session_id, null::uuid as turn_id, 'session.reset' as type,
  json_build_object('transcriptNo', transcript_no, 'previousTranscriptNo', transcript_no - 1, 'reason', 'api') as data, 1 as n from updated_sessions`)}),
ended_now as materialized (
  select coalesce(updated_sessions.transcript_no, locked.transcript_no) as no from locked left join updated_sessions on true
  where updated_sessions.id is not null or locked.transcript_no >= $next
),
${keyedSql(`select json_build_object('transcriptNo', no, 'previousNo', no - 1) from ended_now`)}
select locked.id, ended_now.no, rung_doorbells.lane, rung_doorbells.rings
from locked left join ended_now on true left join rung_doorbells on true`,
  values: ({ idempotency, ...transcript }: NextTranscript) => ({ ...transcript, ...idempotency }),
  answer([row]: ResetRow[]): Committed<Reset> {
    if (row === undefined) return { kind: 'unknown' };
    const { no: transcriptNo } = row;
    if (transcriptNo === null) return { kind: 'running' };
    return { kind: 'ok', transcriptNo, previousNo: transcriptNo - 1, after: buildAfter('inbound', row.id, row) };
  },
});

export const readTranscriptNo = literalQuery({
  name: 'transcript-no',
  purpose: 'Read the number of the transcript of a session.',
  text: 'select transcript_no from holdfast.sessions where key = $1',
  values: (sessionKey: string) => [sessionKey],
  answer: ([row]: { transcript_no: number }[]) => row?.transcript_no ?? null,
});

/** Gives the session of this canonical key a new transcript, unless a turn is open. */
export async function resetSession(
  database: Database,
  key: string,
  { idempotency, isTrusted }: Pick<NextTranscript, 'idempotency' | 'isTrusted'>,
): Promise<Committed<Reset>> {
  const current = await readTranscriptNo(database, key);
  if (current === null) return { kind: 'unknown' };
  // Names the transcript to be ended, so that the statement may be sent again.
  return beginTranscript(database, { sessionKey: key, next: current + 1, idempotency, isTrusted });
}

interface NextTranscript {
  sessionKey: string;
  /** Its number. */
  next: number;
  idempotency: KeyedRequest | null;
  /** True: of a caller that sees everything, which ends the confinement of the session. */
  isTrusted: boolean;
}

interface ResetRow extends RungColumns {
  id: SessionId;
  /** The number of the new transcript; null: a turn is open. */
  no: number | null;
}
