// Heartbeats: the polls of agents. A poll that is due becomes a row before a scheduler checks
// whether it needs a model call; the result settles the row, and a poll that is made becomes an
// inbox row in the same transaction (settle-poll.ts).
//
//   due ──claim──▶ claimed ──settle──▶ fired      the session has the poll in its inbox
//                    │  ▲       └────▶ skipped    with the reason
//                    └──┘ its scheduler crashed: another one claims it when the lease has expired
import type { SessionId } from '../../../core/ids.ts';
import type { TaskTimes } from '../../../core/heartbeat.ts';
import { keyedSql, type KeyedRequest } from '../../../database/idempotency.ts';
import { lastUrlSql } from '../../../kernel/inbox/last-inputs.ts';
import { SOON_SQL } from '../../../kernel/queue/work-watch.ts';
import { literalQuery } from '../../../database/literal-query.ts';

/** An agent that is polled. */
export interface PolledAgent {
  agentId: string;
  sessionId: SessionId;
  everyMs: number;
  /** The first poll, when there is none yet or the interval has changed. */
  firstAtMs: number;
}

/** A poll that this process has claimed until its lease expires. */
export interface ClaimedPoll {
  id: string;
  agentId: string;
  sessionId: SessionId;
  scheduledFor: Date;
  trigger: 'interval' | 'manual';
  /** True when the session has something to do already. */
  isBusy: boolean;
  /** The context keys of the system events that wait for its next prompt. */
  contextKeys: (string | null)[];
  /** Where the last message of the session wanted its answer; null: nowhere in particular. */
  lastUrl: string | null;
  /** The last result of the gate; null: it was never checked. */
  gateSha256: string | null;
  tasks: TaskTimes;
  /** The database's time. */
  nowMs: number;
}

export const syncPolledAgents = literalQuery({
  name: 'sync-heartbeats',
  purpose:
    'Make the rows of the polled agents equal to the configuration: new ones, changed ones, and those that are no longer polled.',
  locking: "The agents' rows.",
  pool: 'views',
  text: `with input as (select * from unnest($1::text[], $2::uuid[], $3::bigint[], $4::timestamptz[]) as input (agent_id, session_id, every_ms, first_at)),
stopped as (
  update holdfast.heartbeat_states hs set next_at = null, updated_at = clock_timestamp()
  where hs.next_at is not null and hs.agent_id <> all ($1::text[])
)
insert into holdfast.heartbeat_states as hs (agent_id, session_id, every_ms, next_at)
select agent_id, session_id, every_ms, first_at from input
on conflict (agent_id) do update
set session_id = excluded.session_id, every_ms = excluded.every_ms, next_at = excluded.next_at, updated_at = clock_timestamp()
where hs.every_ms <> excluded.every_ms or hs.next_at is null or hs.session_id <> excluded.session_id`,
  values: (agents: readonly PolledAgent[]) => [
    agents.map(({ agentId }) => agentId),
    agents.map(({ sessionId }) => sessionId),
    agents.map(({ everyMs }) => everyMs),
    agents.map(({ firstAtMs }) => new Date(firstAtMs)),
  ],
});

// The next poll follows from the one that is due; missed polls are not caught up.
export const claimPolls = literalQuery({
  name: 'claim-heartbeats',
  purpose:
    'Claim the polls that are due, and those of schedulers that have crashed or missed the answer of their claim, but for those in `checking`, which the owner is checking; at most as many as there are `ids` for them.',
  locking: "The agents' rows, skipping those that are locked, then the polls in the same way.",
  retryMs: 0,
  text: `with clock as materialized (select clock_timestamp() as now),
due as materialized (
  select hs.agent_id, hs.session_id, hs.next_at, hs.every_ms * interval '1 millisecond' as every
  from holdfast.heartbeat_states hs where hs.next_at <= (select now from clock)
  order by hs.next_at limit cardinality($ids::uuid[])
  for no key update of hs skip locked
),
numbered as materialized (
  select due.*, ($ids::uuid[])[row_number() over (order by due.next_at, due.agent_id)] as id from due
),
advanced as (
  update holdfast.heartbeat_states hs
  set next_at = due.next_at + due.every * (1 + floor(extract(epoch from clock.now - due.next_at) / extract(epoch from due.every)))
  from due, clock where hs.agent_id = due.agent_id
),
opened as (
  insert into holdfast.heartbeats (id, agent_id, session_id, scheduled_for, trigger, status, owner, lease_expires_at)
  select id, agent_id, session_id, next_at, 'interval', 'claimed', $owner, clock.now + $leaseMs * interval '1 millisecond' from numbered, clock
  on conflict (agent_id, scheduled_for) do nothing
  returning id, agent_id, session_id, scheduled_for, trigger
),
left_behind as materialized (
  select h.id from holdfast.heartbeats h
  where h.status = 'claimed' and (h.lease_expires_at <= (select now from clock) or h.owner = $owner) and h.id <> all ($checking::uuid[])
  order by h.lease_expires_at limit cardinality($ids::uuid[]) for no key update of h skip locked
),
taken as (
  update holdfast.heartbeats h set owner = $owner, lease_expires_at = clock.now + $leaseMs * interval '1 millisecond'
  from left_behind, clock where h.id = left_behind.id
  returning h.id, h.agent_id, h.session_id, h.scheduled_for, h.trigger
),
ours as (select * from opened union all select * from taken)
select ours.id, ours.agent_id as "agentId", ours.session_id as "sessionId", ours.scheduled_for as "scheduledFor", ours.trigger,
  coalesce(s.turn_id is not null or s.waiting > 0, false) as "isBusy", hs.gate_sha256 as "gateSha256", coalesce(hs.tasks, '{}') as tasks,
  array(select e.context_key from holdfast.system_events e where e.session_id = ours.session_id and e.state = 'queued') as "contextKeys",
  ${lastUrlSql('ours.session_id')} as "lastUrl",
  (extract(epoch from clock.now) * 1000)::bigint::float8 as "nowMs"
from ours cross join clock left join holdfast.sessions s on s.id = ours.session_id
left join holdfast.heartbeat_states hs on hs.agent_id = ours.agent_id
order by ours.scheduled_for`,
  values: (claim: { owner: string; leaseMs: number; ids: readonly string[]; checking: readonly string[] }) => claim,
  answer: (polls: ClaimedPoll[]) => polls,
});

