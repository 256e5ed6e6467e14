// The statement that claims sessions (claim-session.ts).
import { CROWD_DEATHS_MAX, FEW_TURNS_MAX } from '../rules/process-deaths.ts';
import type { ClaimedSession } from './claimed-session.ts';
import { BLOCKS_SQL } from '../queue/model-blocks.ts';
import { isPausedSql } from '../queue/pause-sql.ts';
import { jsonObjectSql, literal } from '../../database/statement.ts';
import { stopSql } from './session-locks.ts';

/** The largest number of waiting messages that a claim reads; a turn claims fewer. */
const WAITING_READ_MAX = 200;
/**
 * The most characters of the bodies that are read of what waits, unless the first one has more: the
 * rest is read the next time.
 */
export const WAITING_CHARS_MAX = 4_000_000;

/** The most dropped messages that a prompt names, and how much of each is read. */
const OVERFLOW_READ_MAX = 50;
const OVERFLOW_CHARS_MAX = 1_300;

const INPUT_JSON = `json_build_object('id', i.id, 'seq', i.seq, 'kind', i.kind, 'body', i.body, 'route', i.route, 'mode', i.mode, 'traceparent', i.traceparent,
  'receivedAt', (extract(epoch from i.received_at) * 1000)::bigint)`;

/** The fields of the claimed session `c`. */
const SESSION_FIELDS: Record<keyof ClaimedSession, string> = {
  id: 'c.id',
  key: 'c.key',
  agentId: 'c.agent_id',
  kind: 'c.kind',
  lane: 'c.lane',
  parentId: 'c.parent_id',
  runId: 'c.run_id',
  depth: 'cardinality(c.ancestors)',
  label: 'c.label',
  channel: 'c.channel',
  queueMode: 'c.queue_mode',
  model: 'c.model',
  thinking: 'c.thinking',
  reasoning: 'c.reasoning',
  epoch: 'c.epoch',
  waiting: 'c.waiting',
  transcriptNo: 'c.transcript_no',
  transcriptVersion: 'c.transcript_version',
  entrySeq: 'c.entry_seq',
  leafSeq: 'c.leaf_seq',
  contextTokens: 'c.context_tokens',
  wasAborted: 'c.was_aborted',
  stop: stopSql('c'),
  queueDebounceMs: 'c.queue_debounce_ms',
  queueCap: 'c.queue_cap',
  steerSeq: 'c.steer_seq',
  overflowed: 'c.overflowed',
  heldSeq: 'c.held_seq',
  lostClaims: 'c.lost_claims',
  collectMax: 'c.collect_max',
  view: 'c.view',
};

// The workers that lost a lease, each with how many sessions it had claimed, with an open turn or
// without one yet: counted by the first claim that notices, because every claim takes one away. A
// worker that has stalled and claims again what it held keeps its sessions.
const LOST_SQL = `lost as materialized (
  select lost_owner.worker, coalesce(
    (select w.open_turns from holdfast.lost_workers w where w.worker = lost_owner.worker and not lost_owner.is_alive),
    (select count(*)::int from holdfast.turns t
      where t.ended_at is null and t.status in ('running', 'resuming') and t.worker = lost_owner.worker)
    + (select count(*)::int from holdfast.doorbells d join holdfast.sessions s on s.id = d.session_id
      where s.owner = lost_owner.worker and s.turn_id is null)) as open_turns
  from (
    select l.owner as worker, bool_or(l.owner = input.owner) as is_alive from locked l join input on input.session_id = l.id
    where (l.owner <> input.owner or l.turn_id is null) and l.lease_expires_at <= clock_timestamp()
    group by l.owner
  ) as lost_owner
)`;

