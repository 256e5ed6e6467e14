// The steps of a compaction after its start, each one a fenced statement. See journal.ts.
//
//   compaction-answered    the model's answer, before anything of it has an effect (only when there
//                          is a memory to be written)
//   compaction-completed   the summary becomes an entry and replaces those it retires: they keep
//                          their rows
//   compaction-failed      it did not succeed; the transcript is unchanged
//
// A summary is never in a transcript twice: `completed` moves the session's entry number, and a row
// that this write has already changed counts as done. A reader sees the entries as before or the
// summary in their place, nothing in between.
import type { Committed } from '../../queue/after-commit.ts';
import type { SystemEventId } from '../../../core/ids.ts';
import type { SessionStop } from '../../../core/statuses.ts';
import { retryPassingFaults, TURN_RETRY_MS } from '../../../database/passing-faults.ts';
import { type RowSubmitter, cte, optional, rows, statement, type Cte } from '../../../database/statement.ts';
import type { Database } from '../../../database/database.ts';
import { insertedEvents, noEventsSql } from '../../events/events.ts';
import type { JournalWrite } from './journal.ts';
import { buildChange } from '../../queue/rings.ts';
import { dropOldestEventsSql } from '../../inbox/system-events.ts';
import type { MemoryNote } from './begin-compaction.ts';
import {
  fence,
  head,
  locked,
  PROGRESS_SQL,
  verdict,
  VIEW_SQL,
  haveEvents,
  JOURNAL_EVENTS_SQL,
  newEvents,
  storedSteps,
} from './write-parts.ts';

/**
 * Which entries of the active path stay: all from `firstKeptSeq` on, and the pinned ones before it.
 */
export interface CompactionCut {
  firstKeptSeq: number;
  pinnedSeqs: number[];
}

export type CompactionStep =
  | { kind: 'answered'; cut: CompactionCut; summary: string; memory: MemoryNote | null }
  | {
      /** The summary is the only entry of the write. */
      kind: 'completed';
      cut: CompactionCut;
      tokensAfter: number;
      audit: object | null;
      /** The rules that the next prompt repeats. */
      refresh: { id: SystemEventId; text: string } | null;
    }
  | { kind: 'failed' | 'timedOut'; error: { code: string; message: string } };

export interface CompactionWrite extends JournalWrite {
  compactionId: string;
  step: CompactionStep;
  /** The request that was sent, by the hash that its call's view names. */
  snapshots: { sha256: string; content: string }[];
}

/** `version`: of the transcript after the write. */
export type CompactionVerdict = { kind: 'ok'; stop: SessionStop | null; version: number } | { kind: 'fenced' };

/** Makes the function that writes the moments of compactions. */
export function createWriteCompaction(database: Database): RowSubmitter<CompactionWrite, Committed<CompactionVerdict>> {
  return (write) => retryPassingFaults(() => writeOne(database, write), TURN_RETRY_MS);
}

type Writes = readonly CompactionWrite[];

/** The writes whose step is of these kinds, with it. */
function pickSteps<Kind extends CompactionStep['kind']>(writes: Writes, ...kinds: Kind[]) {
  return writes.flatMap(({ compactionId, step }) => (isKind(step, kinds) ? [{ compactionId, step }] : []));
}

function isKind<Kind extends CompactionStep['kind']>(
  step: CompactionStep,
  kinds: readonly Kind[],
): step is Extract<CompactionStep, { kind: Kind }> {
  return kinds.some((kind) => kind === step.kind);
}

const insertedSnapshots = optional('snapshots', (writes: Writes) => writes.some((one) => one.snapshots.length > 0))(
  rows('new_snapshots', (writes: Writes) => writes.flatMap((one) => one.snapshots), {
    sha256: ['text', (one) => one.sha256],
    content: ['json', (one) => one.content],
  }),
  cte(`inserted_snapshots as (
  insert into holdfast.snapshots (sha256, content)
  select new_snapshots.* from new_snapshots where exists (select from fence)
  on conflict do nothing
)`),
);