/**
 * SQL of whether a poll is due soon, or is being checked by the owner, or by a scheduler that may
 * have crashed.
 */
export const HAS_POLLS_SQL = `exists (select from holdfast.heartbeat_states hs where hs.next_at <= ${SOON_SQL})
or exists (select from holdfast.heartbeats h where h.status = 'claimed' and (h.lease_expires_at <= ${SOON_SQL} or h.owner = $pollOwner))`;

export const renewPolls = literalQuery({
  name: 'renew-heartbeats',
  purpose: 'Renew the leases of the polls that an owner is checking. Answers their ids.',
  locking: 'The polls.',
  retryMs: 0,
  text: `update holdfast.heartbeats set lease_expires_at = clock_timestamp() + $leaseMs * interval '1 millisecond'
where status = 'claimed' and owner = $owner returning id`,
  values: (lease: { owner: string; leaseMs: number }) => lease,
  answer: (rows: { id: string }[]): ReadonlySet<string> => new Set(rows.map(({ id }) => id)),
});

export const nextPollInMs = literalQuery({
  name: 'next-heartbeat',
  purpose: 'Read in how many milliseconds the next poll is due, or its lease expires; null: there is none.',
  retryMs: 0,
  text: `select extract(epoch from least(
  (select min(next_at) from holdfast.heartbeat_states where next_at is not null),
  (select min(lease_expires_at) from holdfast.heartbeats where status = 'claimed')) - clock_timestamp())::float8 * 1000 as "inMs"`,
  answer: ([row]: { inMs: number | null }[]) => (row?.inMs == null ? null : Math.max(0, row.inMs)),
});

/** A poll that a caller requests. */
interface ManualPoll {
  id: string;
  agentId: string;
  sessionId: SessionId;
  owner: string;
  leaseMs: number;
  idempotency?: KeyedRequest | null;
}

export const openManualPoll = literalQuery({
  name: 'open-heartbeat',
  purpose:
    'Open a poll on request; this process settles it, or another one if it crashes. Answers the same when it is sent again.',
  text: `with opened as (
  insert into holdfast.heartbeats (id, agent_id, session_id, scheduled_for, trigger, status, owner, lease_expires_at)
  values ($id, $agentId, $sessionId, clock_timestamp(), 'manual', 'claimed', $owner, clock_timestamp() + $leaseMs * interval '1 millisecond')
  on conflict (id) do nothing
  returning id, scheduled_for
),
${keyedSql(`select json_build_object('id', opened.id) from opened`)}
select coalesce(opened.scheduled_for, known.scheduled_for) as "scheduledFor", ${lastUrlSql('$sessionId')} as "lastUrl",
  floor(extract(epoch from clock_timestamp()) * 1000)::float8 as "nowMs"
from (select 1) as one left join opened on true left join holdfast.heartbeats known on known.id = $id`,
  values: (poll: ManualPoll) => ({ ...poll, ...poll.idempotency }),
  // The final select has one row.
  answer: ([row]: Pick<ClaimedPoll, 'scheduledFor' | 'lastUrl' | 'nowMs'>[]) => row!,
});

const TRIMMED_MAX = 5_000;

export const trimPolls = literalQuery({
  name: 'trim-heartbeats',
  purpose:
    'Delete polls older than so many milliseconds, a bounded number at a time. Answers whether there may be more of them. Ids grow with time.',
  locking: 'The polls.',
  retryMs: 0,
  text: `with oldest as materialized (select h.id, h.created_at from holdfast.heartbeats h order by h.id limit ${TRIMMED_MAX})
delete from holdfast.heartbeats h using oldest
where h.id = oldest.id and oldest.created_at < clock_timestamp() - $1 * interval '1 millisecond' returning 1`,
  values: (keptMs: number) => [keptMs],
  answer: (rows) => rows.length === TRIMMED_MAX,
});
