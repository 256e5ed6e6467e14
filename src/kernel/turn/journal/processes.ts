// Commands in the background: their rows. A worker owns what it started for as long as it renews
// the lease; the end of a process and the notice to its session are one statement, in every worker
// that finds it ended.
import type {
  LostProcess,
  NewProcess,
  ProcessEnd,
  ProcessFacts,
  ProcessLease,
  ProcessStart,
  ProcessControl,
} from '../../../tools/rules/background-process.ts';
import type { SystemEventId } from '../../../core/ids.ts';
import { storableText } from '../../../core/text.ts';
import { newId } from '../../../ids.ts';
import type { Database } from '../../../database/database.ts';
import { literalQuery } from '../../../database/literal-query.ts';
import { LASTING_RETRY_MS, TURN_RETRY_MS } from '../../../database/passing-faults.ts';
import { dropOldestEventsSql } from '../../inbox/system-events.ts';

/** The columns of `ProcessFacts`, of the row `p`. */
const PROCESS_FACTS_SQL = `p.id, p.command, p.status, p.exit_code as "exitCode", p.exit_signal as "exitSignal", p.reason,
  p.output_tail as "outputTail", p.poll_key as "pollKey", p.poll_until::float8 as "polledBytes",
  (extract(epoch from coalesce(p.ended_at, clock_timestamp()) - p.started_at) * 1000)::bigint::float8 as "ranMs"`;

const LOST_PER_CHECK_MAX = 20;
const LOST_REASON = 'its worker has crashed or stopped';

interface ProcessStartRow {
  is_open: boolean | null;
  is_full: boolean;
  is_begun: boolean;
  is_again: boolean;
}

export const beginProcess = literalQuery({
  name: 'begin-process',
  purpose:
    'Store a row before there is a process. A stop that waits for the session row does not see it, so the start checks once more.',
  locking: 'The session row, whose open turn and epoch are the right to write (G7).',
  text: `with locked as materialized (
  select s.id, s.turn_id is not distinct from $turnId and s.epoch = $epoch::bigint and s.stop_reason is null as is_open
  from holdfast.sessions s where s.key = $sessionKey for no key update
),
running as materialized (
  select count(*) as n from holdfast.processes p join locked on p.session_id = locked.id where p.status = 'running'
),
begun as (
  insert into holdfast.processes (id, session_id, turn_id, cause_key, command, workdir, worker, machine, lease_expires_at)
  select $id, locked.id, $turnId, $causeKey, $command, $workdir, $worker, $machine, clock_timestamp() + $leaseMs::bigint * interval '1 millisecond' from locked, running
  where locked.is_open and running.n < $runningMax::int
  on conflict do nothing
  returning id
)
select locked.is_open, running.n >= $runningMax::int as is_full, begun.id is not null as is_begun,
  exists (select from holdfast.processes p where p.id = $id) as is_again
from running left join locked on true left join begun on true`,
  retryMs: TURN_RETRY_MS,
  values: (process: NewProcess) => process,
  answer([row]: ProcessStartRow[]) {
    // The second: an earlier sending that was committed, but whose answer was lost.
    if (row?.is_begun === true || row?.is_again === true) return 'begun';
    if (row?.is_open !== true) return 'closed';
    return row.is_full ? 'too-many' : 'known';
  },
});

export const startProcess = literalQuery({
  name: 'start-process',
  purpose:
    'Note which process it is, and say whether it may begin: not when the session was stopped or claimed again since (G7).',
  locking: 'The session row, after a stop that has waited for it, then the process.',
  text: `with locked as materialized (
  select s.turn_id, s.epoch, s.stop_reason from holdfast.sessions s join holdfast.processes p on p.session_id = s.id
  where p.id = $id for no key update of s
)
update holdfast.processes p set pid = $pid, started_ticks = $startedTicks from locked where p.id = $id
returning p.status = 'running' and p.kill_reason is null and locked.stop_reason is null
  and locked.epoch = $epoch::bigint and locked.turn_id is not distinct from p.turn_id as is_wanted`,
  retryMs: TURN_RETRY_MS,
  values: (start: ProcessStart) => start,
  answer: ([row]: { is_wanted: boolean }[]) => row?.is_wanted === true,
});

