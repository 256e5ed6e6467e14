// Ends what of subagents no worker would end: runs past their deadline, waits past theirs, and runs
// that are stuck. Any number of processes may do this; each end is one transaction that checks
// whether it is needed.
import type { AfterCommit, Committed } from '../../../kernel/queue/after-commit.ts';
import type { MessageId, SessionId } from '../../../core/ids.ts';
import { newId } from '../../../ids.ts';
import { chargeOfTurnSql } from '../../../kernel/inbox/charged-inputs.ts';
import type { Database } from '../../../database/database.ts';
import { announcementBody, putInputs, type PutInput } from '../../../kernel/inbox/put-inputs.ts';
import { literalQuery } from '../../../database/literal-query.ts';
import { transaction } from '../../../database/transaction.ts';
import type { EffectParts } from '../../../kernel/effects/turn-effects.ts';
import { carryOutLeftEffects } from '../../../kernel/effects/carry-out.ts';
import { mergeAll } from '../../../kernel/queue/rings.ts';
import { abortRun } from '../../../kernel/effects/control.ts';
import { SOON_SQL } from '../../../kernel/queue/work-watch.ts';

const DUE_MAX = 100;

// Waiting without a slot: a session that has ended its turn to wait holds no lock and no lane, and
// any input wakes it. The row here makes sure that every wait ends (G19): when its time has passed
// and the session has not been claimed since, an input says so.
export const noteYield = literalQuery({
  name: 'yield',
  purpose: "Note until when a session waits whose turn is about to end. False: it is not the session's turn any more.",
  locking: 'The session row, then that of the wait.',
  text: `with locked as materialized (
  select s.id, s.epoch from holdfast.sessions s where s.key = $1 and s.turn_id = $2::uuid for no key update
)
insert into holdfast.yields as y (session_id, turn_id, epoch, seconds, due_at)
select id, $2::uuid, epoch, $3::int, clock_timestamp() + $3::int * interval '1 second' from locked
on conflict (session_id) do update
set turn_id = excluded.turn_id, epoch = excluded.epoch, seconds = excluded.seconds, due_at = excluded.due_at,
  created_at = clock_timestamp()
returning y.session_id`,
  values: (wait: { sessionKey: string; turnId: string; seconds: number }) => [
    wait.sessionKey,
    wait.turnId,
    wait.seconds,
  ],
  answer: (noted) => noted.length > 0,
});

// A wait that has ended otherwise leaves a row of an older epoch, which is deleted here. One whose
// turn is still ending is checked again later.
export const takeYields = literalQuery({
  name: 'take-yields',
  purpose:
    'Take the waits whose time has passed. Answers those that an input has to end, with what it takes over from the last input of their turn.',
  locking: 'The session rows in the order of their ids; the waits after them, as in `yield`.',
  text: `with due as materialized (
  select y.session_id from holdfast.yields y where y.due_at <= clock_timestamp() order by y.due_at limit ${DUE_MAX}
),
locked as materialized (
  select s.* from holdfast.sessions s where s.id = any (array(select session_id from due)) order by s.id for no key update
),
over as (
  delete from holdfast.yields y using locked l
  where y.session_id = l.id and y.due_at <= clock_timestamp() and (y.epoch <> l.epoch or l.turn_id is null and l.owner is null)
  returning y.session_id, y.turn_id, y.epoch, y.seconds
)
select over.session_id as "sessionId", over.turn_id as "turnId", over.seconds, coalesce(origin.route, '') as route, origin.deliver, origin.options,
  ${chargeOfTurnSql('over.turn_id')}::text as "chargedTo"
from over join locked l on l.id = over.session_id
left join lateral (
  select i.route, (i.body -> 'deliver')::text as deliver, (i.body -> 'options')::text as options from holdfast.inbox i
  where i.turn_id = over.turn_id order by i.seq desc limit 1
) as origin on true
where over.epoch = l.epoch and l.waiting = 0 and l.archived_at is null`,
  answer: (ended: EndedWait[]) => ended,
});

interface EndedWait {
  sessionId: SessionId;
  turnId: string;
  seconds: number;
  route: string;
  deliver: string | null;
  options: string | null;
  chargedTo: string | null;
}

/** Ends the waits whose time is over. */
export async function wakeOverdue(database: Database): Promise<AfterCommit> {
  return transaction(database.hot, async (tx) => {
    const ended = await takeYields(tx);
    const inputs = ended.map(({ sessionId, turnId, seconds, route, ...origin }): PutInput => ({
      id: newId<MessageId>(),
      sessionId,
      kind: 'announcement',
      body: announcementBody({ kind: 'wait-over', seconds }, origin),
      route,
      causeKey: `yield:${turnId}`,
    }));
    const put = putInputs(tx, { inputs });
    return async () => (await put).after;
  });
}

