// The steps of a compaction after its start, each one a fenced statement. See journal.ts.
//
//   compaction-answered    the model's answer, before anything of it has an effect (only when there is a memory to be written)
//   compaction-completed   the summary becomes an entry and replaces those it retires: they keep their rows
//   compaction-failed      it did not succeed; the transcript is unchanged
//
// A summary is never in a transcript twice: `completed` moves the session's entry number, and a row that this write has already
// changed counts as done. A reader sees the entries as before or the summary in their place, nothing in between.
import type { SystemEventId } from '../../core/ids.ts';
import type { Database } from '../database.ts';
import { insertEventsSql } from '../events.ts';
import type { JournalWrite } from '../journal.ts';
import { retryPassingFaults, TURN_RETRY_MS } from '../retry-passing-faults.ts';
import type { RowSubmitter } from '../share-statement.ts';
import { prepared, Values } from '../statement.ts';
import { dropOldestEventsSql } from '../system-events.ts';
import type { MemoryNote } from './begin-compaction.ts';
import { eventsSource, journalParts, PROGRESS_SQL, viewsSql } from './write-parts.ts';

/** Which entries of the active path stay: all from `firstKeptSeq` on, and the pinned ones before it. */
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
export type CompactionVerdict = { kind: 'ok'; stopReason: string | null; version: number } | { kind: 'fenced' };

/** Makes the function that writes the moments of compactions. */
export function createWriteCompaction(database: Database): RowSubmitter<CompactionWrite, CompactionVerdict> {
  return (write) => retryPassingFaults(() => writeOne(database, write), { retryMs: TURN_RETRY_MS });
}

async function writeOne(database: Database, write: CompactionWrite): Promise<CompactionVerdict> {
  const values = new Values();
  const parts = journalParts(values, [write]);
  const views = viewsSql(values, [write]);
  const kept = write.snapshots.length === 0 ? [] : [keptPart(values, write)];
  const own = ownParts(values, write);
  const events = eventsSource(values, [write]);
  const isCompleted = write.step.kind === 'completed';
  // Purpose: one step of a compaction. Locking: the session row, then rows that belong to it. Output: one row.
  const text = `/* compaction-${write.step.kind === 'timedOut' ? 'failed' : write.step.kind} */
with ${parts},
${[...kept, ...own].join(',\n')},
progressed as (
  update holdfast.turns t set status = 'running', ${PROGRESS_SQL} from fence where t.id = fence.turn_id
),
updated_sessions as (
  update holdfast.sessions s
  set updated_at = clock_timestamp()${isCompleted ? COMPLETED_SESSION_SQL : ''}${views}
  from fence${isCompleted ? ', wish' : ''} where s.id = fence.session_id
  returning s.id, s.transcript_version
),
inserted_events as (${insertEventsSql(toldSql(events, write.step))})
select verdict.is_ok, verdict.stop_reason, coalesce(updated_sessions.transcript_version, s.transcript_version) as version
from verdict left join updated_sessions on true left join holdfast.sessions s on s.id = any ($1::uuid[])`;
  const result = await database.hot.query(prepared('write-compaction', text, values.list));
  const row = result.rows[0];
  if (row === undefined || !row.is_ok) return { kind: 'fenced' };
  return { kind: 'ok', stopReason: row.stop_reason, version: Number(row.version) };
}

const COMPLETED_SESSION_SQL = `,
    entry_seq = fence.base_seq + 1, leaf_seq = fence.base_seq + 1, transcript_version = s.transcript_version + 1,
    context_tokens = wish.tokens_after`;

