// What must end although nobody works on it: runs of subagents whose time is over, waits whose time is over, and runs that nothing will
// bring to an end any more. Any number of processes may look; each end is one statement that finds out whether it is needed.
import type { SessionId } from '../core/ids.ts';
import type { Database } from './database.ts';
import { readLastOutput } from './last-output.ts';
import type { NeededRing } from './session-locks.ts';
import { stopFamily } from './stop-family.ts';
import type { QueueModes } from './subagent-ends.ts';
import { wakeOverdue } from './yields.ts';

const RUNS_MAX = 100;

/** A run that nothing waits for, works on or stands below for so long is stuck. */
const STALLED_AFTER = '60 seconds';

const DUE_SQL = `/* due-runs */
select r.id, r.child_id, 'timedOut' as status, 'It took longer than ' ||
  round(extract(epoch from r.deadline_at - r.created_at)) || ' s.' as reason
from holdfast.subagent_runs r
where r.status = 'running' and r.deadline_at is not null and r.deadline_at <= clock_timestamp() order by r.deadline_at limit ${RUNS_MAX}`;

const STALLED_SQL = `/* stalled-runs */
select r.id, r.child_id, 'failed' as status, 'It stopped without an end.' as reason
from holdfast.subagent_runs r join holdfast.sessions s on s.id = r.child_id
where r.status = 'running' and s.waiting = 0 and s.turn_id is null and s.owner is null and s.live_children = 0
  and s.updated_at < clock_timestamp() - interval '${STALLED_AFTER}'
  and not exists (select from holdfast.yields y where y.session_id = s.id and y.epoch = s.epoch)
limit ${RUNS_MAX}`;

const NEXT_SQL = `/* next-overdue */
select extract(epoch from least(
  (select min(r.deadline_at) from holdfast.subagent_runs r
    where r.status = 'running' and r.deadline_at is not null and r.deadline_at > clock_timestamp()),
  (select min(y.due_at) from holdfast.yields y where y.due_at > clock_timestamp())
) - clock_timestamp()) * 1000 as next_in_ms`;

interface OverdueRun {
  id: string;
  child_id: SessionId;
  status: 'timedOut' | 'failed';
  reason: string;
}

/** What was ended needs these rings; the next known moment comes in so many milliseconds, null: none is known. */
export interface Overdue {
  rings: NeededRing[];
  nextInMs: number | null;
}

/** Ends what is over. */
export async function endOverdue(database: Database, modes: QueueModes): Promise<Overdue> {
  const due = await database.hot.query({ name: 'due-runs', text: DUE_SQL });
  const rings = await endRuns(database, due.rows, modes);
  rings.push(...(await wakeOverdue(database)));
  const next = await database.hot.query({ name: 'next-overdue', text: NEXT_SQL });
  const nextInMs: string | number | null = next.rows[0]?.next_in_ms ?? null;
  return { rings, nextInMs: nextInMs === null ? null : Math.max(0, Math.ceil(Number(nextInMs))) };
}

/** Ends runs that are stuck: whoever waits for them shall hear of it. None is known to come about; it is a net. */
export async function endStalled(database: Database, modes: QueueModes): Promise<NeededRing[]> {
  const stalled = await database.hot.query({ name: 'stalled-runs', text: STALLED_SQL });
  return endRuns(database, stalled.rows, modes);
}

async function endRuns(database: Database, runs: OverdueRun[], modes: QueueModes): Promise<NeededRing[]> {
  const rings: NeededRing[] = [];
  for (const { id: runId, child_id: sessionId, status, reason } of runs) {
    const result = await readLastOutput(database, sessionId);
    const stop = { sessionId, keepsQueued: false, reason, runId, status, result, isTold: false, modes };
    const stopped = await stopFamily(database, stop);
    if (stopped.kind === 'stopped') rings.push(...stopped.rings);
  }
  return rings;
}