const RUNS_MAX = 100;

/**
 * A run without waiting input, turn or active subagent for this long is stuck, also when its end
 * could not be carried out for so long.
 */
const STALLED_AFTER = '60 seconds';

export const readDueRuns = literalQuery({
  name: 'due-runs',
  purpose: 'Read the runs past their deadline.',
  text: `select r.id, r.child_id, 'timedOut' as status, 'The run took longer than ' ||
  round(extract(epoch from r.deadline_at - r.created_at)) || ' s.' as reason
from holdfast.subagent_runs r
where r.status = 'running' and r.deadline_at is not null and r.deadline_at <= clock_timestamp() order by r.deadline_at limit ${RUNS_MAX}`,
  retryMs: 0,
  answer: (runs: OverdueRun[]) => runs,
});

export const readStalledRuns = literalQuery({
  name: 'stalled-runs',
  purpose: 'Read the runs that nothing moves any more.',
  text: `select r.id, r.child_id, 'failed' as status, 'The run stopped without a result.' as reason
from holdfast.subagent_runs r join holdfast.sessions s on s.id = r.child_id
where r.status = 'running' and s.waiting = 0 and s.turn_id is null and s.owner is null and s.live_children = 0
  and s.updated_at < clock_timestamp() - interval '${STALLED_AFTER}'
  and not exists (select from holdfast.yields y where y.session_id = s.id and y.epoch = s.epoch)
  and not exists (select from holdfast.effects e where e.session_id = s.id and e.created_at > clock_timestamp() - interval '${STALLED_AFTER}')
limit ${RUNS_MAX}`,
  retryMs: 0,
  answer: (runs: OverdueRun[]) => runs,
});

interface OverdueRun {
  id: string;
  child_id: SessionId;
  status: 'timedOut' | 'failed';
  reason: string;
}

/**
 * SQL of the earliest time after that moment at which a run or a wait is over; null: there is none.
 */
const earliestSql = (moment: string): string => `least(
  (select min(r.deadline_at) from holdfast.subagent_runs r where r.status = 'running' and r.deadline_at > ${moment}),
  (select min(y.due_at) from holdfast.yields y where y.due_at > ${moment}))`;

const EVER_SQL = "'-infinity'::timestamptz";

/** SQL of whether one of them is near. */
export const HAS_DEADLINE_SOON_SQL = `${earliestSql(EVER_SQL)} <= ${SOON_SQL}`;

export const readDeadlines = literalQuery({
  name: 'next-deadlines',
  purpose: 'Read whether a run or a wait is over, and in how many milliseconds the next one will be.',
  text: `select coalesce(${earliestSql(EVER_SQL)} <= now.at, false) as "isOver",
  (extract(epoch from ${earliestSql('now.at')} - now.at) * 1000)::float8 as "nextInMs"
from (select clock_timestamp() as at offset 0) as now`,
  // One row.
  answer: ([row]: { isOver: boolean; nextInMs: number | null }[]) => row!,
});

/**
 * Ends the runs and waits whose time is over; resolves with the milliseconds until the next one.
 * Null: there is none.
 */
export async function endOverdue(parts: EffectParts): Promise<Committed<{ nextInMs: number | null }>> {
  const { database } = parts;
  const { isOver, nextInMs } = await readDeadlines(database);
  if (!isOver) return { nextInMs, after: mergeAll([]) };
  // First: a run that has ended by itself is not over time.
  const ended = await carryOutLeftEffects(parts);
  ended.push({ after: await wakeOverdue(database) });
  ended.push(...(await endRuns(parts, await readDueRuns(database))));
  // What is over and still there another process is ending, or its turn is: the next round looks
  // again.
  const { nextInMs: laterInMs } = await readDeadlines(database);
  return { nextInMs: laterInMs, after: mergeAll(ended) };
}

/**
 * Ends runs that are stuck, so that their parents are notified. No cause of stuck runs is known:
 * this is a safety net.
 */
export async function endStalled(parts: EffectParts): Promise<Committed<{ runs: number }>> {
  const stalled = await readStalledRuns(parts.database);
  return { runs: stalled.length, after: mergeAll(await endRuns(parts, stalled)) };
}

async function endRuns(parts: EffectParts, runs: OverdueRun[]): Promise<Committed<object>[]> {
  const ended: Committed<object>[] = [];
  for (const { id: runId, child_id: sessionId, status, reason } of runs)
    ended.push(await abortRun(parts, { sessionId, runId, status, reason, isOwn: false }));
  return ended;
}
