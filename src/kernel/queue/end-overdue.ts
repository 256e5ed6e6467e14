// Ends what no worker would end: effects of turns that a crash has left, runs of subagents past their deadline, waits past their deadline,
// and runs that are stuck. Any number of processes may do this; each end is one transaction that checks whether it is needed.
import type { Committed } from './after-commit.ts';
import type { SessionId } from '../../core/ids.ts';
import type { QueueModes } from '../../features/subagents/rules/run-end.ts';
import type { Database } from '../../database/database.ts';
import { carryOutLeftEffects, IS_LEFT_SQL } from '../effects/carry-out.ts';
import { readLastOutput } from '../sessions/last-output.ts';
import { mergeAll } from './rings.ts';
import { literal } from '../../database/statement.ts';
import { stopFamily } from '../../features/subagents/store/stop-family.ts';
import { wakeOverdue } from '../../features/subagents/store/yields.ts';

const RUNS_MAX = 100;

/** A run without waiting input, turn or active subagent for this long is stuck, also when its end could not be carried out for so long. */
const STALLED_AFTER = '60 seconds';

export const DUE_RUNS = literal({
  name: 'due-runs',
  purpose: 'Read the runs past their deadline.',
  text: `select r.id, r.child_id, 'timedOut' as status, 'The run took longer than ' ||
  round(extract(epoch from r.deadline_at - r.created_at)) || ' s.' as reason
from holdfast.subagent_runs r
where r.status = 'running' and r.deadline_at is not null and r.deadline_at <= clock_timestamp() order by r.deadline_at limit ${RUNS_MAX}`,
});

export const STALLED_RUNS = literal({
  name: 'stalled-runs',
  purpose: 'Read the runs that nothing moves any more.',
  text: `select r.id, r.child_id, 'failed' as status, 'The run stopped without a result.' as reason
from holdfast.subagent_runs r join holdfast.sessions s on s.id = r.child_id
where r.status = 'running' and s.waiting = 0 and s.turn_id is null and s.owner is null and s.live_children = 0
  and s.updated_at < clock_timestamp() - interval '${STALLED_AFTER}'
  and not exists (select from holdfast.yields y where y.session_id = s.id and y.epoch = s.epoch)
  and not exists (select from holdfast.effects e where e.session_id = s.id and e.created_at > clock_timestamp() - interval '${STALLED_AFTER}')
limit ${RUNS_MAX}`,
});

export const NEXT_DEADLINES = literal({
  name: 'overdue',
  purpose:
    'Read the earliest deadline of each kind, in milliseconds from now; one that is not positive has passed. And whether effects are left.',
  text: `select extract(epoch from (select min(r.deadline_at) from holdfast.subagent_runs r
    where r.status = 'running' and r.deadline_at is not null) - clock_timestamp()) * 1000 as run_ms,
  extract(epoch from (select min(y.due_at) from holdfast.yields y) - clock_timestamp()) * 1000 as yield_ms,
  exists (select from holdfast.effects e where ${IS_LEFT_SQL}) as has_effects`,
});

interface OverdueRun {
  id: string;
  child_id: SessionId;
  status: 'timedOut' | 'failed';
  reason: string;
}

/** Carries out left effects, and ends overdue runs and waits; resolves with the milliseconds until the next one, or null. One query when there are none. */
export async function endOverdue(
  database: Database,
  modes: QueueModes,
): Promise<Committed<{ nextInMs: number | null }>> {
  const first = await readMoments(database);
  // First: a run that has ended by itself is not over time.
  const ended = first.hasEffects ? await carryOutLeftEffects(database) : [];
  if (isOver(first.runMs)) {
    const due = await database.hot.query(DUE_RUNS.prepared([]));
    ended.push(...(await endRuns(database, due.rows, modes)));
  }
  if (isOver(first.yieldMs)) ended.push({ after: await wakeOverdue(database) });
  const next = isOver(first.runMs) || isOver(first.yieldMs) ? await readMoments(database) : first;
  // Overdue and still open: another process is ending it, and the next round checks it again.
  const coming = [next.runMs, next.yieldMs].filter((ms) => ms !== null && ms > 0) as number[];
  return { nextInMs: coming.length === 0 ? null : Math.min(...coming), after: mergeAll(ended) };
}

interface Moments {
  runMs: number | null;
  yieldMs: number | null;
  hasEffects: boolean;
}

async function readMoments(database: Database): Promise<Moments> {
  const row = (await database.hot.query(NEXT_DEADLINES.prepared([]))).rows[0];
  const toMs = (value: string | null): number | null => (value === null ? null : Math.ceil(Number(value)));
  return { runMs: toMs(row.run_ms), yieldMs: toMs(row.yield_ms), hasEffects: row.has_effects };
}

function isOver(ms: number | null): boolean {
  return ms !== null && ms <= 0;
}

/** Ends runs that are stuck, so that their parents are notified. No cause of stuck runs is known: this is a safety net. */
export async function endStalled(database: Database, modes: QueueModes): Promise<Committed<{ runs: number }>> {
  const stalled = await database.hot.query(STALLED_RUNS.prepared([]));
  return { runs: stalled.rows.length, after: mergeAll(await endRuns(database, stalled.rows, modes)) };
}

async function endRuns(database: Database, runs: OverdueRun[], modes: QueueModes): Promise<Committed<object>[]> {
  const ended: Committed<object>[] = [];
  for (const { id: runId, child_id: sessionId, status, reason } of runs) {
    const result = await readLastOutput(database, sessionId);
    const stop = { sessionId, keepsQueued: false, reason, runId, status, result, isOwn: false, modes };
    ended.push(await stopFamily(database, stop));
  }
  return ended;
}
