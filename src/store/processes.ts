// Commands in the background: their rows. A worker owns what it started for as long as it renews the lease; the end of a process and the
// notice to its session are one statement, in every worker that finds it ended.
import type { QueryResultRow } from 'pg';
import type {
  LostProcess,
  NewProcess,
  ProcessEnd,
  ProcessFacts,
  ProcessLease,
  ProcessStart,
  ProcessWish,
} from '../core/background-process.ts';
import type { SystemEventId } from '../core/ids.ts';
import { storableText } from '../core/storable-text.ts';
import { newId } from '../ids.ts';
import type { Database } from './database.ts';
import { LASTING_RETRY_MS, TURN_RETRY_MS } from './retry-passing-faults.ts';
import { sendQuery } from './send-query.ts';
import { literal, type PreparedQuery } from './statement.ts';
import { dropOldestEventsSql } from './system-events.ts';

/** The columns of `ProcessFacts`, of the row `p`. */
const PROCESS_FACTS_SQL = `p.id, p.command, p.status, p.exit_code as "exitCode", p.exit_signal as "exitSignal", p.reason,
  p.output_tail as "outputTail", p.poll_key as "pollKey", p.poll_until::float8 as "polledBytes",
  (extract(epoch from coalesce(p.ended_at, clock_timestamp()) - p.started_at) * 1000)::bigint::float8 as "ranMs"`;

const LOST_PER_LOOK_MAX = 20;
const LOST_REASON = 'its worker has crashed or stopped';

export const BEGIN_PROCESS = literal({
  name: 'begin-process',
  purpose:
    'Store a row before there is a process. A stop that waits for the session row does not see it, so the start checks once more.',
  locking: 'The session row, whose open turn and epoch are the right to write (G7).',
  text: `with locked as materialized (
  select s.id, s.turn_id is not distinct from $3 and s.epoch = $11::bigint and s.stop_reason is null as is_open
  from holdfast.sessions s where s.key = $2 for no key update
),
running as materialized (
  select count(*) as n from holdfast.processes p join locked on p.session_id = locked.id where p.status = 'running'
),
begun as (
  insert into holdfast.processes (id, session_id, turn_id, cause_key, command, workdir, worker, machine, lease_expires_at)
  select $1, locked.id, $3, $4, $5, $6, $7, $8, clock_timestamp() + $9::bigint * interval '1 millisecond' from locked, running
  where locked.is_open and running.n < $10::int
  on conflict do nothing
  returning id
)
select locked.is_open, running.n >= $10::int as is_full, begun.id is not null as is_begun,
  exists (select from holdfast.processes p where p.id = $1) as is_again
from running left join locked on true left join begun on true`,
});

export const START_PROCESS = literal({
  name: 'start-process',
  purpose:
    'Note which process it is, and say whether it may begin: not when the session was stopped or claimed again since (G7).',
  locking: 'The session row, after a stop that has waited for it, then the process.',
  text: `with locked as materialized (
  select s.turn_id, s.epoch, s.stop_reason from holdfast.sessions s join holdfast.processes p on p.session_id = s.id
  where p.id = $1 for no key update of s
)
update holdfast.processes p set pid = $2, started_ticks = $3 from locked where p.id = $1
returning p.status = 'running' and p.kill_reason is null and locked.stop_reason is null
  and locked.epoch = $4::bigint and locked.turn_id is not distinct from p.turn_id as is_wanted`,
});

export const END_PROCESS = literal({
  name: 'end-process',
  purpose: "Close a row that is open, and put the notice into the session's events.",
  locking: 'The session row, then the process.',
  text: `with locked as materialized (
  select s.id from holdfast.sessions s join holdfast.processes p on p.session_id = s.id where p.id = $1 for no key update of s
),
ended as (
  update holdfast.processes p
  set status = $3, exit_code = $4, exit_signal = $5, reason = $6, output_bytes = $7, output_tail = $8, ended_at = clock_timestamp()
  from locked where p.id = $1 and p.session_id = locked.id and p.worker = $2 and p.status = 'running'
  returning p.id, p.session_id
),
notices as materialized (select id, session_id from ended where $9::text is not null),
${dropOldestEventsSql('notices').join(',\n')},
queued as (
  insert into holdfast.system_events (id, session_id, text, context_key, is_trusted)
  select $10, session_id, $9, 'exec:' || id, $11 from notices
)
update holdfast.sessions s set last_event_text = $9, updated_at = clock_timestamp() from notices where s.id = notices.session_id`,
});