export const endProcess = literalQuery({
  name: 'end-process',
  purpose: "Close a row that is open, and put the notice into the session's events.",
  locking: 'The session row, then the process.',
  text: `with locked as materialized (
  select s.id from holdfast.sessions s join holdfast.processes p on p.session_id = s.id where p.id = $id for no key update of s
),
ended as (
  update holdfast.processes p
  set status = $status, exit_code = $exitCode, exit_signal = $exitSignal, reason = $reason, output_bytes = $outputBytes, output_tail = $outputTail, ended_at = clock_timestamp()
  from locked where p.id = $id and p.session_id = locked.id and p.worker = $worker and p.status = 'running'
  returning p.id, p.session_id
),
notices as materialized (select id, session_id from ended where $notice::text is not null),
${dropOldestEventsSql('notices').join(',\n')},
queued as (
  insert into holdfast.system_events (id, session_id, text, context_key, is_trusted)
  select $noticeId, session_id, $notice, 'exec:' || id, $isTrusted from notices
)
update holdfast.sessions s set last_event_text = $notice, updated_at = clock_timestamp() from notices where s.id = notices.session_id`,
  retryMs: LASTING_RETRY_MS,
  values: ({ notice, ...end }: ProcessEnd) => ({
    ...end,
    outputTail: storableText(end.outputTail),
    notice: notice === null ? null : storableText(notice.text),
    noticeId: newId<SystemEventId>(),
    isTrusted: notice?.isTrusted ?? true,
  }),
});