// Of the claims that find a suspect, a worker is granted one, and none while it runs another: if
// the worker then crashes, the suspect is the likely cause. The others are tried again soon, in
// random order.
const SUSPECTS_SQL = `judged as materialized (
  select found.id, found.lost_worker, case when held.is_back then 'early' else found.verdict end as verdict,
    case when held.is_back then clock_timestamp() + (1 + 2 * random()) * interval '1 second' else found.gather_until end as look_at,
    found.counts, found.is_in_crowd
  from (
    select *, row_number() over (partition by claimant, verdict, is_suspect order by id) as place from found
  ) as found
  cross join lateral (
    select case when found.verdict = 'claimed' and found.is_suspect then found.place > 1 or exists (
      select from holdfast.turns t where t.ended_at is null and t.status in ('running', 'resuming') and t.worker = found.claimant
        and t.crowd_deaths >= ${CROWD_DEATHS_MAX} and t.id is distinct from found.turn_id
    ) or exists (
      select from holdfast.doorbells d join holdfast.sessions s on s.id = d.session_id where s.owner = found.claimant and s.turn_id is null
        and s.crowd_claims >= ${CROWD_DEATHS_MAX} and s.id <> found.id and s.lease_expires_at > clock_timestamp()
    ) else false end as is_back
  ) as held
),
inserted_lost_workers as (
  insert into holdfast.lost_workers (worker, open_turns)
  select worker, open_turns from lost where worker in (select lost_worker from judged where verdict = 'claimed') order by worker
  on conflict do nothing
)`;

// Whether the crash of the worker "lost" counts against the turn "t", and whether it was a crash of
// a worker with many turns: see kernel/rules/process-deaths.ts. A turn with this many of those was
// claimed as a suspect.
const COUNTS_SQL = `(lost.worker is not null and (lost.open_turns <= ${FEW_TURNS_MAX} or t.crowd_deaths >= ${CROWD_DEATHS_MAX}))::int`;
const IN_CROWD_SQL = `(lost.worker is not null and lost.open_turns > ${FEW_TURNS_MAX} and t.crowd_deaths < ${CROWD_DEATHS_MAX})::int`;

// The same of a claim of the session "l" that ended before a turn was open: its worker crashed or
// stalled while it assembled the prompt. A lease that runs out only after "lost" was read counts as
// nothing: without a row of "lost", nothing is known of its worker.
const IS_LOST_CLAIM_SQL = 'lost.worker is not null and l.turn_id is null and l.lease_expires_at <= clock_timestamp()';
const CLAIM_COUNTS_SQL = `(${IS_LOST_CLAIM_SQL} and (lost.open_turns <= ${FEW_TURNS_MAX} or l.crowd_claims >= ${CROWD_DEATHS_MAX}))::int`;
const CLAIM_IN_CROWD_SQL = `(${IS_LOST_CLAIM_SQL} and lost.open_turns > ${FEW_TURNS_MAX} and l.crowd_claims < ${CROWD_DEATHS_MAX})::int`;

