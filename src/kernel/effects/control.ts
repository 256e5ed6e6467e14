// Control: stops a session from outside. It never waits in a queue: the request is written into the
// session row, which the worker that runs it reads several times a second and at every step (G24).
import { findLastOutput, type OutputEntry } from '../rules/session-history.ts';
import type { SessionId, TurnId } from '../../core/ids.ts';
import { literalQuery } from '../../database/literal-query.ts';
import type { Committed } from '../queue/after-commit.ts';
import { keyedSql, type KeyedRequest } from '../../database/idempotency.ts';
import { buildAfter, type RungColumns, wakeSql } from '../queue/rings.ts';
import type { EffectParts } from './turn-effects.ts';
import { findPlace } from '../sessions/family-rows.ts';
import { stopFamily, type FamilyStop, type FamilyStopResult, type StopCommand } from './stop-family.ts';

/**
 * The newest visible entries that are read for the last output of a subagent whose run is ended
 * from outside.
 */
const ENTRIES_READ = 10;

/** Its last text, otherwise the last result of a tool; null: nothing yet. Bounded. */
export const readLastOutput = literalQuery({
  name: 'last-output',
  purpose: 'Read the newest entries that a session shows.',
  text: `select * from (
  select e.seq, e.kind, e.content from holdfast.entries e join holdfast.sessions s on s.id = e.session_id
  where e.session_id = $1 and e.transcript_no = s.transcript_no and e.state = 'active' order by e.seq desc limit ${ENTRIES_READ}
) as newest order by seq`,
  values: (sessionId: SessionId) => [sessionId],
  answer: (entries: OutputEntry[]) => findLastOutput(entries),
});

export interface Abortion {
  sessionId: SessionId;
  /** The turn that is being stopped; null when none runs. */
  aborted: TurnId | null;
  /** How many waiting messages were cancelled. */
  cancelled: number;
  /** How many runs of subagents were stopped with it. */
  runs: number;
}

export type RunAbort = Omit<FamilyStop, 'keepsQueued' | 'status' | 'result' | 'runId' | 'command'> & {
  runId: string;
  /** Absent: killed. */
  status?: FamilyStop['status'];
};

/**
 * Stops the running turn of a session with all subagents below it, and cancels or keeps the waiting
 * messages. Cancelled rows stay visible. Returns null when there is no such session.
 */
export async function abortSession(
  parts: EffectParts,
  input: {
    sessionKey: string;
    keepQueued: boolean;
    reason?: string;
    idempotency?: KeyedRequest | null;
    /** The chat command that asks for it, which is stored with it. */
    command?: StopCommand;
  },
): Promise<Committed<Abortion> | null> {
  const session = await findPlace(parts.database, input.sessionKey);
  if (session === null) return null;
  const stopped = await stopFamily(parts, {
    sessionId: session.id,
    keepsQueued: input.keepQueued,
    reason: input.reason ?? 'stopped by the user',
    status: 'killed',
    result: session.depth === 0 ? null : await readLastOutput(parts.database, session.id),
    isOwn: false,
    idempotency: input.idempotency ?? null,
    ...(input.command === undefined ? {} : { command: input.command }),
  });
  return stopped.kind === 'ended' ? null : { ...stopped, sessionId: session.id };
}

/** Ends the run that a session works on, with all below it unless they are kept. */
export async function abortRun(
  parts: EffectParts,
  { status = 'killed', ...run }: RunAbort,
): Promise<Committed<FamilyStopResult>> {
  const result = await readLastOutput(parts.database, run.sessionId);
  return stopFamily(parts, { ...run, keepsQueued: false, status, result });
}

/**
 * Stops one turn, if it still runs; the waiting messages of its session stay. `unknown`: there is
 * no such turn.
 */
export const abortTurn = literalQuery({
  name: 'abort-turn',
  purpose: 'Ask the worker of an open turn to stop it. Answers no row when there is no such turn.',
  locking: 'The session row, then its processes and its doorbell.',
  retryMs: 0,
  text: `with turn as materialized (select t.id, t.session_id from holdfast.turns t where t.id = $turnId),
updated_sessions as (
  update holdfast.sessions s set stop_kind = 'stopped', stop_reason = $reason, updated_at = clock_timestamp()
  from turn where s.id = turn.session_id and s.turn_id = turn.id
  returning s.*, s.owner is null or s.lease_expires_at <= clock_timestamp() as is_free
),
killed as (
  update holdfast.processes p set kill_reason = coalesce(p.kill_reason, $reason) from updated_sessions
  where p.session_id = updated_sessions.id and p.turn_id = $turnId and p.status = 'running'
),
rung_doorbells as (
  ${wakeSql('updated_sessions', 's.is_free')}
),
${keyedSql(`select json_build_object('aborted', updated_sessions.id is not null) from turn left join updated_sessions on true`)}
select updated_sessions.id, rung_doorbells.lane, rung_doorbells.rings from turn left join updated_sessions on true left join rung_doorbells on rung_doorbells.session_id = updated_sessions.id`,
  values: ({ turnId, idempotency }: { turnId: string; idempotency?: KeyedRequest | null }) => ({
    turnId,
    reason: 'stopped by the user',
    ...idempotency,
  }),
  answer([row]: ({ id: SessionId | null } & RungColumns)[]): Committed<{ kind: 'stopped' | 'ended' | 'unknown' }> {
    if (row === undefined) return { kind: 'unknown' };
    if (row.id === null) return { kind: 'ended' };
    return { kind: 'stopped', after: buildAfter('inbound', row.id, row) };
  },
});
