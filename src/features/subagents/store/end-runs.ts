// Ends runs of subagents, in a transaction that has locked the family: the run is settled, and its
// announcement is put into the inbox of the session that receives it, in one commit (G18).
import type { RunStatus } from '../../../core/subagents.ts';
import { decideRunEnd, isRunOver } from '../rules/run-end.ts';
import type { MessageId, SessionId, TurnId } from '../../../core/ids.ts';
import { newId } from '../../../ids.ts';
import { announcementBody, type NotNeeded, type PutInput } from '../../../kernel/inbox/put-inputs.ts';
import { cte, rows, statement } from '../../../database/statement.ts';
import { literalQuery } from '../../../database/literal-query.ts';
import type { Transaction } from '../../../database/transaction.ts';
import { NOTHING, type EffectOf, type Effects, type RunStop, type Told } from '../../../kernel/effects/turn-effects.ts';
import { USED_SQL, type LockedFamily, type RunRow } from '../../../kernel/sessions/family-rows.ts';

const setUsed = Object.entries(USED_SQL).map(([column, sql]) => `${column} = ${sql}`);

interface EndedRun {
  run: RunRow;
  status: RunStatus;
  result: string | null;
  error: string | null;
  announcementId: MessageId | null;
  recipientId: string | null;
  letterId: string | null;
}

export const END_RUNS = statement<readonly EndedRun[]>({
  name: 'end-runs',
  purpose:
    'Settle runs of subagents that work: with what they have used, in the counts of the sessions above them, and with a dead letter where no session receives the announcement.',
  locking: 'The session rows are locked by the transaction.',
  ctes: [
    rows('ends', (ends) => ends, {
      id: ['uuid', ({ run }) => run.id],
      child_id: ['uuid', ({ run }) => run.childId],
      parent_id: ['uuid', ({ run }) => run.parentId],
      root_id: ['uuid', ({ run }) => run.rootId],
      is_deleted: ['boolean', ({ run }) => run.isDeleted],
      status: ['text', ({ status }) => status],
      result: ['text', ({ result }) => result],
      error: ['text', ({ error }) => error],
      announcement_id: ['uuid', ({ announcementId }) => announcementId],
      recipient_id: ['uuid', ({ recipientId }) => recipientId],
      letter_id: ['uuid', ({ letterId }) => letterId],
    }),
    cte(`ended_runs as (
  update holdfast.subagent_runs run
  set status = e.status, result = e.result, error = e.error, ended_at = clock_timestamp(), announcement_id = e.announcement_id,
    announced_to = e.recipient_id, ${setUsed.join(',\n    ')}
  from ends e join holdfast.sessions s on s.id = e.child_id where run.id = e.id and run.status = 'running'
  returning e.*
)`),
    cte(`changes as materialized (
  select session_id, sum(children)::int as children, sum(descendants)::int as descendants, bool_or(is_child) as is_child, bool_or(is_deleted) as is_deleted
  from (
    select parent_id as session_id, 1 as children, 0 as descendants, false as is_child, false as is_deleted from ended_runs
    union all select root_id, 0, 1, false, false from ended_runs union all select child_id, 0, 0, true, is_deleted from ended_runs
  ) as parts group by session_id
)`),
    cte(`updated_sessions as (
  update holdfast.sessions s
  set live_children = s.live_children - c.children, live_descendants = s.live_descendants - c.descendants, updated_at = clock_timestamp(),
    run_id = case when not c.is_child then s.run_id end,
    archived_at = case when c.is_deleted then clock_timestamp() else s.archived_at end
  from changes c where s.id = c.session_id
)`),
    cte(`inserted_letters as (
  insert into holdfast.dead_letters (id, kind, session_id, code, reason)
  select letter_id, 'announcement', child_id, 'parent_gone', 'The run ' || id || ' has ended, and no session is left to receive its announcement.'
  from ended_runs where letter_id is not null
)`),
  ],
  select: 'select id from ended_runs',
});

export const countStoppedRun = literalQuery({
  name: 'count-stopped-run',
  purpose: 'Count a turn for the run that was stopped while the turn was open.',
  locking: 'The run; its session is locked by the transaction.',
  text: `update holdfast.subagent_runs run
set ${setUsed.join(',\n  ')}
from holdfast.sessions s join holdfast.turns t on t.id = $2
where s.id = $1 and run.child_id = s.id and s.run_id is null and run.ended_at >= t.started_at`,
  values: (sessionId: SessionId, turnId: TurnId) => [sessionId, turnId],
});

/**
 * Ends the run of a session as its last turn said, unless something brings the session another
 * turn.
 */
function endAfterTurn(
  tx: Transaction,
  { runId, turnId, end }: EffectOf<'run-ended'>,
  { sessionId, family, run }: LockedFamily & { sessionId: SessionId },
): Told {
  const child = family.get(sessionId);
  if (child?.runId === null) void countStoppedRun(tx, sessionId, turnId);
  if (child === undefined || run?.id !== runId || end === null || !isRunOver(child)) return NOTHING;
  return endRun(tx, { run, end, settled: null }, family);
}

/** Ends a run that works; the sessions above it are locked. */
function endRun(tx: Transaction, { run, end, settled }: RunStop, family: LockedFamily['family']): Told {
  const { recipientId, steers, isSkipped, announcement } = decideRunEnd({ run, end }, family);
  const told = settled ?? (isSkipped ? SKIPPED : null);
  const { status, result, error } = end;
  const announcementId = recipientId === null ? null : newId<MessageId>();
  const letterId = recipientId === null && told === null ? newId<string>() : null;
  tx.write(END_RUNS.prepared([{ run, status, result, error, announcementId, recipientId, letterId }]));
  if (recipientId === null || announcementId === null) return NOTHING;
  const sessionId = recipientId as SessionId;
  const data = {
    runId: run.id,
    childSessionKey: announcement.sessionKey,
    messageId: announcementId,
    status,
    disposition: steers ? 'steered' : 'queued',
  };
  const input: PutInput = {
    id: announcementId,
    sessionId,
    kind: 'announcement',
    body: announcementBody(announcement, run),
    route: run.route,
    mode: steers ? 'steer' : null,
    causeKey: `announce:${run.id}`,
    settled: told,
    steers,
  };
  return { inputs: [input], events: told === null ? [{ sessionId, type: 'announce.queued', data }] : [] };
}

const SKIPPED: NotNeeded = {
  status: 'silent',
  error: { code: 'announce_skip', message: 'The subagent requested no announcement.' },
};

export const EFFECTS: Effects = { 'run-ended': endAfterTurn, 'run-stopped': endRun };
