// The parts that `commit-step` and `finish-turn` have in common: the columns of a batch of journal writes, and the SQL that
// checks the fence and stores entries, model calls and the ledger.
import type { JournalWrite } from '../journal.ts';
import { CALL_COLUMNS, TOOL_COLUMNS } from '../settlement-sql.ts';
import type { Values } from '../statement.ts';

export interface JournalPartsOptions {
  /** SQL of an array of further sessions that the statement changes; they are locked with the others, and `locked` then has whole rows. */
  also?: string | undefined;
  /** True: the writes of steps return their rows (see `storedSteps`), and `fence` has the version of each session's row. */
  isReturning?: boolean;
}

/**
 * The columns of a batch of writes and the CTEs that store them. CTEs defined: `head` (one row per write, n from 1),
 * `fence` (the writes that may be applied, with the locked session row's values), `verdict` (n, is_ok: applied now or earlier).
 * What no write of the batch has is left out: a lone step is a small statement.
 */
export function journalParts(
  values: Values,
  writes: JournalWrite[],
  { also, isReturning = false }: JournalPartsOptions = {},
): string {
  const sessions = values.array('uuid', writes, (write) => write.fence.sessionId);
  return [
    head(values, writes),
    lockedSql(sessions, also, isReturning ? ', s.xmin as version' : ''),
    fenceSql(isReturning ? ', s.version' : ''),
    ...entries(values, writes),
    ...modelCalls(values, writes, isReturning),
    ...intents(values, writes, isReturning),
    ...settlements(values, writes, isReturning),
  ].join(',\n');
}

/**
 * The CTEs of `journalParts` that write steps and return what they wrote: model calls, which are all new, and tool calls, which may have
 * been there before.
 */
export function storedSteps(writes: JournalWrite[]): { calls: string[]; tools: string[] } {
  const has = (pick: (write: JournalWrite) => unknown[]) => writes.some((write) => pick(write).length > 0);
  return {
    calls: has((write) => write.modelCalls) ? ['stored_calls'] : [],
    tools: [
      ...(has((write) => write.toolIntents) ? ['stored_intents'] : []),
      ...(has((write) => write.toolSettlements) ? ['settled_calls'] : []),
    ],
  };
}

function returningSql(isReturning: boolean, alias: string, columns: readonly string[]): string {
  return isReturning ? `\n  returning ${columns.map((column) => `${alias}.${column}`).join(', ')}` : '';
}

function head(values: Values, writes: JournalWrite[]): string {
  const table = values.table('head', writes, {
    n: ['int', (_, index) => index + 1],
    session_id: ['uuid', (write) => write.fence.sessionId],
    epoch: ['bigint', (write) => write.fence.epoch],
    base_seq: ['bigint', (write) => write.fence.baseSeq],
    added: ['int', (write) => write.entries.length],
    turn_id: ['uuid', (write) => write.progress.turnId],
    calls: ['int', (write) => write.progress.calls],
    retries: ['int', (write) => write.progress.retries],
    steps: ['int', (write) => write.progress.steps],
    input_tokens: ['bigint', (write) => write.progress.inputTokens],
    output_tokens: ['bigint', (write) => write.progress.outputTokens],
    cache_read_tokens: ['bigint', (write) => write.progress.cacheReadTokens],
    cache_write_tokens: ['bigint', (write) => write.progress.cacheWriteTokens],
  });
  return `head as materialized (select * from ${table})`;
}

function lockedSql(sessions: string, also: string | undefined, more: string): string {
  return also === undefined
    ? `locked as materialized (
  select s.id, s.epoch, s.turn_id, s.entry_seq, s.leaf_seq, s.transcript_no, s.stop_reason, s.waiting, s.steer_seq, s.inbox_seq${more}
  from holdfast.sessions s where s.id = any (${sessions}) order by s.id for no key update
)`
    : `locked as materialized (
  select s.*${more} from holdfast.sessions s where s.id = any (${sessions} || ${also}) order by s.id for no key update
)`;
}

// A write is applied when the row has our epoch and our base; it was applied earlier when the row is already that much further.
function fenceSql(more: string): string {
  return `verdict as materialized (
  select head.n, s.epoch = head.epoch and s.turn_id = head.turn_id
      and s.entry_seq in (head.base_seq, head.base_seq + head.added) as is_ok,
    s.epoch = head.epoch and s.turn_id = head.turn_id and s.entry_seq = head.base_seq as is_new,
    s.stop_reason, s.waiting, s.steer_seq
  from head join locked s on s.id = head.session_id
),
fence as materialized (
  select head.*, s.transcript_no, s.leaf_seq${more}
  from head join verdict on verdict.n = head.n and verdict.is_new join locked s on s.id = head.session_id
)`;
}

