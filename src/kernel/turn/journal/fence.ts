// What every write of a turn begins with: the session rows, locked in the order of their ids, and the writes that may be applied to them.
// A write is applied when the row has its epoch and its base (G7); see journal.ts.
import type { JournalWrite } from './journal.ts';
import { stopSql } from '../../sessions/session-locks.ts';
import { rows, cte } from '../../../database/statement.ts';

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
    s.run_id
  from holdfast.sessions s where s.id = any ($sessions::uuid[]) order by s.id for no key update
)`;

/** The rows of their sessions. */
export const locked = cte(LOCKED_SQL, { binds: sessions });

/** A row per write: whether it is applied, now or by an earlier sending, and the signals of its session. */
export const verdict = cte(`verdict as materialized (
  select head.n, s.epoch = head.epoch and s.turn_id = head.turn_id
      and s.entry_seq in (head.base_seq, head.base_seq + head.added) as is_ok,
    s.epoch = head.epoch and s.turn_id = head.turn_id and s.entry_seq = head.base_seq as is_new,
    ${stopSql('s')} as stop, s.waiting, s.steer_seq
  from head join locked s on s.id = head.session_id
)`);

/** The writes that are applied now. */
export const fence = cte(`fence as materialized (
  select head.*, s.transcript_no, s.leaf_seq
  from head join verdict on verdict.n = head.n and verdict.is_new join locked s on s.id = head.session_id
)`);

/** The assignments that bring a row of `holdfast.turns` up to date from `fence`. */
export const PROGRESS_SQL = `calls = fence.calls, retries = fence.retries, steps = fence.steps,
    input_tokens = fence.input_tokens, output_tokens = fence.output_tokens, cache_read_tokens = fence.cache_read_tokens,
    cache_write_tokens = fence.cache_write_tokens, cost_micros = fence.cost_micros, unpriced_calls = fence.unpriced_calls,
    is_simulated = fence.is_simulated`;

/** The assignment that gives a session the view that a write changes. */
export const VIEW_SQL = 'view = coalesce(fence.session_view, s.view)';
