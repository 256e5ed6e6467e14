// Stops a session and all sessions below it, in one statement: running turns receive a stop signal, waiting messages are cancelled, the
// runs of subagents are settled, and the session above is notified. The abort of a session, the kill of a subagent and the deadline of its
// run use it (G18, G24). A kill can also stop one run alone: the runs below it continue, and their ends are announced to the nearest
// session above it that is still active, as after any other end of the run (`subagent-ends.ts`).
//
// Locking: the rows of the session, of all sessions above it and of all working sessions below it, in the order of their ids. The working
// sessions below it and the waiting messages are read before the rows are locked; if a run was spawned or has ended meanwhile, or a
// message has arrived for a run that would end, the counts in the rows show it, nothing is written, and the statement is sent again
// (`stale`).
import type { Committed, Ring } from '../after-commit.ts';
import type { RunStatus } from '../core/announcement.ts';
import type { SessionId, TurnId } from '../core/ids.ts';
import type { QueueModes } from '../core/run-end.ts';
import type { Database } from './database.ts';
import { commandParts, newCommands, readReplyRings, type NewCommand } from './commands.ts';
import { insertedEvents } from './events.ts';
import { insertedKeys, type KeyedRequest } from './idempotency.ts';
import { NEW_ID_SQL, PUT_EVENTS_SQL, PUT_PARTS, rungForPart } from './put-inputs.ts';
import { TURN_RETRY_MS } from './retry-passing-faults.ts';
import { sendQuery } from './send-query.ts';
import { settledIn } from './rings.ts';
import { wakeSql, type NeededRing } from './session-locks.ts';
import { cte, statement, type Cte } from './statement.ts';
import { ANNOUNCED_EVENTS_SQL, END_RUN_PARTS, endingColumnsSql, STORED_TOTALS } from './subagent-ends.ts';

export interface FamilyStop {
  sessionId: SessionId;
  /** Keeps the waiting messages of the session itself; its own run then ends only if it has no other work. */
  keepsQueued: boolean;
  /** The runs below it continue. */
  keepsBelow?: boolean;
  /** For people. */
  reason: string;
  /** The run to stop: nothing happens when the session no longer works on it. Absent: any work. */
  runId?: string;
  /** How the session's own run ends, and its last text. */
  status: Extract<RunStatus, 'killed' | 'timedOut' | 'failed'>;
  result: string | null;
  /** True when the session that would be notified has requested the end itself. */
  isTold: boolean;
  modes: QueueModes;
  /** The key of the request that stops it. */
  idempotency?: KeyedRequest | null;
  /** The chat command that stops it, which becomes a row of the session's inbox: it acts only on messages accepted before it. */
  command?: StopCommand;
}

/** The reply to it lists what was stopped, so the statement writes it. */
export type StopCommand = Omit<NewCommand, 'reply'>;

/** `stopped`: `runs` counts the runs that ended, the session's own among them. `ended`: it was not working on that run any more. */
export type FamilyStopResult =
  | { kind: 'stopped'; aborted: TurnId | null; cancelled: number; runs: number }
  | { kind: 'ended' };

/** How often it tries again when the family has changed meanwhile. */
const STALE_LOOKS_MAX = 50;

/** SQL of the reply to a `/stop`. */
const STOP_REPLY_SQL = `'⚙️ Agent was aborted.'
    || case stopped.cancelled when 0 then '' when 1 then ' Cancelled 1 waiting message.'
      else ' Cancelled ' || stopped.cancelled || ' waiting messages.' end
    || case stopped.runs when 0 then '' when 1 then ' Stopped 1 sub-agent.' else ' Stopped ' || stopped.runs || ' sub-agents.' end`;