function entries(values: Values, writes: JournalWrite[]): string[] {
  const rows = writes.flatMap((write, index) =>
    write.entries.map((entry, offset) => ({ n: index + 1, offset: offset + 1, entry })),
  );
  if (rows.length === 0) return [];
  const hasPruned = rows.some((row) => row.entry.isPruned === true);
  const hasProvenance = rows.some((row) => row.entry.provenance);
  const table = values.table('e', rows, {
    n: ['int', (row) => row.n],
    pos: ['int', (row) => row.offset],
    id: ['uuid', (row) => row.entry.id],
    kind: ['text', (row) => row.entry.kind],
    role: ['text', (row) => row.entry.role],
    content: ['json', (row) => JSON.stringify(row.entry.content)],
    ...(hasPruned && { is_pruned: ['boolean', (row) => row.entry.isPruned === true] }),
    ...(hasProvenance && {
      provenance: ['json', (row) => (row.entry.provenance ? JSON.stringify(row.entry.provenance) : null)],
    }),
  });
  return [
    `stored_entries as (
  insert into holdfast.entries (session_id, seq, id, transcript_no, parent_seq, kind, role, content, turn_id${hasPruned ? ', state, retired_seq' : ''}${hasProvenance ? ', provenance' : ''})
  select fence.session_id, fence.base_seq + e.pos, e.id, fence.transcript_no,
    case when e.pos = 1 then fence.leaf_seq else fence.base_seq + e.pos - 1 end, e.kind, e.role, e.content, fence.turn_id${
      hasPruned
        ? `, case when e.is_pruned then 'pruned' else 'active' end, case when e.is_pruned then fence.base_seq + e.pos end`
        : ''
    }${hasProvenance ? ', e.provenance' : ''}
  from ${table} join fence on fence.n = e.n
)`,
  ];
}

function modelCalls(values: Values, writes: JournalWrite[], isReturning: boolean): string[] {
  const rows = writes.flatMap((write, index) => write.modelCalls.map((call) => ({ n: index + 1, call })));
  if (rows.length === 0) return [];
  const table = values.table('c', rows, {
    n: ['int', (row) => row.n],
    call_no: ['int', (row) => row.call.callNo],
    step: ['int', (row) => row.call.step],
    until_seq: ['bigint', (row) => row.call.untilSeq],
    status: ['text', (row) => row.call.status],
    stop_reason: ['text', (row) => row.call.stopReason],
    response_id: ['text', (row) => row.call.responseId],
    error: ['json', (row) => (row.call.error === null ? null : JSON.stringify(row.call.error))],
    input_tokens: ['bigint', (row) => row.call.inputTokens],
    output_tokens: ['bigint', (row) => row.call.outputTokens],
    cache_read_tokens: ['bigint', (row) => row.call.cacheReadTokens],
    cache_write_tokens: ['bigint', (row) => row.call.cacheWriteTokens],
    started_at: ['timestamptz', (row) => row.call.startedAt],
    first_chunk_at: ['timestamptz', (row) => row.call.firstChunkAt],
    ended_at: ['timestamptz', (row) => row.call.endedAt],
    purpose: ['text', (row) => row.call.purpose ?? 'answer'],
    view: ['json', (row) => (row.call.view === null ? null : JSON.stringify(row.call.view))],
    request_sha256: ['text', (row) => row.call.requestSha256],
    notes: ['json', (row) => (row.call.notes === undefined ? null : JSON.stringify(row.call.notes))],
  });
  return [
    `stored_calls as (
  insert into holdfast.model_calls (turn_id, call_no, step, epoch, until_seq, status, stop_reason, response_id, error,
    input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, started_at, first_chunk_at, ended_at, purpose,
    view, request_sha256, notes)
  select fence.turn_id, c.call_no, c.step, fence.epoch, c.until_seq, c.status, c.stop_reason, c.response_id, c.error,
    c.input_tokens, c.output_tokens, c.cache_read_tokens, c.cache_write_tokens, c.started_at, c.first_chunk_at, c.ended_at,
    c.purpose, c.view, c.request_sha256, c.notes
  from ${table}
  join fence on fence.n = c.n
  on conflict (turn_id, call_no) do nothing${returningSql(isReturning, 'model_calls', CALL_COLUMNS)}
)`,
  ];
}

// An intent that already exists is a call that is run again after a crash: its tool is idempotent.
function intents(values: Values, writes: JournalWrite[], isReturning: boolean): string[] {
  const rows = writes.flatMap((write, index) => write.toolIntents.map((intent) => ({ n: index + 1, intent })));
  if (rows.length === 0) return [];
  const table = values.table('i', rows, {
    n: ['int', (row) => row.n],
    step: ['int', (row) => row.intent.step],
    ordinal: ['int', (row) => row.intent.ordinal],
    call_id: ['text', (row) => row.intent.callId],
    name: ['text', (row) => row.intent.name],
    is_idempotent: ['boolean', (row) => row.intent.isIdempotent],
    status: ['text', (row) => row.intent.status],
  });
  return [
    `stored_intents as (
  insert into holdfast.tool_calls (turn_id, step, ordinal, call_id, name, is_idempotent, status, epoch, ended_at)
  select fence.turn_id, i.step, i.ordinal, i.call_id, i.name, i.is_idempotent, i.status, fence.epoch,
    case when i.status <> 'intent' then clock_timestamp() end
  from ${table}
  join fence on fence.n = i.n
  on conflict (turn_id, step, ordinal) do update set runs = tool_calls.runs + 1, epoch = excluded.epoch${returningSql(isReturning, 'tool_calls', TOOL_COLUMNS)}
)`,
  ];
}

