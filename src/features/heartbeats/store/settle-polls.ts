// Settling polls: the result of each, and the inbox rows of those that are made, in one statement. See heartbeats.ts.
import type { Committed } from '../../../kernel/queue/after-commit.ts';
import type { TaskTimes } from '../../../core/heartbeat.ts';
import type { MessageId, SessionId } from '../../../core/ids.ts';
import type { Database } from '../../../database/database.ts';
import { insertEventsSql } from '../../../kernel/events/events.ts';
import { sendQuery } from '../../../database/send-query.ts';
import { buildAfter, type RungColumns, ringSql } from '../../../kernel/queue/rings.ts';
import { isoSql } from '../../../kernel/sessions/session-facts.ts';
import { literal } from '../../../database/statement.ts';

/** The result of a claimed poll. */
export interface PollSettlement {
  id: string;
  owner: string;
  /** Null: it is skipped, for `reason`. */
  poll: { messageId: MessageId; body: string; route: string } | null;
  reason: string | null;
  /** The reason in this case, as a text for people. */
  detail: string | null;
  /** The current result of the gate; null: it was not checked. Kept unless the session turns out to be busy. */
  gateSha256: string | null;
  /** When tasks were last polled, if this changes it. */
  tasks: TaskTimes | null;
}

export interface SettledPoll {
  id: string;
  status: 'fired' | 'skipped';
  reason: string | null;
}

/** Why a poll is skipped whose session already has work. */
const BUSY = 'busy';

// A scheduled poll that finds its session with work is skipped; a requested one waits after that work.
export const SETTLE_HEARTBEATS = literal({
  name: 'settle-heartbeats',
  purpose: 'Settle polls, and put those that are made into their inboxes. Answers a row per poll that was ours.',
  locking: 'The polls, which no other process settles, then the session rows in the order of their ids.',
  text: `with input as materialized (
  select * from unnest($1::uuid[], $2::text[], $3::uuid[], $4::json[], $5::text[], $6::text[], $7::text[], $8::text[], $9::json[])
    as input (id, owner, message_id, body, route, reason, detail, gate_sha256, tasks)
),
held as materialized (
  select h.agent_id, h.session_id, h.scheduled_for, h.trigger, input.*
  from holdfast.heartbeats h join input on input.id = h.id
  where h.status = 'claimed' and h.owner = input.owner
  for no key update of h
),
locked as materialized (
  select s.*, s.turn_id is not null or s.waiting > 0 or s.owner is not null and s.lease_expires_at > clock_timestamp() as is_busy
  from holdfast.sessions s where s.id in (select session_id from held where message_id is not null) order by s.id for no key update
),
judged as materialized (
  select held.*, held.message_id is not null and held.trigger = 'interval'
      and (s.is_busy or row_number() over (partition by held.session_id, held.message_id is null order by held.id) > 1) as is_refused
  from held left join locked s on s.id = held.session_id
),
stored as (
  insert into holdfast.inbox (id, session_id, seq, kind, body, route, cause_key)
  select judged.message_id, judged.session_id, s.inbox_seq + row_number() over (partition by s.id order by judged.id), 'heartbeat',
    judged.body, judged.route, 'heartbeat:' || judged.id
  from judged join locked s on s.id = judged.session_id where judged.message_id is not null and not judged.is_refused
  on conflict do nothing
  returning id, session_id, seq, kind
),
counted as materialized (
  select session_id, max(seq) as last_seq, count(*)::int as arrived from stored group by session_id
),
updated_sessions as (
  update holdfast.sessions s set inbox_seq = counted.last_seq, waiting = s.waiting + counted.arrived
  from counted where s.id = counted.session_id
  returning s.*
),
rung_doorbells as (
  ${ringSql('updated_sessions')}
),
settled as (
  update holdfast.heartbeats h
  set status = case when judged.message_id is null or judged.is_refused then 'skipped' else 'fired' end,
    reason = case when judged.is_refused then '${BUSY}' else judged.reason end, detail = judged.detail,
    message_id = case when not judged.is_refused then judged.message_id end, owner = null, lease_expires_at = null,
    settled_at = clock_timestamp()
  from judged where h.id = judged.id
  returning h.id, h.status, h.reason, h.session_id
),
stated as (
  update holdfast.heartbeat_states hs
  set gate_sha256 = coalesce(found.gate_sha256, hs.gate_sha256), tasks = coalesce(found.tasks, hs.tasks),
    gate_checked_at = case when found.gate_sha256 is null then hs.gate_checked_at else clock_timestamp() end,
    updated_at = clock_timestamp()
  from (select distinct on (agent_id) * from judged where not is_refused and (gate_sha256 is not null or tasks is not null)
    order by agent_id, scheduled_for desc) as found
  where hs.agent_id = found.agent_id
),
inserted_events as (
  ${insertEventsSql(`select judged.session_id, null::uuid as turn_id, 'heartbeat.fired' as type,
      json_build_object('heartbeatId', judged.id, 'agentId', judged.agent_id, 'trigger', judged.trigger,
        'scheduledFor', ${isoSql('judged.scheduled_for')},
        'messageId', stored.id) as data, stored.seq * 2 as n
      from judged join stored on stored.id = judged.message_id
    union all
    select session_id, null, 'message.accepted',
      json_build_object('messageId', id, 'seq', seq, 'kind', kind, 'disposition', 'queued'), seq * 2 + 1 from stored`)}
)
select settled.id, settled.status, settled.reason, settled.session_id, rung_doorbells.lane, rung_doorbells.rings
from settled left join rung_doorbells on rung_doorbells.session_id = settled.session_id`,
});

/** Settles the polls that this process holds; those that another process has taken over are not in the answer. */
export async function settlePolls(
  database: Database,
  settlements: readonly PollSettlement[],
): Promise<Committed<SettledPoll>[]> {
  if (settlements.length === 0) return [];
  const values = [
    settlements.map(({ id }) => id),
    settlements.map(({ owner }) => owner),
    settlements.map(({ poll }) => poll?.messageId ?? null),
    settlements.map(({ poll }) => poll?.body ?? null),
    settlements.map(({ poll }) => poll?.route ?? null),
    settlements.map(({ reason }) => reason),
    settlements.map(({ detail }) => detail),
    settlements.map(({ gateSha256 }) => gateSha256),
    settlements.map(({ tasks }) => (tasks === null ? null : JSON.stringify(tasks))),
  ];
  const rows = await sendQuery<SettledRow>(database.hot, SETTLE_HEARTBEATS.prepared(values));
  return rows.map(({ id, status, reason, ...row }: SettledRow) => ({
    id,
    status,
    reason,
    after: buildAfter('heartbeat', row.session_id, row),
  }));
}

interface SettledRow extends SettledPoll, RungColumns {
  session_id: SessionId;
}
