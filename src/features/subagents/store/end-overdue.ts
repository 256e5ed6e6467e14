// Ends what of subagents no worker would end: runs past their deadline, waits past theirs, and runs that are stuck. Any number of processes may
// do this; each end is one transaction that checks whether it is needed.
import type { Committed } from '../../../kernel/queue/after-commit.ts';
import type { SessionId } from '../../../core/ids.ts';
import { literal } from '../../../database/statement.ts';
import type { EffectParts } from '../../../kernel/effects/turn-effects.ts';
import type { Overdue } from '../../../kernel/queue/end-overdue.ts';
import { mergeAll } from '../../../kernel/queue/rings.ts';
import { abortRun } from '../../../kernel/sessions/control.ts';
import { wakeOverdue } from './yields.ts';

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

interface OverdueRun {
  id: string;
  child_id: SessionId;
  status: 'timedOut' | 'failed';
  reason: string;
}

export const OVERDUE: readonly Overdue[] = [
  {
    earliest: `select min(r.deadline_at) from holdfast.subagent_runs r where r.status = 'running' and r.deadline_at is not null`,
    async end(parts) {
      return endRuns(parts, (await parts.database.hot.query(DUE_RUNS.prepared([]))).rows);
    },
  },
  {
    earliest: 'select min(y.due_at) from holdfast.yields y',
    end: async ({ database }) => [{ after: await wakeOverdue(database) }],
  },
];

/** Ends runs that are stuck, so that their parents are notified. No cause of stuck runs is known: this is a safety net. */
export async function endStalled(parts: EffectParts): Promise<Committed<{ runs: number }>> {
  const stalled = await parts.database.hot.query(STALLED_RUNS.prepared([]));
  return { runs: stalled.rows.length, after: mergeAll(await endRuns(parts, stalled.rows)) };
}

async function endRuns(parts: EffectParts, runs: OverdueRun[]): Promise<Committed<object>[]> {
  const ended: Committed<object>[] = [];
  for (const { id: runId, child_id: sessionId, status, reason } of runs)
    ended.push(await abortRun(parts, { sessionId, runId, status, reason, isOwn: false }));
  return ended;
}