/** `updated_compactions`: the compaction's row, when this write is what moved it. */
function updatedCompactions(assignments: string, binds: Cte<Writes>['binds'] = {}): Cte<Writes> {
  return cte(
    `updated_compactions as (
  update holdfast.compactions c set ${assignments}
  from fence, compaction_step where c.id = compaction_step.id and c.status = 'running'
  returning c.id, c.session_id, c.turn_id, c.status, c.tokens_before, c.tokens_after, c.error, fence.scope
)`,
    { binds },
  );
}

const progressedTurns = cte(`progressed_turns as (
  update holdfast.turns t set status = 'running', ${PROGRESS_SQL} from fence where t.id = fence.turn_id
)`);

const updatedSessions = cte(`updated_sessions as (
  update holdfast.sessions s set updated_at = clock_timestamp(), ${VIEW_SQL}
  from fence where s.id = fence.session_id
  returning s.id, s.transcript_version
)`);

// Inserted once, by the write that changed the compaction's row and stored its call: the events are
// about that call. An answer leaves the row `running`, so when the write is sent again only the
// call shows that it was applied before.
const journalEventsOnce = optional('events', haveEvents)(
  newEvents,
  cte(
    `journal_events as (
  ${JOURNAL_EVENTS_SQL} where exists (select from updated_compactions) and exists (select from stored_calls)
)`,
    { absent: noEventsSql('journal_events') },
  ),
);

const endedEvents = cte(`ended_events as (
  select session_id, turn_id, 'compaction.ended' as type, json_build_object('compactionId', id, 'status', status,
    'tokensBefore', tokens_before, 'tokensAfter', tokens_after, 'error', error) as data, 0 as n, scope from updated_compactions
)`);

const LOCKING = 'The session row, then rows that belong to it.';
const SELECT_VERDICT = `select verdict.is_ok, verdict.stop, coalesce(updated_sessions.transcript_version, s.transcript_version) as version
from verdict left join updated_sessions on true left join holdfast.sessions s on s.id = any ($sessions::uuid[])`;

export const COMPACTION_ANSWERED = statement<Writes>({
  name: 'compaction-answered',
  purpose: 'Store the answer of the model before anything of it has an effect. Answers one row.',
  locking: LOCKING,
  ctes: [
    head,
    locked,
    verdict,
    fence,
    ...storedSteps,
    ...insertedSnapshots,
    rows('compaction_step', (writes: Writes) => pickSteps(writes, 'answered'), {
      id: ['uuid', (one) => one.compactionId],
      first_kept_seq: ['bigint', ({ step }) => step.cut.firstKeptSeq],
      summary: ['text', ({ step }) => step.summary],
      memory: ['json', ({ step }) => (step.memory === null ? null : JSON.stringify(step.memory))],
    }),
    updatedCompactions(
      `first_kept_seq = compaction_step.first_kept_seq, pinned_seqs = $pinned_seqs::bigint[], summary = compaction_step.summary,
    memory = compaction_step.memory`,
      { pinned_seqs: (writes) => pickSteps(writes, 'answered').flatMap(({ step }) => step.cut.pinnedSeqs) },
    ),
    progressedTurns,
    updatedSessions,
    ...journalEventsOnce,
    insertedEvents('journal_events'),
  ],
  select: SELECT_VERDICT,
});

// One more event waits than the others know of; the oldest gives way as it always does.
const refreshedEvents = optional('refresh', (writes: Writes) =>
  pickSteps(writes, 'completed').some(({ step }) => step.refresh !== null),
)(
  rows(
    'new_system_events',
    (writes: Writes) =>
      pickSteps(writes, 'completed').flatMap(({ step }) => (step.refresh === null ? [] : [step.refresh])),
    { id: ['uuid', (one) => one.id], text: ['text', (one) => one.text] },
  ),
  ...dropOldestEventsSql('updated_compactions').map((text) => cte(text)),
  cte(`inserted_refresh as (
  insert into holdfast.system_events (id, session_id, text, context_key, is_trusted, cause_key)
  select event.id, updated_compactions.session_id, event.text, 'compaction', true, 'post-compaction:' || updated_compactions.id
  from new_system_events event, updated_compactions
  on conflict do nothing
)`),
);