const ctes: Cte<FamilyStop>[] = [
  newCommands((stop) => stop.command),
  cte(
    `input as materialized (
  select $session::uuid as session_id, $keeps_queued::boolean as keeps_queued, $reason::text as reason, $run::uuid as run_id,
    $status::text as status, $result::text as result, $is_told::boolean as is_told, $keeps_below::boolean as keeps_below
)`,
    {
      binds: {
        session: (stop) => stop.sessionId,
        keeps_queued: (stop) => stop.keepsQueued,
        reason: (stop) => stop.reason,
        run: (stop) => stop.runId ?? null,
        status: (stop) => stop.status,
        result: (stop) => stop.result,
        is_told: (stop) => stop.isTold,
        keeps_below: (stop) => stop.keepsBelow ?? false,
      },
    },
  ),
  cte(`below as materialized (
  select c.id, c.ancestors from holdfast.sessions self
  join holdfast.subagent_runs r on r.root_id = coalesce(self.ancestors[1], self.id) and r.status = 'running'
  join holdfast.sessions c on c.id = r.child_id
  where self.id = $session::uuid and c.ancestors @> array[self.id] and not $keeps_below::boolean
)`),
  cte(`locked as materialized (
  select s.* from holdfast.sessions s
  where s.id = any (array[$session::uuid] || (select self.ancestors from holdfast.sessions self where self.id = $session::uuid)
    || array(select id from below) || array(select unnest(ancestors) from below))
  order by s.id for no key update
)`),
  cte(`family as materialized (
  select l.*, l.id = input.session_id as is_self from locked l cross join input
  where l.id = input.session_id or l.run_id is not null and l.id in (select id from below)
)`),
  cte(`verdict as materialized (
  select case
      when input.run_id is not null and self.run_id is distinct from input.run_id then 'ended'
      when exists (
        select from family p
        where not input.keeps_below and p.live_children <> (select count(*) from family c where c.parent_id = p.id and not c.is_self)
          or p.run_id is not null and not (p.is_self and input.keeps_queued)
            and p.waiting <> (select count(*) from holdfast.inbox i where i.session_id = p.id and i.status = 'waiting')
      ) then 'stale'
      else 'stopped'
    end as verdict
  from input join family self on self.is_self
)`),
  cte(`stopping as materialized (
  select family.* from family, verdict where verdict.verdict = 'stopped'
)`),
  cte(`cancelled as (
  update holdfast.inbox i set status = 'cancelled', settled_at = clock_timestamp(),
    error = json_build_object('code', 'aborted', 'message', 'Cancelled before a turn claimed it: ' || input.reason)
  from stopping cross join input
  where i.session_id = stopping.id and i.status = 'waiting' and not (stopping.is_self and input.keeps_queued)
  returning i.id, i.seq, i.session_id, i.status
)`),
  cte(`ending as materialized (
  select ${endingColumnsSql(STORED_TOTALS)}, input.status, input.result, input.reason as error,
    false as is_suppressed, input.is_told
  from stopping s cross join input join holdfast.subagent_runs run on run.id = s.run_id
  where s.is_self and (not input.keeps_queued or s.turn_id is null and s.waiting = 0)
)`),
  cte(`below_ending as materialized (
  select ${endingColumnsSql(STORED_TOTALS)}, s.key, relative.id as told_id, ${NEW_ID_SQL} as announcement_id
  from stopping s join holdfast.subagent_runs run on run.id = s.run_id
  -- A session above it that is stopped with it keeps the row, which is no longer read.
  cross join lateral (
    select l.id from unnest(s.ancestors) with ordinality as above (id, place) join stopping l on l.id = above.id
    order by above.place desc limit 1
  ) as relative
  where not s.is_self
)`),
  cte(`ended_below as (
  update holdfast.subagent_runs r
  set status = 'killed', error = input.reason, ended_at = clock_timestamp(), input_tokens = e.input_tokens,
    output_tokens = e.output_tokens, cost_micros = e.cost_micros, unpriced_calls = e.unpriced_calls, is_simulated = e.is_simulated,
    announcement_id = e.announcement_id, announced_to = e.told_id
  from below_ending e cross join input where r.id = e.id and r.status = 'running'
)`),
  cte('queue_modes as materialized (select $mode::text as mode, $by_channel::json as by_channel)', {
    binds: { mode: (stop) => stop.modes.mode, by_channel: (stop) => JSON.stringify(stop.modes.byChannel) },
  }),
  ...END_RUN_PARTS.map((text) => cte(text)),
  cte(`incoming as materialized (
  select * from announcements
  union all select announcement_id, told_id, 'announcement', json_build_object('announcement', json_build_object('kind', 'subagent', 'runId', id,
    'sessionId', child_id, 'sessionKey', key, 'label', label, 'status', 'killed', 'runtimeMs', 0, 'inputTokens', 0, 'outputTokens', 0,
    'isForUser', false, 'active', 0)), '', null, 'announce:' || id, 'cancelled', 'queued',
    json_build_object('code', 'aborted', 'message', 'The parent session was stopped, and the subagent with it.') from below_ending
)`),
  ...PUT_PARTS.map((text) => cte(text)),
  cte(`changed as materialized (
  select session_id, sum(children)::int as children, sum(descendants)::int as descendants from (
    select session_id, children, descendants from relative_counts
    union all select parent_id, 1, 0 from below_ending
    union all select root_id, 0, 1 from below_ending
    union all select id, 0, 0 from stopping
    union all select session_id, 0, 0 from arrived
  ) as changes group by session_id
)`),
  cte(`updated_sessions as (
  update holdfast.sessions s
  set stop_kind = case when stopping.id is null then s.stop_kind
      when s.turn_id is not null or s.owner is not null then 'stopped' end,
    stop_reason = case when stopping.id is null then s.stop_reason
      when s.turn_id is not null or s.owner is not null then input.reason end,
    waiting = s.waiting + coalesce(arrived.waiting, 0) - (select count(*) from cancelled where cancelled.session_id = s.id)::int,
    live_children = s.live_children - changed.children, live_descendants = s.live_descendants - changed.descendants,
    run_id = case when s.run_id in (select id from ending union all select id from below_ending) then null else s.run_id end,
    archived_at = case when s.id in (select child_id from ending where cleanup = 'delete'
        union all select child_id from below_ending where cleanup = 'delete') then clock_timestamp() else s.archived_at end,
    -- The number of the command follows those of what has arrived.
    inbox_seq = greatest(s.inbox_seq, arrived.last_seq) + own.commands, delivery_seq = s.delivery_seq + own.deliveries,
    steer_seq = greatest(s.steer_seq, arrived.steer_seq), updated_at = clock_timestamp(),
    last_message_at = case when arrived.waiting > 0 or own.commands > 0 then clock_timestamp() else s.last_message_at end
  from changed cross join input left join stopping on stopping.id = changed.session_id
  cross join lateral (
    select count(c.id) as commands, count(c.delivery_id) as deliveries from new_commands c where changed.session_id = input.session_id
  ) as own
  left join arrived on arrived.session_id = changed.session_id
  where s.id = changed.session_id
  returning s.*, stopping.id is not null as is_stopping, coalesce(stopping.is_self, false) as is_self,
    coalesce(arrived.waiting, 0) as has_arrived
)`),
  cte(`killed as (
  update holdfast.processes p set kill_reason = coalesce(p.kill_reason, input.reason) from stopping cross join input
  where p.session_id = stopping.id and p.status = 'running'
)`),
  cte(`deleted_yields as (
  delete from holdfast.yields y using stopping where y.session_id = stopping.id
)`),
  cte(`deleted_doorbells as (
  delete from holdfast.doorbells d using updated_sessions
  where updated_sessions.is_stopping and d.session_id = updated_sessions.id and updated_sessions.waiting = 0 and updated_sessions.turn_id is null and updated_sessions.owner is null
)`),
  cte(`rung_doorbells as (
  ${wakeSql('updated_sessions', 's.is_stopping and s.turn_id is not null and (s.owner is null or s.lease_expires_at <= clock_timestamp())')}
)`),
  cte(rungForPart('updated_sessions', 's.has_arrived > 0 and not s.is_stopping')),
  cte(`stopped as materialized (
  select updated_sessions.turn_id as aborted, (select count(*) from cancelled where cancelled.session_id = $session::uuid)::int as cancelled,
    ((select count(*) from ending) + (select count(*) from below_ending))::int as runs
  from verdict left join updated_sessions on updated_sessions.is_self where verdict.verdict <> 'stale'
)`),
  insertedKeys('select to_json(stopped) from stopped', (stop) => stop.idempotency),
  ...commandParts({
    session: '(select updated_sessions.* from updated_sessions where updated_sessions.is_self)',
    reply: `(select ${STOP_REPLY_SQL} from stopped)`,
  }),
  cte(`cancelled_events as (
  select session_id, null::uuid as turn_id, 'message.settled' as type, json_build_object('messageId', id, 'status', status) as data, seq as n
  from cancelled
)`),
  cte(`put_events as (\n  ${PUT_EVENTS_SQL}\n)`),
  cte(`announced_events as (\n  ${ANNOUNCED_EVENTS_SQL}\n)`),
  insertedEvents('cancelled_events', 'put_events', 'announced_events', 'command_events'),
];

