// Compactions and ended transcripts as the API shows them: what was compacted, and the earlier transcripts of the
// session.
import { raw, sql } from '../../database/drizzle.ts';
import type { CompactionView, TranscriptView } from '../../contract/transcripts.ts';
import { isoSql } from '../sessions/session-facts.ts';
import { cutPage, type Page, type PageRequest, type ViewDatabase } from '../../database/page.ts';

const COMPACTION = raw(`json_build_object('id', c.id, 'sessionKey', s.key, 'transcriptNo', c.transcript_no,
  'turnId', c.turn_id, 'reason', c.reason, 'status', c.status, 'attempt', c.attempt, 'tokensBefore', c.tokens_before,
  'tokensAfter', c.tokens_after,
  'summaryEntryId', (select e.id from holdfast.entries e where e.session_id = c.session_id and e.seq = c.summary_seq),
  'retiredEntries', (select count(*) from holdfast.entries e
    where e.session_id = c.session_id and c.summary_seq is not null and e.state = 'compacted' and e.retired_seq = c.summary_seq),
  'memoryPath', c.memory ->> 'path', 'audit', c.audit, 'error', c.error,
  'isRestorable', c.status = 'completed' and c.transcript_no = s.transcript_no,
  'startedAt', ${isoSql('c.started_at')}, 'endedAt', ${isoSql('c.ended_at')})`);

/** The compactions of a session, newest first; `after` is an id. */
export async function listCompactions(
  db: ViewDatabase,
  sessionId: string,
  page: PageRequest,
): Promise<Page<CompactionView>> {
  const result = await db.query<{ view: CompactionView }>(sql`
    select ${COMPACTION} as view from holdfast.compactions c join holdfast.sessions s on s.id = c.session_id
    where c.session_id = ${sessionId} and (${page.after}::uuid is null or c.id < ${page.after}::uuid)
    order by c.id desc limit ${page.limit + 1}`);
  const views = result.rows.map(({ view }) => view);
  return cutPage(views, page.limit, ({ id }) => id);
}

/** The last compaction that a turn began, or null. */
export async function viewCompactionOfTurn(db: ViewDatabase, turnId: string): Promise<CompactionView | null> {
  const result = await db.query<{ view: CompactionView }>(sql`
    select ${COMPACTION} as view from holdfast.compactions c join holdfast.sessions s on s.id = c.session_id
    where c.turn_id = ${turnId} order by c.id desc limit 1`);
  return result.rows[0]?.view ?? null;
}

/** The compaction of this id in a session, or null. */
export async function viewCompaction(
  db: ViewDatabase,
  wanted: { sessionKey: string; id: string },
): Promise<CompactionView | null> {
  const result = await db.query<{ view: CompactionView }>(sql`
    select ${COMPACTION} as view from holdfast.compactions c join holdfast.sessions s on s.id = c.session_id
    where c.id = ${wanted.id} and s.key = ${wanted.sessionKey}`);
  return result.rows[0]?.view ?? null;
}

/** The transcripts of a session, the current one first; `after` is a number. */
export async function listTranscripts(
  db: ViewDatabase,
  sessionId: string,
  page: PageRequest,
): Promise<Page<TranscriptView>> {
  const result = await db.query<{ view: TranscriptView }>(sql`
    with transcripts as (
      select s.id as session_id, s.transcript_no, null::timestamptz as ended_at from holdfast.sessions s where s.id = ${sessionId}
      union all
      select t.session_id, t.transcript_no, t.ended_at from holdfast.ended_transcripts t where t.session_id = ${sessionId}
    )
    select json_build_object('transcriptNo', t.transcript_no, 'isCurrent', t.ended_at is null,
      'entries', (select count(*) from holdfast.entries e where e.session_id = t.session_id and e.transcript_no = t.transcript_no),
      'endedAt', ${raw(isoSql('t.ended_at'))}) as view
    from transcripts t where ${page.after}::int is null or t.transcript_no < ${page.after}::int
    order by t.transcript_no desc limit ${page.limit + 1}`);
  const views = result.rows.map(({ view }) => view);
  return cutPage(views, page.limit, ({ transcriptNo }) => String(transcriptNo));
}
