// Commands in the background: their rows. A worker owns what it started for as long as it renews the lease; the end of a process and the
// notice to its session are one statement, in every worker that finds it ended.
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
import { newId } from '../ids.ts';
import type { Database } from './database.ts';
import { PROCESS_FACTS_SQL, processFactsOf, type ProcessFactsRow } from './process-facts.ts';
import { LASTING_RETRY_MS, retryPassingFaults, TURN_RETRY_MS } from './retry-passing-faults.ts';
import { dropOldestEventsSql } from './system-events.ts';

const LOST_PER_LOOK_MAX = 20;
const LOST_REASON = 'its worker has crashed or stopped';

// Purpose: a row before there is a process. Locking: the session row, whose open turn and epoch are the right to write (G7). A stop that
// is waiting for the row lock does not see what is written here, so the start checks once more.
const BEGIN_SQL = `/* begin-process */
with locked as materialized (
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
from running left join locked on true left join begun on true`;

// Purpose: note which process it is, and say whether it may begin: not when the session was stopped or claimed again since (G7). Locking:
// the session row, after a stop that has waited for it.
const START_SQL = `/* start-process */
with locked as materialized (
  select s.turn_id, s.epoch, s.stop_reason from holdfast.sessions s join holdfast.processes p on p.session_id = s.id
  where p.id = $1 for no key update of s
)
update holdfast.processes p set pid = $2, started_ticks = $3 from locked where p.id = $1
returning p.status = 'running' and p.kill_reason is null and locked.stop_reason is null
  and locked.epoch = $4::bigint and locked.turn_id is not distinct from p.turn_id as is_wanted`;

// Purpose: close a row that is open and put the notice into the session's events. Locking: the session row, then the process.
const END_SQL = `/* end-process */
with locked as materialized (
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
update holdfast.sessions s set last_event_text = $9, updated_at = clock_timestamp() from notices where s.id = notices.session_id`;

// Purpose: the same for processes whose lease is not renewed. A session whose row is locked is left to the next round.
const LOST_SQL = `/* lost-processes */
with due as materialized (
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
select id, machine, pid, started_ticks from lost`;

