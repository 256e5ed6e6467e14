// The parts that the writes of a turn have in common: they store entries, model calls, the ledger
// of tool calls, and events. Each is left out of a statement in which no write has such rows: a
// lone step is a small statement. They read `fence`.
import type { JournalWrite } from './journal.ts';
import { stopSql } from '../../sessions/session-locks.ts';
import { rows, cte, optional } from '../../../database/statement.ts';
import { insertLaterEventsSql, noEventsSql } from '../../events/events.ts';

// What every write of a turn begins with: the session rows, locked in the order of their ids, and
// the writes that may be applied to them. A write is applied when the row has its epoch and its
// base (G7); see journal.ts.

/** The writes, n from 1. Times, ids and totals are absolute. */
export const head = rows('head', (writes: readonly JournalWrite[]) => writes, {
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
  cost_micros: ['bigint', (write) => write.progress.costMicros],
  unpriced_calls: ['int', (write) => write.progress.unpricedCalls],
  is_simulated: ['boolean', (write) => write.progress.isSimulated],
  session_view: ['json', (write) => (write.sessionView === undefined ? null : JSON.stringify(write.sessionView))],
});

export const sessions = { sessions: (writes: readonly JournalWrite[]) => writes.map((write) => write.fence.sessionId) };

export const LOCKED_SQL = `locked as materialized (
  select s.id, s.epoch, s.turn_id, s.entry_seq, s.leaf_seq, s.transcript_no, s.stop_kind, s.stop_reason, s.waiting, s.steer_seq, s.inbox_seq,
    s.run_id, s.scope
  from holdfast.sessions s where s.id = any ($sessions::uuid[]) order by s.id for no key update
)`;

/** The rows of their sessions. */
export const locked = cte(LOCKED_SQL, { binds: sessions });

/**
 * A row per write: whether it is applied, now or by an earlier sending, and the signals of its
 * session.
 */
export const verdict = cte(`verdict as materialized (
  select head.n, s.epoch = head.epoch and s.turn_id = head.turn_id
      and s.entry_seq in (head.base_seq, head.base_seq + head.added) as is_ok,
    s.epoch = head.epoch and s.turn_id = head.turn_id and s.entry_seq = head.base_seq as is_new,
    ${stopSql('s')} as stop, s.waiting, s.steer_seq
  from head join locked s on s.id = head.session_id
)`);

/** The writes that are applied now. */
export const fence = cte(`fence as materialized (
  select head.*, s.transcript_no, s.leaf_seq, s.scope
  from head join verdict on verdict.n = head.n and verdict.is_new join locked s on s.id = head.session_id
)`);

/** The assignments that bring a row of `holdfast.turns` up to date from `fence`. */
export const PROGRESS_SQL = `calls = fence.calls, retries = fence.retries, steps = fence.steps,
    input_tokens = fence.input_tokens, output_tokens = fence.output_tokens, cache_read_tokens = fence.cache_read_tokens,
    cache_write_tokens = fence.cache_write_tokens, cost_micros = fence.cost_micros, unpriced_calls = fence.unpriced_calls,
    is_simulated = fence.is_simulated`;

/** The assignment that gives a session the view that a write changes. */
export const VIEW_SQL = 'view = coalesce(fence.session_view, s.view)';

type Writes = readonly JournalWrite[];

/**
 * The rows that all writes have together, each with the number of its write, from 1, and its place
 * there, from 1.
 */
function pickRows<Row>(writes: Writes, pick: (write: JournalWrite) => readonly Row[]) {
  return writes.flatMap((write, index) => pick(write).map((row, place) => ({ n: index + 1, pos: place + 1, row })));
}

const newEntries = rows('new_entries', (writes: Writes) => pickRows(writes, (write) => write.entries), {
  n: ['int', ({ n }) => n],
  pos: ['int', ({ pos }) => pos],
  id: ['uuid', ({ row }) => row.id],
  kind: ['text', ({ row }) => row.kind],
  role: ['text', ({ row }) => row.role],
  content: ['json', ({ row }) => JSON.stringify(row.content)],
  is_pruned: ['boolean', ({ row }) => row.isPruned === true],
  provenance: ['json', ({ row }) => (row.provenance ? JSON.stringify(row.provenance) : null)],
});

const storedEntries = cte(`stored_entries as (
  insert into holdfast.entries (session_id, seq, id, transcript_no, parent_seq, kind, role, content, turn_id, state, retired_seq, provenance)
  select fence.session_id, fence.base_seq + e.pos, e.id, fence.transcript_no,
    case when e.pos = 1 then fence.leaf_seq else fence.base_seq + e.pos - 1 end, e.kind, e.role, e.content, fence.turn_id,
    case when e.is_pruned then 'pruned' else 'active' end, case when e.is_pruned then fence.base_seq + e.pos end, e.provenance
  from new_entries e join fence on fence.n = e.n
)`);