export const LOST_PROCESSES = literal({
  name: 'lost-processes',
  purpose: 'Close the rows of processes whose lease is not renewed, with a notice each.',
  locking:
    'The session rows in the order of their ids, leaving those that are locked to the next round, then the processes.',
  text: `with due as materialized (
  select p.id, p.session_id from holdfast.processes p
  where p.status = 'running' and p.lease_expires_at <= clock_timestamp() order by p.id limit ${LOST_PER_LOOK_MAX}
),
locked as materialized (
  select s.id from holdfast.sessions s where s.id in (select session_id from due) order by s.id for no key update skip locked
),
lost as (
  update holdfast.processes p set status = 'lost', reason = '${LOST_REASON}', ended_at = clock_timestamp()
  from due join locked on locked.id = due.session_id
  where p.id = due.id and p.status = 'running' and p.lease_expires_at <= clock_timestamp()
  returning p.id, p.session_id, p.machine, p.pid, p.started_ticks, p.turn_id
),
notices as materialized (
  select id, session_id, row_number() over (order by id) as n,
    'The command ' || id || ' that ran in the background is lost: ' || '${LOST_REASON}'
      || ', and the command was ended with it. It is not known how much of it had run.' as text
  from lost
),
${dropOldestEventsSql('notices').join(',\n')},
queued as (
  insert into holdfast.system_events (id, session_id, text, context_key, is_trusted)
  select ($1::uuid[])[n], session_id, text, 'exec:' || id, true from notices
),
updated_sessions as (
  update holdfast.sessions s set last_event_text = last.text, updated_at = clock_timestamp()
  from (select distinct on (session_id) session_id, text from notices order by session_id, n desc) as last
  where s.id = last.session_id
)
select id, machine, pid, started_ticks::float8 as "startedTicks" from lost`,
});

export const RENEW_PROCESSES = literal({
  name: 'renew-processes',
  purpose: 'Renew leases. Answers the processes that still run.',
  locking: 'The processes.',
  text: `update holdfast.processes set lease_expires_at = clock_timestamp() + $2::bigint * interval '1 millisecond'
where worker = $1 and id = any ($3::uuid[]) and status = 'running' returning id`,
});

export const PROCESS_WISHES = literal({
  name: 'process-wishes',
  purpose: 'Read which processes are to end, and what they are given to read.',
  text: `select p.id, p.kill_reason as "killReason", coalesce(added.inputs, '[]') as inputs
from unnest($1::uuid[], $2::bigint[]) as wanted (id, last_input) join holdfast.processes p on p.id = wanted.id
left join lateral (
  select json_agg(json_build_object('n', i.n, 'data', i.data, 'isLast', i.is_last) order by i.n) as inputs
  from holdfast.process_inputs i where i.process_id = p.id and i.n > wanted.last_input
) as added on true
where p.kill_reason is not null or added.inputs is not null`,
});

export const LIST_PROCESSES = literal({
  name: 'list-processes',
  purpose: 'Read the processes of a session, running ones first.',
  text: `select ${PROCESS_FACTS_SQL} from holdfast.processes p join holdfast.sessions s on s.id = p.session_id
where s.key = $1 order by p.status = 'running' desc, p.id desc limit $2`,
});

export const FIND_PROCESS = literal({
  name: 'find-process',
  purpose: 'Read a process of a session.',
  text: `select ${PROCESS_FACTS_SQL} from holdfast.processes p join holdfast.sessions s on s.id = p.session_id where s.key = $1 and p.id = $2`,
});

export const KILL_PROCESS = literal({
  name: 'kill-process',
  purpose: 'Ask for the end of a process that runs.',
  locking: 'The process.',
  text: `update holdfast.processes set kill_reason = coalesce(kill_reason, $2) where id = $1 and status = 'running'`,
});

export const ADD_PROCESS_INPUT = literal({
  name: 'add-process-input',
  purpose: 'Store input of a process, once for each cause.',
  text: `insert into holdfast.process_inputs (process_id, cause_key, data, is_last) values ($1, $2, $3, $4) on conflict do nothing`,
});

export const TRIM_PROCESS_INPUTS = literal({
  name: 'trim-process-inputs',
  purpose: 'Delete the inputs of processes that ended long ago.',
  locking: 'The inputs.',
  text: `delete from holdfast.process_inputs i using holdfast.processes p
where p.id = i.process_id and p.status <> 'running' and p.ended_at < clock_timestamp() - $1::bigint * interval '1 millisecond'`,
});

