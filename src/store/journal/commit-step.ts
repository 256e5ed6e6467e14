// `commit-step`: one step in the middle of a turn. See journal.ts.
import type { Database } from '../database.ts';
import { insertEventsSql } from '../events.ts';
import type { JournalWrite, Verdict } from '../journal.ts';
import { shareStatement, type RowSubmitter } from '../share-statement.ts';
import { prepared, Values } from '../statement.ts';
import { eventsSource, journalParts, PROGRESS_SQL, STEERED_SQL, steerParts, viewsSql } from './write-parts.ts';

/** Makes the function that commits a step; steps of different turns share statements. */
export function createCommitStep(database: Database): RowSubmitter<JournalWrite, Verdict> {
  return shareStatement('commit-step', (writes) => commitSteps(database, writes));
}

// A write without entries leaves the position as it was, so one that is sent again is applied again. That is harmless, since all of
// its values are absolute; but its events would be inserted twice. Such a write charges a call, which shows whether it was applied
// before.
const WHERE_NEW = `where fence.added > 0
  or exists (select from holdfast.turns t where t.id = fence.turn_id and t.calls < fence.calls)`;

async function commitSteps(database: Database, writes: JournalWrite[]): Promise<Verdict[]> {
  const values = new Values();
  // Purpose: store one step of each turn. Locking: the session rows in the order of their ids. Output: a verdict per write.
  const parts = journalParts(values, writes);
  const events = eventsSource(values, writes);
  const views = viewsSql(values, writes);
  const steers = steerParts(values, writes);
  const text = `/* commit-step */
with ${[parts, ...steers].join(',\n')},
progressed as (
  update holdfast.turns t
  set status = 'running', park_code = case when t.steps = fence.steps then t.park_code end, ${PROGRESS_SQL}
  from fence where t.id = fence.turn_id
),
updated_sessions as (
  update holdfast.sessions s
  set entry_seq = fence.base_seq + fence.added, updated_at = clock_timestamp(),
    leaf_seq = case when fence.added > 0 then fence.base_seq + fence.added else s.leaf_seq end${views}${steers.length > 0 ? STEERED_SQL : ''}
  from fence where s.id = fence.session_id
)${events === null ? '' : `,\ntold as (${insertEventsSql(`${events} ${WHERE_NEW}`)})`}
select n, is_ok, stop_reason, waiting, steer_seq from verdict order by n`;
  const result = await database.hot.query(prepared('commit-step', text, values.list));
  const verdicts = new Map(result.rows.map((row) => [Number(row.n), row]));
  return writes.map((_, index) => {
    const row = verdicts.get(index + 1);
    if (row === undefined || !row.is_ok) return { kind: 'fenced' };
    return { kind: 'ok', stopReason: row.stop_reason, waiting: row.waiting, steerSeq: Number(row.steer_seq) };
  });
}