function settlements(values: Values, writes: JournalWrite[], isReturning: boolean): string[] {
  const rows = writes.flatMap((write, index) => write.toolSettlements.map((call) => ({ n: index + 1, call })));
  if (rows.length === 0) return [];
  const table = values.table('c', rows, {
    n: ['int', (row) => row.n],
    step: ['int', (row) => row.call.step],
    ordinal: ['int', (row) => row.call.ordinal],
    status: ['text', (row) => row.call.status],
    result: ['json', (row) => (row.call.result === null ? null : JSON.stringify(row.call.result))],
  });
  return [
    `settled_calls as (
  update holdfast.tool_calls t
  set status = c.status, result = c.result, ended_at = clock_timestamp()
  from ${table} join fence on fence.n = c.n
  where t.turn_id = fence.turn_id and t.step = c.step and t.ordinal = c.ordinal${returningSql(isReturning, 't', TOOL_COLUMNS)}
)`,
  ];
}

/** CTEs that take waiting messages into turns: `steered`, and `followed` for the follow-ups that some of them leave. */
export function steerParts(values: Values, writes: JournalWrite[]): string[] {
  const taken = writes.flatMap((write, index) => (write.steers?.ids ?? []).map((id) => ({ n: index + 1, id })));
  if (taken.length === 0) return [];
  const followUps = writes.flatMap((write, index) =>
    (write.steers?.followUps ?? []).map((followUp, offset) => ({ n: index + 1, pos: offset + 1, followUp })),
  );
  const takenTable = values.table('taken', taken, { n: ['int', (row) => row.n], id: ['uuid', (row) => row.id] });
  const table = values.table('f', followUps, {
    n: ['int', (row) => row.n],
    pos: ['int', (row) => row.pos],
    id: ['uuid', (row) => row.followUp.id],
    cause_key: ['text', (row) => row.followUp.causeKey],
    body: ['json', (row) => row.followUp.body],
    route: ['text', (row) => row.followUp.route],
  });
  return [
    `steered as (
  update holdfast.inbox i set status = 'claimed', turn_id = fence.turn_id
  from ${takenTable} join fence on fence.n = taken.n
  where i.id = taken.id and i.status = 'waiting'
  returning i.session_id
)`,
    `followed as (
  insert into holdfast.inbox (id, session_id, seq, kind, body, route, cause_key)
  select f.id, fence.session_id, locked.inbox_seq + f.pos, 'followup', f.body, f.route, f.cause_key
  from ${table}
  join fence on fence.n = f.n join locked on locked.id = fence.session_id
  on conflict do nothing
  returning session_id
)`,
  ];
}

/** The assignments that go with `steerParts`: how many wait now. */
export const STEERED_SQL = `,
    waiting = s.waiting - (select count(*) from steered where steered.session_id = s.id)::int
      + (select count(*) from followed where followed.session_id = s.id)::int,
    inbox_seq = s.inbox_seq + (select count(*) from followed where followed.session_id = s.id)`;

/** The assignment that gives sessions the views that a batch of writes changes; empty when it changes none. */
export function viewsSql(values: Values, writes: JournalWrite[]): string {
  const rows = writes.flatMap((write, index) =>
    write.sessionView === undefined ? [] : [{ n: index + 1, view: write.sessionView }],
  );
  if (rows.length === 0) return '';
  const table = values.table('v', rows, {
    n: ['int', (row) => row.n],
    view: ['json', (row) => JSON.stringify(row.view)],
  });
  return `,
    view = coalesce((select v.view from ${table} where v.n = fence.n), s.view)`;
}

/** The assignments that bring a row of `holdfast.turns` up to date from `fence`. */
export const PROGRESS_SQL = `calls = fence.calls, retries = fence.retries, steps = fence.steps,
    input_tokens = fence.input_tokens, output_tokens = fence.output_tokens, cache_read_tokens = fence.cache_read_tokens,
    cache_write_tokens = fence.cache_write_tokens`;

/** SQL of events to insert, as a source for `insertEventsSql`: session_id, turn_id, type, data, n; null when there are none. */
export function eventsSource(values: Values, writes: JournalWrite[]): string | null {
  const rows = writes.flatMap((write, index) => write.events.map((event) => ({ n: index + 1, event })));
  if (rows.length === 0) return null;
  const table = values.table('e', rows, {
    n: ['int', (row) => row.n],
    pos: ['int', (_, index) => index],
    type: ['text', (row) => row.event.type],
    data: ['json', (row) => JSON.stringify(row.event.data)],
  });
  return `select fence.session_id, fence.turn_id, e.type, e.data, e.pos as n
    from ${table} join fence on fence.n = e.n`;
}