export const COMPACTION_COMPLETED = statement<Writes>({
  name: 'compaction-completed',
  purpose: 'Make the summary an entry in place of those that it retires. Answers one row.',
  locking: LOCKING,
  ctes: [
    head,
    locked,
    verdict,
    fence,
    ...storedSteps,
    ...insertedSnapshots,
    rows('compaction_step', (writes: Writes) => pickSteps(writes, 'completed'), {
      id: ['uuid', (one) => one.compactionId],
      first_kept_seq: ['bigint', ({ step }) => step.cut.firstKeptSeq],
      tokens_after: ['bigint', ({ step }) => step.tokensAfter],
      audit: ['json', ({ step }) => (step.audit === null ? null : JSON.stringify(step.audit))],
    }),
    updatedCompactions(
      `status = 'completed', first_kept_seq = compaction_step.first_kept_seq, pinned_seqs = $pinned_seqs::bigint[], summary = null,
    summary_seq = fence.base_seq + 1, tokens_after = compaction_step.tokens_after, audit = compaction_step.audit, ended_at = clock_timestamp()`,
      { pinned_seqs: (writes) => pickSteps(writes, 'completed').flatMap(({ step }) => step.cut.pinnedSeqs) },
    ),
    cte(`retired_entries as (
  update holdfast.entries e set state = 'compacted', retired_seq = fence.base_seq + 1
  from fence, compaction_step
  where e.session_id = fence.session_id and e.transcript_no = fence.transcript_no and e.state = 'active'
    and e.seq <= fence.base_seq and (e.seq < compaction_step.first_kept_seq or e.kind = 'summary') and e.seq <> all ($pinned_seqs::bigint[])
)`),
    ...refreshedEvents,
    progressedTurns,
    cte(`updated_sessions as (
  update holdfast.sessions s
  set updated_at = clock_timestamp(), entry_seq = fence.base_seq + 1, leaf_seq = fence.base_seq + 1,
    transcript_version = s.transcript_version + 1, context_tokens = compaction_step.tokens_after, ${VIEW_SQL}
  from fence, compaction_step where s.id = fence.session_id
  returning s.id, s.transcript_version
)`),
    ...journalEventsOnce,
    endedEvents,
    insertedEvents('journal_events', 'ended_events'),
  ],
  select: SELECT_VERDICT,
});

export const COMPACTION_FAILED = statement<Writes>({
  name: 'compaction-failed',
  purpose: 'End a compaction without success; the transcript is unchanged. Answers one row.',
  locking: LOCKING,
  ctes: [
    head,
    locked,
    verdict,
    fence,
    ...storedSteps,
    ...insertedSnapshots,
    rows('compaction_step', (writes: Writes) => pickSteps(writes, 'failed', 'timedOut'), {
      id: ['uuid', (one) => one.compactionId],
      status: ['text', ({ step }) => step.kind],
      error: ['json', ({ step }) => JSON.stringify(step.error)],
    }),
    updatedCompactions('status = compaction_step.status, error = compaction_step.error, ended_at = clock_timestamp()'),
    progressedTurns,
    updatedSessions,
    ...journalEventsOnce,
    endedEvents,
    insertedEvents('journal_events', 'ended_events'),
  ],
  select: SELECT_VERDICT,
});

const STATEMENTS = {
  answered: COMPACTION_ANSWERED,
  completed: COMPACTION_COMPLETED,
  failed: COMPACTION_FAILED,
  timedOut: COMPACTION_FAILED,
};

async function writeOne(database: Database, write: CompactionWrite): Promise<Committed<CompactionVerdict>> {
  const result = await database.hot.query(STATEMENTS[write.step.kind].prepared([write]));
  const row = result.rows[0];
  if (row === undefined || !row.is_ok) return { kind: 'fenced' };
  return { kind: 'ok', stop: row.stop, version: Number(row.version), after: buildChange(write.fence.sessionId) };
}