export const closeLostProcesses = literalQuery({
  name: 'lost-processes',
  purpose: 'Close the rows of processes whose lease is not renewed, with a notice each.',
  locking:
    'The session rows in the order of their ids, leaving those that are locked to the next round, then the processes.',
  text: `with due as materialized (
  select p.id, p.session_id from holdfast.processes p
  where p.status = 'running' and p.lease_expires_at <= clock_timestamp() order by p.id limit ${LOST_PER_CHECK_MAX}
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
  retryMs: 0,
  values: () => [Array.from({ length: LOST_PER_CHECK_MAX }, () => newId<SystemEventId>())],
  answer: (lost: LostProcess[]) => lost,
});

export const renewProcesses = literalQuery({
  name: 'renew-processes',
  purpose: 'Renew leases. Answers the processes that still run.',
  locking: 'The processes.',
  text: `update holdfast.processes set lease_expires_at = clock_timestamp() + $leaseMs::bigint * interval '1 millisecond'
where worker = $worker and id = any ($ids::uuid[]) and status = 'running' returning id`,
  retryMs: 0,
  values: (lease: ProcessLease) => lease,
  answer: (rows: { id: string }[]): ReadonlySet<string> => new Set(rows.map(({ id }) => id)),
});

export const readProcessWishes = literalQuery({
  name: 'process-wishes',
  purpose: 'Read which processes are to end, and what they are given to read.',
  text: `select p.id, p.kill_reason as "killReason", coalesce(added.inputs, '[]') as inputs
from unnest($1::uuid[], $2::bigint[]) as wanted (id, last_input) join holdfast.processes p on p.id = wanted.id
left join lateral (
  select json_agg(json_build_object('n', i.n, 'data', i.data, 'isLast', i.is_last) order by i.n) as inputs
  from holdfast.process_inputs i where i.process_id = p.id and i.n > wanted.last_input
) as added on true
where p.kill_reason is not null or added.inputs is not null`,
  retryMs: 0,
  values: (processes: readonly { id: string; lastInput: number }[]) => [
    processes.map(({ id }) => id),
    processes.map(({ lastInput }) => lastInput),
  ],
  answer: (readControls: ProcessControl[]) => readControls,
});

export const listProcesses = literalQuery({
  name: 'list-processes',
  purpose: 'Read the processes of a session, running ones first.',
  text: `select ${PROCESS_FACTS_SQL} from holdfast.processes p join holdfast.sessions s on s.id = p.session_id
where s.key = $1 order by p.status = 'running' desc, p.id desc limit $2`,
  retryMs: TURN_RETRY_MS,
  values: (sessionKey: string, rowsMax: number) => [sessionKey, rowsMax],
  answer: (processes: ProcessFacts[]) => processes,
});

export const findProcess = literalQuery({
  name: 'find-process',
  purpose: 'Read a process of a session.',
  text: `select ${PROCESS_FACTS_SQL} from holdfast.processes p join holdfast.sessions s on s.id = p.session_id where s.key = $1 and p.id = $2`,
  retryMs: TURN_RETRY_MS,
  values: (sessionKey: string, id: string) => [sessionKey, id],
  answer: ([facts]: ProcessFacts[]) => facts ?? null,
});

export const askToKillProcess = literalQuery({
  name: 'kill-process',
  purpose: 'Ask for the end of a process that runs.',
  locking: 'The process.',
  text: `update holdfast.processes set kill_reason = coalesce(kill_reason, $2) where id = $1 and status = 'running'`,
  retryMs: TURN_RETRY_MS,
  values: (id: string, reason: string) => [id, reason],
});

export const addProcessInput = literalQuery({
  name: 'add-process-input',
  purpose: 'Store input of a process, once for each cause.',
  text: `insert into holdfast.process_inputs (process_id, cause_key, data, is_last) values ($processId, $causeKey, $data, $isLast) on conflict do nothing`,
  retryMs: TURN_RETRY_MS,
  values: (input: { processId: string; causeKey: string; data: string; isLast: boolean }) => ({
    ...input,
    data: storableText(input.data),
  }),
});

export const trimProcessInputs = literalQuery({
  name: 'trim-process-inputs',
  purpose: 'Delete the inputs of processes that ended long ago.',
  locking: 'The inputs.',
  text: `delete from holdfast.process_inputs i using holdfast.processes p
where p.id = i.process_id and p.status <> 'running' and p.ended_at < clock_timestamp() - $1::bigint * interval '1 millisecond'`,
  retryMs: TURN_RETRY_MS,
  values: (keptMs: number) => [keptMs],
});

export const notePollOfProcess = literalQuery({
  name: 'poll-process',
  purpose: 'Note what a poll has read. The same poll reads the same again.',
  locking: 'The process.',
  text: `update holdfast.processes set poll_key = $key,
  poll_from = case when poll_key is not distinct from $key then poll_from else poll_until end,
  poll_until = case when poll_key is not distinct from $key then poll_until else greatest(poll_until, $until::bigint) end
where id = $id returning poll_from::float8 as "from", poll_until::float8 as until`,
  retryMs: TURN_RETRY_MS,
  values: (poll: { id: string; key: string; until: number }) => poll,
  answer: ([row]: { from: number; until: number }[]) => row ?? { from: 0, until: 0 },
});

/** The functions of a worker's commands in the background, see `ProcessStore` of the tools. */
export function createProcessStore(database: Database) {
  const on =
    <Args extends unknown[], Answer>(send: (on: Database, ...args: Args) => Promise<Answer>) =>
    (...args: Args) =>
      send(database, ...args);
  return {
    begin: on(beginProcess),
    noteStart: on(startProcess),
    end: on(endProcess),
    renew: on(renewProcesses),
    readControls: on(readProcessWishes),
    takeLost: on(closeLostProcesses),
    list: on(listProcesses),
    find: on(findProcess),
    askToKill: on(askToKillProcess),
    addInput: on(addProcessInput),
    trimInputs: on(trimProcessInputs),
    notePoll: on(notePollOfProcess),
  };
}