const newCalls = rows('new_calls', (writes: Writes) => pickRows(writes, (write) => write.modelCalls), {
  n: ['int', ({ n }) => n],
  call_no: ['int', ({ row }) => row.callNo],
  step: ['int', ({ row }) => row.step],
  until_seq: ['bigint', ({ row }) => row.untilSeq],
  status: ['text', ({ row }) => row.status],
  stop_reason: ['text', ({ row }) => row.stopReason],
  response_id: ['text', ({ row }) => row.responseId],
  error: ['json', ({ row }) => (row.error === null ? null : JSON.stringify(row.error))],
  input_tokens: ['bigint', ({ row }) => row.inputTokens],
  output_tokens: ['bigint', ({ row }) => row.outputTokens],
  cache_read_tokens: ['bigint', ({ row }) => row.cacheReadTokens],
  cache_write_tokens: ['bigint', ({ row }) => row.cacheWriteTokens],
  started_at: ['timestamptz', ({ row }) => row.startedAt],
  first_chunk_at: ['timestamptz', ({ row }) => row.firstChunkAt],
  ended_at: ['timestamptz', ({ row }) => row.endedAt],
  purpose: ['text', ({ row }) => row.purpose ?? 'answer'],
  view: ['json', ({ row }) => (row.view === null ? null : JSON.stringify(row.view))],
  request_sha256: ['text', ({ row }) => row.requestSha256],
  model: ['text', ({ row }) => row.model],
  cost_micros: ['bigint', ({ row }) => row.costMicros],
  price_version: ['text', ({ row }) => row.priceVersion],
  tier: ['text', ({ row }) => row.tier],
  cache_write_1h_tokens: ['bigint', ({ row }) => row.cacheWrite1hTokens],
  is_estimated: ['boolean', ({ row }) => row.isEstimated],
  is_simulated: ['boolean', ({ row }) => row.isSimulated],
  notes: ['json', ({ row }) => (row.notes === undefined ? null : JSON.stringify(row.notes))],
});

const storedCalls = cte(
  `stored_calls as (
  insert into holdfast.model_calls (turn_id, call_no, step, epoch, until_seq, status, stop_reason, response_id, error,
    input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, started_at, first_chunk_at, ended_at, purpose,
    view, request_sha256, notes, model, cost_micros, price_version, tier, cache_write_1h_tokens, is_estimated, is_simulated)
  select fence.turn_id, c.call_no, c.step, fence.epoch, c.until_seq, c.status, c.stop_reason, c.response_id, c.error,
    c.input_tokens, c.output_tokens, c.cache_read_tokens, c.cache_write_tokens, c.started_at, c.first_chunk_at, c.ended_at,
    c.purpose, c.view, c.request_sha256, c.notes, c.model, c.cost_micros, c.price_version, c.tier, c.cache_write_1h_tokens,
    c.is_estimated, c.is_simulated
  from new_calls c join fence on fence.n = c.n
  on conflict (turn_id, call_no) do nothing
  returning turn_id
)`,
  { absent: 'stored_calls as (select null::uuid as turn_id where false)' },
);

const newIntents = rows('new_intents', (writes: Writes) => pickRows(writes, (write) => write.toolIntents), {
  n: ['int', ({ n }) => n],
  step: ['int', ({ row }) => row.step],
  ordinal: ['int', ({ row }) => row.ordinal],
  call_id: ['text', ({ row }) => row.callId],
  name: ['text', ({ row }) => row.name],
  is_idempotent: ['boolean', ({ row }) => row.isIdempotent],
  status: ['text', ({ row }) => row.status],
});

// An intent that already exists is a call that is run again after a crash: its tool is idempotent.
const storedIntents = cte(`stored_intents as (
  insert into holdfast.tool_calls (turn_id, step, ordinal, call_id, name, is_idempotent, status, epoch, ended_at)
  select fence.turn_id, i.step, i.ordinal, i.call_id, i.name, i.is_idempotent, i.status, fence.epoch,
    case when i.status <> 'intent' then clock_timestamp() end
  from new_intents i join fence on fence.n = i.n
  on conflict (turn_id, step, ordinal) do update set runs = tool_calls.runs + 1, epoch = excluded.epoch
)`);

const newHolds = rows('new_holds', (writes: Writes) => pickRows(writes, (write) => write.heldIntents ?? []), {
  n: ['int', ({ n }) => n],
  step: ['int', ({ row }) => row.step],
  ordinal: ['int', ({ row }) => row.ordinal],
  call_id: ['text', ({ row }) => row.callId],
  name: ['text', ({ row }) => row.name],
  is_idempotent: ['boolean', ({ row }) => row.isIdempotent],
  code: ['text', ({ row }) => row.code],
  for_ms: ['bigint', ({ row }) => Math.ceil(row.forMs)],
  is_noticed: ['boolean', ({ row }) => row.isNoticed],
});

/** Until when a held call waits: the same in its row of the ledger and in what a feature stores. */
export const HELD_UNTIL_SQL = `statement_timestamp() + h.for_ms * interval '1 millisecond'`;