export const POLL_PROCESS = literal({
  name: 'poll-process',
  purpose: 'Note what a poll has read. The same poll reads the same again.',
  locking: 'The process.',
  text: `update holdfast.processes set poll_key = $2,
  poll_from = case when poll_key is not distinct from $2 then poll_from else poll_until end,
  poll_until = case when poll_key is not distinct from $2 then poll_until else greatest(poll_until, $3::bigint) end
where id = $1 returning poll_from, poll_until`,
});

/** The functions of a worker's commands in the background, see `ProcessStore` of the tools. */
// oxlint-disable-next-line max-lines-per-function -- One short method for each statement, and all share `query`.
export function createProcessStore(database: Database) {
  const query = <Row extends QueryResultRow>(statement: PreparedQuery, retryMs = TURN_RETRY_MS): Promise<Row[]> =>
    sendQuery<Row>(database.hot, statement, retryMs);

  return {
    async begin(process: NewProcess): Promise<'begun' | 'known' | 'closed' | 'too-many'> {
      const { id, sessionKey, epoch, turnId, causeKey, command, workdir, worker, machine, leaseMs, runningMax } =
        process;
      const values = [id, sessionKey, turnId, causeKey, command, workdir, worker, machine, leaseMs, runningMax, epoch];
      const [row] = await query<ProcessStartRow>(BEGIN_PROCESS.prepared(values));
      // The second: an earlier sending that was committed, but whose answer was lost.
      if (row?.is_begun === true || row?.is_again === true) return 'begun';
      if (row?.is_open !== true) return 'closed';
      return row.is_full ? 'too-many' : 'known';
    },

    async noteStart({ id, epoch, pid, startedTicks }: ProcessStart): Promise<boolean> {
      const [row] = await query<{ is_wanted: boolean }>(START_PROCESS.prepared([id, pid, startedTicks, epoch]));
      return row?.is_wanted === true;
    },

    async end({ told, ...end }: ProcessEnd): Promise<void> {
      const { id, worker, status, exitCode, exitSignal, reason, outputBytes } = end;
      const facts = [id, worker, status, exitCode, exitSignal, reason, outputBytes, storableText(end.outputTail)];
      const notice = [told === null ? null : storableText(told.text), newId<SystemEventId>(), told?.isTrusted ?? true];
      await query(END_PROCESS.prepared([...facts, ...notice]), LASTING_RETRY_MS);
    },

    async renew({ worker, leaseMs, ids }: ProcessLease): Promise<ReadonlySet<string>> {
      const rows = await query<{ id: string }>(RENEW_PROCESSES.prepared([worker, leaseMs, ids]), 0);
      return new Set(rows.map(({ id }) => id));
    },

    async wishes(processes: readonly { id: string; lastInput: number }[]): Promise<ProcessWish[]> {
      const values = [processes.map(({ id }) => id), processes.map(({ lastInput }) => lastInput)];
      return query<ProcessWish>(PROCESS_WISHES.prepared(values), 0);
    },

    async takeLost(): Promise<LostProcess[]> {
      const ids = Array.from({ length: LOST_PER_LOOK_MAX }, () => newId<SystemEventId>());
      return query<LostProcess>(LOST_PROCESSES.prepared([ids]), 0);
    },

    async list(sessionKey: string, rowsMax: number): Promise<ProcessFacts[]> {
      return query<ProcessFacts>(LIST_PROCESSES.prepared([sessionKey, rowsMax]));
    },

    async find(sessionKey: string, id: string): Promise<ProcessFacts | null> {
      const [facts] = await query<ProcessFacts>(FIND_PROCESS.prepared([sessionKey, id]));
      return facts ?? null;
    },

    async askToKill(id: string, reason: string): Promise<void> {
      await query(KILL_PROCESS.prepared([id, reason]));
    },

    async addInput(input: { processId: string; causeKey: string; data: string; isLast: boolean }): Promise<void> {
      await query(
        ADD_PROCESS_INPUT.prepared([input.processId, input.causeKey, storableText(input.data), input.isLast]),
      );
    },

    async trimInputs(keptMs: number): Promise<void> {
      await query(TRIM_PROCESS_INPUTS.prepared([keptMs]));
    },

    async notePoll(poll: { id: string; key: string; until: number }): Promise<{ from: number; until: number }> {
      const [row] = await query<{ poll_from: string; poll_until: string }>(
        POLL_PROCESS.prepared([poll.id, poll.key, poll.until]),
      );
      return { from: Number(row?.poll_from ?? 0), until: Number(row?.poll_until ?? poll.until) };
    },
  };
}

interface ProcessStartRow {
  is_open: boolean | null;
  is_full: boolean;
  is_begun: boolean;
  is_again: boolean;
}