// A statement that had to wait for a row sees the new version of that row, but everything else as
// it was when the statement began: the last answer of the turn that just ended would be missing. So
// it compares the row's version before and after the wait, and claims nothing that has changed
// (`stale`): the next statement sees all of it. Every write that concerns a session therefore
// updates its row. A worker may claim again what it holds itself: that is how it continues after a
// write whose result it does not know. (It never claims a session that it is running.)
export const CLAIM = literal({
  name: 'claim',
  purpose: 'Claim the sessions that are free and have work, and read what their turns start from.',
  locking:
    'The session rows in the order of their ids, then what belongs to them; the notes of lost workers, in the order of their names.',
  text: `with input as materialized (
  select * from unnest($1::uuid[], $2::text[], $3::int[], $4::bigint[], $5::bigint[])
    as input (session_id, owner, lease_ms, known_version, known_seq)
),
seen as materialized (
  select s.id, s.xmin as version from holdfast.sessions s where s.id = any ($1::uuid[])
),
locked as materialized (
  select s.*, s.xmin as version from holdfast.sessions s where s.id = any ($1::uuid[]) order by s.id for no key update
),
${LOST_SQL},
found as materialized (
  select l.id, input.owner as claimant, l.turn_id,
    -- A stopped one runs nothing: it need not wait until it can be run alone (G24).
    case when l.turn_id is null then l.crowd_claims + ${CLAIM_IN_CROWD_SQL} else t.crowd_deaths + ${IN_CROWD_SQL} end >= ${CROWD_DEATHS_MAX}
      and l.stop_reason is null as is_suspect,
    ${CLAIM_COUNTS_SQL} as counts, ${CLAIM_IN_CROWD_SQL} as is_in_crowd,
    case when l.owner <> input.owner then l.owner end as lost_worker,
    case
      when seen.version <> l.version then 'stale'
      when l.owner <> input.owner and l.lease_expires_at > clock_timestamp() then 'busy'
      when l.waiting = 0 and l.turn_id is null then 'idle'
      -- What it waits for has not happened. Without a doorbell, no process would claim it after a crash of this worker.
      when d.session_id is null and t.status = 'parked' then 'idle'
      -- A stop reaches it all the same (G24), and so does the worker that holds it. Its doorbell stays, and is rung when the pause ends.
      when l.stop_reason is null and (l.owner is distinct from input.owner or l.lease_expires_at <= clock_timestamp()) and ${isPausedSql('l')}
        then 'paused'
      when d.due_at > clock_timestamp() or gathering.until > clock_timestamp() then 'early'
      else 'claimed'
    end as verdict,
    gathering.until as gather_until
  from locked l join input on input.session_id = l.id join seen on seen.id = l.id
  left join holdfast.doorbells d on d.session_id = l.id
  left join holdfast.turns t on t.id = l.turn_id
  left join lost on lost.worker = l.owner and (l.owner <> input.owner or l.turn_id is null)
  cross join lateral (
    select case when d.quiet_ms is not null and l.turn_id is null
      then least(l.last_message_at + d.quiet_ms * interval '1 millisecond', d.gather_until) end as until
  ) as gathering
),
${SUSPECTS_SQL},
deferred as (
  update holdfast.doorbells d set due_at = judged.look_at, rings = d.rings + 1, rung_at = clock_timestamp()
  from judged where d.session_id = judged.id and judged.verdict = 'early' and judged.look_at > d.due_at
  returning d.session_id, d.lane, d.rings, extract(epoch from d.due_at - clock_timestamp()) * 1000 as due_in_ms
),
claimed as (
  update holdfast.sessions s
  set epoch = s.epoch + 1, owner = input.owner,
    lease_expires_at = clock_timestamp() + input.lease_ms * interval '1 millisecond',
    lost_claims = s.lost_claims + judged.counts, crowd_claims = s.crowd_claims + judged.is_in_crowd
  from judged join input on input.session_id = judged.id
  where s.id = judged.id and judged.verdict = 'claimed'
  returning s.*, input.known_version, input.known_seq, judged.lost_worker
),
-- The turn as it was before this statement: the attempt that has ended.
ended_attempts as (
  insert into holdfast.turn_attempts (turn_id, epoch, attempt, worker, claimed_at, ended_at, how, code)
  select t.id, t.epoch, t.attempt, t.worker, t.claimed_at,
    case when t.status = 'parked' then greatest(t.park_since, t.claimed_at) 
      when l.lease_expires_at is not null then least(l.lease_expires_at, clock_timestamp()) end,
    case when t.status = 'parked' then 'parked' when l.lease_expires_at is null then 'released' else 'lost' end,
    case when t.status = 'parked' then t.park_code end
  from claimed c join locked l on l.id = c.id join holdfast.turns t on t.id = c.turn_id
  on conflict do nothing
),
resumed as (
  update holdfast.turns t
  set attempt = t.attempt + (t.status <> 'parked')::int, epoch = c.epoch, worker = c.owner, status = 'resuming', claimed_at = clock_timestamp(),
    deaths = t.deaths + ${COUNTS_SQL}, crowd_deaths = t.crowd_deaths + ${IN_CROWD_SQL}
  from claimed c left join lost on lost.worker = c.lost_worker where t.id = c.turn_id
  returning t.*
)
select input.session_id, judged.verdict, case when c.id is not null then ${jsonObjectSql(SESSION_FIELDS)} end as session,
  deferred.lane as ring_lane, deferred.rings, deferred.due_in_ms,
  case when c.overflowed > 0 then (
    select json_agg(json_build_object('id', o.id, 'text', left(o.body ->> 'text', ${OVERFLOW_CHARS_MAX})) order by o.seq) from (
      select * from holdfast.inbox i where i.session_id = c.id and i.status = 'dropped' and i.is_summarized and i.turn_id is null
      order by i.seq limit ${OVERFLOW_READ_MAX}
    ) as o
  ) end as overflow,
  (c.known_version <> c.transcript_version) as is_whole,
  case when c.waiting > 0 then (
    select json_agg(${INPUT_JSON} order by i.seq) from (
      select *, coalesce(sum(length(i.body::text)) over (order by i.seq rows between unbounded preceding and 1 preceding), 0) as chars_before
      from holdfast.inbox i where i.session_id = c.id and i.status = 'waiting' order by i.seq limit ${WAITING_READ_MAX}
    ) as i where i.chars_before < ${WAITING_CHARS_MAX}
  ) end as inputs,
  (select json_agg(json_build_object('id', e.id, 'text', e.text, 'isTrusted', e.is_trusted,
      'createdAt', (extract(epoch from e.created_at) * 1000)::bigint) order by e.id)
    from holdfast.system_events e where e.session_id = c.id and e.state = 'queued') as events,
  -- The active entries that the worker does not know, a summary first.
  (select json_agg(entry order by entry.kind <> 'summary', entry.seq) from (
      select e.id, e.seq, e.parent_seq as "parentSeq", e.kind, e.role, e.turn_id as "turnId", e.content, e.provenance
      from holdfast.entries e
      where e.session_id = c.id and e.state = 'active' and e.transcript_no = c.transcript_no
        and e.seq > case when c.known_version = c.transcript_version then c.known_seq else 0 end
    ) as entry) as entries,
  case when t.id is not null then json_build_object('id', t.id, 'kind', t.kind, 'attempt', t.attempt, 'deaths', t.deaths,
    'model', t.model, 'thinking', t.thinking, 'promptSeq', t.prompt_seq, 'systemSha256', t.system_sha256,
    'toolsSha256', t.tools_sha256, 'calls', t.calls, 'retries', t.retries, 'steps', t.steps,
    'inputTokens', t.input_tokens, 'outputTokens', t.output_tokens, 'cacheReadTokens', t.cache_read_tokens,
    'cacheWriteTokens', t.cache_write_tokens, 'costMicros', t.cost_micros, 'unpricedCalls', t.unpriced_calls,
    'isSimulated', t.is_simulated, 'view', t.view,
    'lostCalls', t.calls - coalesce((select max(m.call_no) from holdfast.model_calls m
      where m.turn_id = t.id and coalesce(m.error ->> 'code', '') <> 'shutdown'), 0),
    'fallback', (select case when m.error -> 'fallback' is not null
        then json_build_object('model', m.error -> 'fallback', 'reason', m.error -> 'fallbackReason')
        when m.view -> 'fallback' is not null
        then json_build_object('model', m.view -> 'fallback' -> 'model', 'reason', m.view -> 'fallback' -> 'reason') end
      from holdfast.model_calls m where m.turn_id = t.id and m.purpose = 'answer' order by m.call_no desc limit 1),
    'park', case when t.park_code is not null then json_build_object('code', t.park_code, 'text', t.park_text, 'parks', t.parks,
      'waitedMs', (extract(epoch from clock_timestamp() - t.park_since) * 1000)::bigint) end,
    'hop', (select json_build_object('callNo', r.call_no, 'status', r.status, 'result', r.result, 'error', r.error, 'sha256', r.params_sha256, 'cache', r.cache,
        'queuedAt', (extract(epoch from r.queued_at) * 1000)::bigint)
      from holdfast.provider_requests r where r.turn_id = t.id and r.call_no = t.calls and r.status <> 'dropped'
        and not exists (select from holdfast.model_calls m where m.turn_id = t.id and m.call_no = t.calls)),
    'compaction', (select c.reason from holdfast.compactions c where c.turn_id = t.id and c.status = 'running' limit 1),
    'inputs', (select json_agg(${INPUT_JSON} order by i.seq) from holdfast.inbox i where i.turn_id = t.id and i.status <> 'dropped'),
    'toolCalls', (select json_agg(json_build_object('step', tc.step, 'ordinal', tc.ordinal, 'callId', tc.call_id,
        'status', tc.status, 'runs', tc.runs, 'result', tc.result, 'heldFor', tc.held_for,
        'heldLeftMs', (extract(epoch from tc.held_until - clock_timestamp()) * 1000)::bigint) order by tc.ordinal)
      from holdfast.tool_calls tc where tc.turn_id = t.id and tc.step = t.steps)) end as open_turn,
  ${BLOCKS_SQL} as blocks
from input
left join judged on judged.id = input.session_id
left join claimed c on c.id = input.session_id
left join deferred on deferred.session_id = input.session_id
left join resumed t on t.session_id = input.session_id`,
});