// A row that exists already is that of a call which has begun and answers later. A write that is
// sent again finds it waiting.
const storedHolds = cte(`stored_holds as (
  insert into holdfast.tool_calls as c (turn_id, step, ordinal, call_id, name, is_idempotent, status, epoch, runs, held_for, held_until)
  select fence.turn_id, h.step, h.ordinal, h.call_id, h.name, h.is_idempotent, 'intent', fence.epoch, 0, h.code, ${HELD_UNTIL_SQL}
  from new_holds h join fence on fence.n = h.n
  on conflict (turn_id, step, ordinal) do update set runs = 0, held_for = excluded.held_for, held_until = excluded.held_until
    where c.status = 'intent' and c.runs > 0
  returning turn_id, step, ordinal
)`);

const newHoldEvents = rows(
  'new_hold_events',
  (writes: Writes) =>
    pickRows(writes, (write) => write.heldIntents ?? []).flatMap(({ n, row }) =>
      row.events.map((event) => ({ n, row, event })),
    ),
  {
    n: ['int', ({ n }) => n],
    pos: ['int', (_, index) => index],
    step: ['int', ({ row }) => row.step],
    ordinal: ['int', ({ row }) => row.ordinal],
    type: ['text', ({ event }) => event.type],
    data: ['json', ({ event }) => JSON.stringify(event.data)],
  },
);

const insertedHoldEvents = cte(`inserted_hold_events as (
  ${insertLaterEventsSql(`select fence.session_id, fence.turn_id, e.type, e.data, e.pos as n from new_hold_events e join fence on fence.n = e.n
      join stored_holds h on h.turn_id = fence.turn_id and h.step = e.step and h.ordinal = e.ordinal`)}
)`);

const storedNotices = cte(`stored_notices as (
  insert into holdfast.held_notices (turn_id, step, ordinal, code)
  select stored.turn_id, stored.step, stored.ordinal, h.code from new_holds h join fence on fence.n = h.n
  join stored_holds stored on stored.turn_id = fence.turn_id and stored.step = h.step and stored.ordinal = h.ordinal
  where h.is_noticed
)`);

/**
 * The rows of calls that wait for something outside, their notices, and the events of their waits:
 * each once, also when the write is sent again.
 */
export const storedHeld = optional('holds', (writes: Writes) =>
  writes.some((write) => (write.heldIntents ?? []).length > 0),
)(newHolds, storedHolds, storedNotices, newHoldEvents, insertedHoldEvents);

const newResults = rows('new_results', (writes: Writes) => pickRows(writes, (write) => write.toolSettlements), {
  n: ['int', ({ n }) => n],
  step: ['int', ({ row }) => row.step],
  ordinal: ['int', ({ row }) => row.ordinal],
  status: ['text', ({ row }) => row.status],
  result: ['json', ({ row }) => (row.result === null ? null : JSON.stringify(row.result))],
});

const settledCalls = cte(`settled_calls as (
  update holdfast.tool_calls t
  set status = c.status, result = c.result, ended_at = coalesce(t.ended_at, clock_timestamp()),
    unknown_at = case when c.status = 'unknown' then coalesce(t.unknown_at, clock_timestamp()) end
  from new_results c join fence on fence.n = c.n
  where t.turn_id = fence.turn_id and t.step = c.step and t.ordinal = c.ordinal
)`);

/** The rows that the writes of a turn store. */
export const storedSteps = [
  ...optional('entries', (writes: Writes) => writes.some((write) => write.entries.length > 0))(
    newEntries,
    storedEntries,
  ),
  ...optional('model_calls', (writes: Writes) => writes.some((write) => write.modelCalls.length > 0))(
    newCalls,
    storedCalls,
  ),
  ...optional('tool_intents', (writes: Writes) => writes.some((write) => write.toolIntents.length > 0))(
    newIntents,
    storedIntents,
  ),
  ...optional('tool_results', (writes: Writes) => writes.some((write) => write.toolSettlements.length > 0))(
    newResults,
    settledCalls,
  ),
];

/** True when some of the writes have events. */
export const haveEvents = (writes: Writes): boolean => writes.some((write) => write.events.length > 0);

/** The events of the writes; `n` is the number of the write, `pos` the place among all of them. */
export const newEvents = rows(
  'new_events',
  (writes: readonly Pick<JournalWrite, 'events'>[]) =>
    writes.flatMap((write, index) => write.events.map((event) => ({ n: index + 1, event }))),
  {
    n: ['int', ({ n }) => n],
    pos: ['int', (_, index) => index],
    type: ['text', ({ event }) => event.type],
    data: ['json', ({ event }) => JSON.stringify(event.data)],
  },
);

export const JOURNAL_EVENTS_SQL = `select fence.session_id, fence.turn_id, e.type, e.data, e.pos as n, fence.scope
  from new_events e join fence on fence.n = e.n`;

/** The events of the writes that are applied, for `insertedEvents`. */
export const journalEvents = optional('events', haveEvents)(
  newEvents,
  cte(`journal_events as (\n  ${JOURNAL_EVENTS_SQL}\n)`, { absent: noEventsSql('journal_events') }),
);