/** The CTEs of a step: `updated_compactions` is the compaction's row, when this write is what moved it. */
function ownParts(values: Values, { compactionId, step }: CompactionWrite): string[] {
  switch (step.kind) {
    case 'answered': {
      const wish = values.table('wish', [step], {
        id: ['uuid', () => compactionId],
        first_kept_seq: ['bigint', (one) => one.cut.firstKeptSeq],
        summary: ['text', (one) => one.summary],
        memory: ['json', (one) => (one.memory === null ? null : JSON.stringify(one.memory))],
      });
      return [
        `wish as materialized (select * from ${wish})`,
        notedSql(`first_kept_seq = wish.first_kept_seq, pinned_seqs = ${pinned(values, step.cut)}, summary = wish.summary,
    memory = wish.memory`),
      ];
    }
    case 'completed': {
      const wish = values.table('wish', [step], {
        id: ['uuid', () => compactionId],
        first_kept_seq: ['bigint', (one) => one.cut.firstKeptSeq],
        tokens_after: ['bigint', (one) => one.tokensAfter],
        audit: ['json', (one) => (one.audit === null ? null : JSON.stringify(one.audit))],
      });
      const pinnedSeqs = pinned(values, step.cut);
      return [
        `wish as materialized (select * from ${wish})`,
        notedSql(`status = 'completed', first_kept_seq = wish.first_kept_seq, pinned_seqs = ${pinnedSeqs}, summary = null,
    summary_seq = fence.base_seq + 1, tokens_after = wish.tokens_after, audit = wish.audit, ended_at = clock_timestamp()`),
        `retired as (
  update holdfast.entries e set state = 'compacted', retired_seq = fence.base_seq + 1
  from fence, wish
  where e.session_id = fence.session_id and e.transcript_no = fence.transcript_no and e.state = 'active'
    and e.seq <= fence.base_seq and (e.seq < wish.first_kept_seq or e.kind = 'summary') and e.seq <> all (${pinnedSeqs})
)`,
        ...refreshParts(values, step.refresh),
      ];
    }
    case 'failed':
    case 'timedOut': {
      const wish = values.table('wish', [step], {
        id: ['uuid', () => compactionId],
        status: ['text', (one) => one.kind],
        error: ['json', (one) => JSON.stringify(one.error)],
      });
      return [
        `wish as materialized (select * from ${wish})`,
        notedSql('status = wish.status, error = wish.error, ended_at = clock_timestamp()'),
      ];
    }
    default:
      return step satisfies never;
  }
}

function pinned(values: Values, { pinnedSeqs }: CompactionCut): string {
  return values.array('bigint', pinnedSeqs, (seq) => seq);
}

function notedSql(assignments: string): string {
  return `updated_compactions as (
  update holdfast.compactions c set ${assignments}
  from fence, wish where c.id = wish.id and c.status = 'running'
  returning c.id, c.session_id, c.turn_id, c.status, c.tokens_before, c.tokens_after, c.error
)`;
}

// One more event waits than the others know of; the oldest gives way as it always does.
function refreshParts(values: Values, refresh: { id: SystemEventId; text: string } | null): string[] {
  if (refresh === null) return [];
  const table = values.table('event', [refresh], { id: ['uuid', (one) => one.id], text: ['text', (one) => one.text] });
  return [
    ...dropOldestEventsSql('updated_compactions'),
    `inserted_refresh as (
  insert into holdfast.system_events (id, session_id, text, context_key, is_trusted, cause_key)
  select event.id, updated_compactions.session_id, event.text, 'compaction', true, 'post-compaction:' || updated_compactions.id
  from ${table}, updated_compactions
  on conflict do nothing
)`,
  ];
}

function keptPart(values: Values, { snapshots }: CompactionWrite): string {
  const table = values.table('snapshot', snapshots, {
    sha256: ['text', (one) => one.sha256],
    content: ['json', (one) => one.content],
  });
  return `inserted_snapshots as (
  insert into holdfast.snapshots (sha256, content)
  select snapshot.* from ${table} where exists (select from fence)
  on conflict do nothing
)`;
}

// Inserted once, by the write that changed the compaction's row.
function toldSql(events: string | null, step: CompactionStep): string {
  const ended = `select session_id, turn_id, 'compaction.ended' as type, json_build_object('compactionId', id, 'status', status,
      'tokensBefore', tokens_before, 'tokensAfter', tokens_after, 'error', error) as data, 1000000::bigint as n from updated_compactions`;
  const own = events === null ? null : `${events} where exists (select from updated_compactions)`;
  if (step.kind !== 'answered') return own === null ? ended : `${own}\n    union all ${ended}`;
  return own ?? `${ended} where false`;
}
