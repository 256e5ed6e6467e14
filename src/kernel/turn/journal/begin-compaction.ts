// `begin-compaction`: before a summary is requested. Charges its model call, counts the attempts of
// its turn, and reads what an earlier worker left: a stored answer is used instead of a new
// request, anything else is abandoned. See journal.ts.
import type { Committed } from '../../queue/after-commit.ts';
import type { SessionId } from '../../../core/ids.ts';
import type { CompactionReason } from '../../../compaction/plan-compaction.ts';
import type { SessionStop } from '../../../core/statuses.ts';
import { retryPassingFaults, TURN_RETRY_MS } from '../../../database/passing-faults.ts';
import { type RowSubmitter, cte, rows, statement } from '../../../database/statement.ts';
import type { Database } from '../../../database/database.ts';
import { insertedEvents } from '../../events/events.ts';
import type { JournalWrite } from './journal.ts';
import { buildChange } from '../../queue/rings.ts';
import { fence, head, locked, PROGRESS_SQL, verdict, storedSteps } from './write-parts.ts';

export interface CompactionBegin extends JournalWrite {
  compaction: {
    /** Made by the caller, so that a statement that is sent again begins nothing twice. */
    id: string;
    reason: CompactionReason;
    tokensBefore: number;
    /** The largest number of attempts in one turn without success. */
    attemptsMax: number;
  };
}

/** The note for the memory of the day, and its file, relative to the workspace. */
export interface MemoryNote {
  path: string;
  text: string;
}

/** A compaction whose answer is there, and whose end is not. */
export interface AnsweredCompaction {
  id: string;
  firstKeptSeq: number;
  pinnedSeqs: number[];
  summary: string;
  memory: MemoryNote | null;
  tokensBefore: number;
}

/**
 * `begun`: the call is charged; `mayFlush` is false when this cycle has had its flush. `answered`:
 * an earlier worker of this turn stored the answer; nothing was charged. `exhausted`: no attempt is
 * left; nothing was charged. `fenced`: this worker no longer holds the session.
 */
export type CompactionStart = { stop: SessionStop | null } & (
  | { kind: 'begun'; attempt: number; mayFlush: boolean }
  | { kind: 'answered'; compaction: AnsweredCompaction }
  | { kind: 'exhausted' }
  | { kind: 'fenced' }
);

/** Makes the function that begins compactions. */
export function createBeginCompaction(database: Database): RowSubmitter<CompactionBegin, Committed<CompactionStart>> {
  return (begin) => retryPassingFaults(() => beginOne(database, begin), TURN_RETRY_MS);
}

type Begins = readonly CompactionBegin[];

const newCompactions = rows('new_compactions', (begins: Begins) => begins.map(({ compaction }) => compaction), {
  id: ['uuid', (row) => row.id],
  reason: ['text', (row) => row.reason],
  tokens_before: ['bigint', (row) => row.tokensBefore],
  attempts_max: ['int', (row) => row.attemptsMax],
});

// Compactions of the session that were started. Only the holder of the lock writes these rows, and
// an earlier holder cannot write any more once we have claimed.
const ownCompactions = cte(`own as materialized (
  select c.id, c.attempt from holdfast.compactions c join new_compactions added on added.id = c.id
)`);

const answeredCompactions = cte(`answered as materialized (
  select c.* from holdfast.compactions c join fence on c.turn_id = fence.turn_id join new_compactions added on c.id <> added.id
  where c.status = 'running' and c.summary is not null order by c.id desc limit 1
)`);

const failedCompactions = cte(`counted as materialized (
  select count(*)::int as failed from holdfast.compactions c join fence on c.turn_id = fence.turn_id join new_compactions added on c.id <> added.id
  where c.status in ('running', 'failed', 'timedOut') and coalesce(c.error ->> 'code', '') not in ('model_away', 'model_wrong_address', 'rate_limited', 'model_blocked')
)`);

const memoryCycle = cte(`cycle as materialized (
  select exists (
    select from holdfast.compactions c join fence on c.session_id = fence.session_id
    where c.memory is not null and c.status not in ('completed', 'restored') and c.id > coalesce((
      select done.id from holdfast.compactions done
      where done.session_id = fence.session_id and done.status in ('completed', 'restored') order by done.id desc limit 1
    ), '00000000-0000-0000-0000-000000000000')
  ) as has_flushed
)`);