export const STOP_FAMILY = statement<FamilyStop>({
  name: 'stop-family',
  purpose:
    'Stop a session, and all sessions below it unless they are kept. Answers one row; nothing is written when the family has changed (`stale`).',
  locking:
    'The rows of the session, of all sessions above it and of all working sessions below it, in the order of their ids.',
  ctes,
  select: `select verdict.verdict, stopped.aborted, stopped.cancelled, stopped.runs,
  (select json_agg(json_build_object('sessionId', session_id, 'lane', lane, 'ringNo', rings))
    from (select * from rung_doorbells union all select * from arrival_doorbells) as all_rings) as rings,
  (select json_agg(id) from updated_sessions) as reached
from verdict left join stopped on true`,
});

/** Stops it; resolves once that is committed. Workers notice within a second. Throws when there is no such session. */
export async function stopFamily(database: Database, stop: FamilyStop): Promise<Committed<FamilyStopResult>> {
  const { sessionId, command } = stop;
  const query = STOP_FAMILY.prepared(stop);
  for (let look = 1; look <= STALE_LOOKS_MAX; look += 1) {
    const [answer] = await sendQuery<StopRow>(database.hot, query, TURN_RETRY_MS);
    if (answer === undefined) throw new Error(`There is no session ${sessionId}.`);
    if (answer.verdict === 'ended') return { kind: 'ended' };
    if (answer.verdict === 'stopped') {
      const { aborted, cancelled, runs, reached } = answer;
      // The turns that it stops, and announcements that have arrived above it.
      const rings: Ring[] = (answer.rings ?? []).map((ring) => ({
        kind: ring.sessionId === sessionId ? 'inbound' : 'announce',
        ...ring,
      }));
      if (command !== undefined) rings.push(...(await readReplyRings(database, sessionId, command)));
      return {
        kind: 'stopped',
        aborted,
        cancelled,
        runs,
        after: { changed: [], settled: settledIn(reached ?? []), rings },
      };
    }
  }
  throw new Error(
    `The family of the session ${sessionId} was changed by other requests at each attempt to stop it. Try again later.`,
  );
}

interface StopRow {
  verdict: 'stopped' | 'ended' | 'stale';
  aborted: TurnId | null;
  cancelled: number;
  runs: number;
  rings: NeededRing[] | null;
  reached: SessionId[] | null;
}
