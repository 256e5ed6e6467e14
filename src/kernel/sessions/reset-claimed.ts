// A reset by the worker that has claimed the session, before it opens the turn of the message that requested it. Like
// `reset-session`, but the worker keeps the lock. If the worker crashes after it, the next one finds an empty transcript and
// has nothing to reset.
import type { SessionId } from '../../core/ids.ts';
import type { Database } from '../../database/database.ts';
import { insertEventsSql } from '../events/events.ts';
import { sendQuery } from '../../database/send-query.ts';
import { literal } from '../../database/statement.ts';

/** What a new transcript keeps of the view of a session `s`: which alerts were sent lately. */
export const KEPT_VIEW_SQL = `case when s.view -> 'alerts' is null then '{}'::json else json_build_object('alerts', s.view -> 'alerts') end`;

export const RESET_CLAIMED = literal({
  name: 'reset-claimed',
  purpose: 'Begin a new transcript of a session that this worker has claimed.',
  locking: 'The session row.',
  text: `with locked as materialized (
  select s.* from holdfast.sessions s where s.id = $1 and s.epoch = $2 and s.turn_id is null for no key update
),
fit as materialized (select * from locked where transcript_no = $3),
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
  json_build_object('transcriptNo', transcript_no, 'previousTranscriptNo', transcript_no - 1, 'reason', $4::text) as data, 1 as n
  from updated_sessions`)})
select id from locked`,
});

/**
 * Ends transcript `transcriptNo` of a claimed session; false when this worker no longer holds the session. `reason` is shown with the
 * event: `message`, `daily` or `idle`.
 */
export async function resetClaimed(
  database: Database,
  reset: { sessionId: SessionId; epoch: number; transcriptNo: number; reason: string },
): Promise<boolean> {
  const values = [reset.sessionId, reset.epoch, reset.transcriptNo, reset.reason];
  const rows = await sendQuery(database.hot, RESET_CLAIMED.prepared(values));
  return rows.length > 0;
}