const judgedCompactions = cte(`judged as materialized (
  select fence.*, added.id, added.reason, added.tokens_before, counted.failed + 1 as attempt, case
      when exists (select from own) then 'begun'
      when exists (select from answered) then 'answered'
      when counted.failed >= added.attempts_max then 'exhausted'
      else 'begun'
    end as verdict
  from fence, new_compactions added, counted
)`);

const begunCompactions = cte(`begun as (
  insert into holdfast.compactions (id, session_id, transcript_no, turn_id, reason, attempt, tokens_before)
  select id, session_id, transcript_no, turn_id, reason, attempt, tokens_before from judged where verdict = 'begun'
  on conflict (id) do nothing
  returning id, session_id, turn_id, reason, attempt, tokens_before
)`);

const givenUpCompactions = cte(`given_up as (
  update holdfast.compactions c set status = 'failed', ended_at = clock_timestamp(),
    error = json_build_object('code', 'interrupted', 'message', 'Its worker stopped before the compaction was done.')
  from judged
  where c.session_id = judged.session_id and c.status = 'running' and c.id <> judged.id and judged.verdict <> 'answered'
)`);

const progressedTurns = cte(`progressed as (
  update holdfast.turns t set status = 'running', ${PROGRESS_SQL}
  from judged as fence where t.id = fence.turn_id and fence.verdict = 'begun'
)`);

const updatedSessions = cte(`updated_sessions as (
  update holdfast.sessions s set updated_at = clock_timestamp() from judged where s.id = judged.session_id
)`);

const begunEvents = cte(`begun_events as (
  select session_id, turn_id, 'compaction.started' as type, json_build_object('compactionId', id,
    'reason', reason, 'attempt', attempt, 'tokensBefore', tokens_before) as data, 1 as n,
    (select fence.scope from fence) as scope from begun
)`);

export const BEGIN_COMPACTION = statement<Begins>({
  name: 'begin-compaction',
  purpose: 'Begin a compaction, or say why not. Answers one row.',
  locking: 'The session row.',
  ctes: [
    head,
    locked,
    verdict,
    fence,
    ...storedSteps,
    newCompactions,
    ownCompactions,
    answeredCompactions,
    failedCompactions,
    memoryCycle,
    judgedCompactions,
    begunCompactions,
    givenUpCompactions,
    progressedTurns,
    updatedSessions,
    begunEvents,
    insertedEvents('begun_events'),
  ],
  select: `select verdict.is_ok, verdict.stop, judged.verdict, coalesce(own.attempt, judged.attempt) as attempt, not cycle.has_flushed as may_flush,
  case when judged.verdict = 'answered' then json_build_object('id', answered.id, 'firstKeptSeq', answered.first_kept_seq,
    'pinnedSeqs', answered.pinned_seqs, 'summary', answered.summary, 'memory', answered.memory,
    'tokensBefore', answered.tokens_before) end as compaction
from verdict left join judged on true left join own on true left join answered on true left join cycle on true`,
});

async function beginOne(database: Database, begin: CompactionBegin): Promise<Committed<CompactionStart>> {
  const result = await database.hot.query(BEGIN_COMPACTION.prepared([begin]));
  return toStart(begin.fence.sessionId, result.rows[0]);
}

function toStart(sessionId: SessionId, row: CompactionStartRow | undefined): Committed<CompactionStart> {
  const stop = row?.stop ?? null;
  if (row === undefined || !row.is_ok) return { kind: 'fenced', stop };
  if (row.verdict === 'answered' && row.compaction !== null) {
    const { pinnedSeqs } = row.compaction;
    return { kind: 'answered', stop, compaction: { ...row.compaction, pinnedSeqs: pinnedSeqs ?? [] } };
  }
  if (row.verdict === 'begun') {
    return { kind: 'begun', stop, attempt: row.attempt, mayFlush: row.may_flush, after: buildChange(sessionId) };
  }
  return { kind: row.verdict === 'exhausted' ? 'exhausted' : 'fenced', stop };
}

interface CompactionStartRow {
  is_ok: boolean;
  stop: SessionStop | null;
  verdict: 'begun' | 'answered' | 'exhausted' | null;
  attempt: number;
  may_flush: boolean;
  compaction: (Omit<AnsweredCompaction, 'pinnedSeqs'> & { pinnedSeqs: number[] | null }) | null;
}