/** The functions of a worker's commands in the background, see `ProcessStore` of the tools. */
// oxlint-disable-next-line max-lines-per-function -- One short method for each statement, and all share `query`.
export function createProcessStore(database: Database) {
  async function query<Row>(name: string, text: string, values: unknown[], retryMs = TURN_RETRY_MS): Promise<Row[]> {
    const result = await retryPassingFaults(() => database.hot.query({ name, text, values }), retryMs);
    return result.rows as Row[];
  }

  return {
    async begin(process: NewProcess): Promise<'begun' | 'known' | 'closed' | 'too-many'> {
      const { id, sessionKey, epoch, turnId, causeKey, command, workdir, worker, machine, leaseMs, runningMax } =
        process;
      const values = [id, sessionKey, turnId, causeKey, command, workdir, worker, machine, leaseMs, runningMax, epoch];
      const [row] = await query<ProcessStartRow>('begin-process', BEGIN_SQL, values);
      // The second: an earlier sending that was committed, but whose answer was lost.
      if (row?.is_begun === true || row?.is_again === true) return 'begun';
      if (row?.is_open !== true) return 'closed';
      return row.is_full ? 'too-many' : 'known';
    },

    async noteStart({ id, epoch, pid, startedTicks }: ProcessStart): Promise<boolean> {
      const [row] = await query<{ is_wanted: boolean }>('start-process', START_SQL, [id, pid, startedTicks, epoch]);
      return row?.is_wanted === true;
    },

    async end({ told, ...end }: ProcessEnd): Promise<void> {
      const tail = storable(end.outputTail);
      const text = told === null ? null : storable(told.text);
      const values = [
        end.id,
        end.worker,
        end.status,
        end.exitCode,
        end.exitSignal,
        end.reason,
        end.outputBytes,
        tail,
        text,
        newId<SystemEventId>(),
        told?.isTrusted ?? true,
      ];
      await query('end-process', END_SQL, values, LASTING_RETRY_MS);
    },

    async renew({ worker, leaseMs, ids }: ProcessLease): Promise<ReadonlySet<string>> {
      const rows = await query<{ id: string }>(
        'renew-processes',
        `/* renew-processes */
update holdfast.processes set lease_expires_at = clock_timestamp() + $2::bigint * interval '1 millisecond'
where worker = $1 and id = any ($3::uuid[]) and status = 'running' returning id`,
        [worker, leaseMs, ids],
        0,
      );
      return new Set(rows.map(({ id }) => id));
    },

    async wishes(processes: readonly { id: string; lastInput: number }[]): Promise<ProcessWish[]> {
      const rows = await query<WishRow>(
        'process-wishes',
        `/* process-wishes */
select p.id, p.kill_reason, added.inputs
from unnest($1::uuid[], $2::bigint[]) as wanted (id, last_input) join holdfast.processes p on p.id = wanted.id
left join lateral (
  select json_agg(json_build_object('n', i.n, 'data', i.data, 'isLast', i.is_last) order by i.n) as inputs
  from holdfast.process_inputs i where i.process_id = p.id and i.n > wanted.last_input
) as added on true
where p.kill_reason is not null or added.inputs is not null`,
        [processes.map(({ id }) => id), processes.map(({ lastInput }) => lastInput)],
        0,
      );
      return rows.map(({ id, kill_reason, inputs }) => ({ id, killReason: kill_reason, inputs: inputs ?? [] }));
    },

    async takeLost(): Promise<LostProcess[]> {
      const ids = Array.from({ length: LOST_PER_LOOK_MAX }, () => newId<SystemEventId>());
      const rows = await query<LostRow>('lost-processes', LOST_SQL, [ids], 0);
      return rows.map(({ id, machine, pid, started_ticks }) => ({
        id,
        machine,
        pid,
        startedTicks: started_ticks === null ? null : Number(started_ticks),
      }));
    },

    async list(sessionKey: string, rowsMax: number): Promise<ProcessFacts[]> {
      const rows = await query<ProcessFactsRow>(
        'list-processes',
        `/* list-processes */
select ${PROCESS_FACTS_SQL} from holdfast.processes p join holdfast.sessions s on s.id = p.session_id
where s.key = $1 order by p.status = 'running' desc, p.id desc limit $2`,
        [sessionKey, rowsMax],
      );
      return rows.map(processFactsOf);
    },

    async find(sessionKey: string, id: string): Promise<ProcessFacts | null> {
      const [row] = await query<ProcessFactsRow>(
        'find-process',
        `/* find-process */
select ${PROCESS_FACTS_SQL} from holdfast.processes p join holdfast.sessions s on s.id = p.session_id where s.key = $1 and p.id = $2`,
        [sessionKey, id],
      );
      return row === undefined ? null : processFactsOf(row);
    },

    async askToKill(id: string, reason: string): Promise<void> {
      await query(
        'kill-process',
        `/* kill-process */
update holdfast.processes set kill_reason = coalesce(kill_reason, $2) where id = $1 and status = 'running'`,
        [id, reason],
      );
    },

    async addInput(input: { processId: string; causeKey: string; data: string; isLast: boolean }): Promise<void> {
      await query(
        'add-process-input',
        `/* add-process-input */
insert into holdfast.process_inputs (process_id, cause_key, data, is_last) values ($1, $2, $3, $4) on conflict do nothing`,
        [input.processId, input.causeKey, storable(input.data), input.isLast],
      );
    },

    async trimInputs(keptMs: number): Promise<void> {
      await query(
        'trim-process-inputs',
        `/* trim-process-inputs */
delete from holdfast.process_inputs i using holdfast.processes p
where p.id = i.process_id and p.status <> 'running' and p.ended_at < clock_timestamp() - $1::bigint * interval '1 millisecond'`,
        [keptMs],
      );
    },

    async notePoll(poll: { id: string; key: string; until: number }): Promise<{ from: number; until: number }> {
      const [row] = await query<{ poll_from: string; poll_until: string }>(
        'poll-process',
        `/* poll-process */
update holdfast.processes set poll_key = $2,
  poll_from = case when poll_key is not distinct from $2 then poll_from else poll_until end,
  poll_until = case when poll_key is not distinct from $2 then poll_until else greatest(poll_until, $3::bigint) end
where id = $1 returning poll_from, poll_until`,
        [poll.id, poll.key, poll.until],
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

interface WishRow {
  id: string;
  kill_reason: string | null;
  inputs: ProcessWish['inputs'] | null;
}

interface LostRow {
  id: string;
  machine: string;
  pid: number | null;
  started_ticks: string | null;
}

/** PostgreSQL's text holds no NUL and no lone surrogate. */
function storable(text: string): string {
  return text.replaceAll('\0', '').toWellFormed();
}
