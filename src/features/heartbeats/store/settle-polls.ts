// Settling polls: the result of each, and the inputs of those that are made, in one transaction. It
// locks the polls, which no other process settles, then the sessions. A crash before the commit
// leaves the polls claimed: another scheduler checks them when their leases have expired. See
// heartbeats.ts.
import type { Committed } from '../../../kernel/queue/after-commit.ts';
import type { TaskTimes } from '../../../core/heartbeat.ts';
import type { MessageId, SessionId } from '../../../core/ids.ts';
import type { Database } from '../../../database/database.ts';
import { buildChange, mergeAll } from '../../../kernel/queue/rings.ts';
import { literalQuery } from '../../../database/literal-query.ts';
import { transaction } from '../../../database/transaction.ts';
import { putInputs } from '../../../kernel/inbox/put-inputs.ts';
import { isoSql } from '../../../kernel/sessions/session-facts.ts';

/** The result of a claimed poll. */
export interface PollSettlement {
  id: string;
  owner: string;
  /** Null: it is skipped, for `reason`. */
  poll: { messageId: MessageId; body: string; route: string } | null;
  reason: string | null;
  /** The reason in this case, as a text for people. */
  detail: string | null;
  /**
   * The current result of the gate; null: it was not checked. Kept unless the session turns out to
   * be busy.
   */
  gateSha256: string | null;
  /** When tasks were last polled, if this changes it. */
  tasks: TaskTimes | null;
}

export interface SettledPoll {
  id: string;
  status: 'fired' | 'skipped';
  reason: string | null;
}

/**
 * Settles the polls that this process holds; those that another process has taken over are not in
 * the answer.
 */
export async function settlePolls(
  database: Database,
  settlements: readonly PollSettlement[],
): Promise<Committed<{ settled: SettledPoll[] }>> {
  if (settlements.length === 0) return { settled: [] };
  return transaction(database.hot, async (tx) => {
    const [held, busy] = await Promise.all([lockPolls(tx, settlements), lockPolled(tx, settlements)]);
    const judged = judgePolls(held, busy, settlements);
    void storeResults(tx, judged);
    const made = judged.filter(isMade);
    const put = putInputs(tx, {
      inputs: made.map(({ id, sessionId, poll }) => ({
        id: poll.messageId,
        sessionId,
        kind: 'heartbeat',
        body: poll.body,
        route: poll.route,
        causeKey: `heartbeat:${id}`,
      })),
      events: made.map(({ id, sessionId, agentId, trigger, scheduledFor, poll: { messageId } }) => ({
        sessionId,
        type: 'heartbeat.fired',
        data: { heartbeatId: id, agentId, trigger, scheduledFor, messageId },
      })),
    });
    const settled = judged.map(({ id, status, reason }) => ({ id, status, reason }));
    const changes = judged.map(({ sessionId }) => ({ after: buildChange(sessionId) }));
    return async () => ({ settled, after: mergeAll([...changes, await put]) });
  });
}

interface JudgedPoll extends PollSettlement, HeldPoll {
  status: 'fired' | 'skipped';
}

/** A scheduled poll whose session has work is skipped; a requested one waits after that work. */
function judgePolls(
  held: readonly HeldPoll[],
  busy: ReadonlySet<SessionId>,
  settlements: readonly PollSettlement[],
): JudgedPoll[] {
  const working = new Set(busy);
  return held.map((poll) => {
    // It is one of these.
    const settlement = settlements.find(({ id }) => id === poll.id)!;
    const isRefused = settlement.poll !== null && poll.trigger === 'interval' && working.has(poll.sessionId);
    if (settlement.poll !== null) working.add(poll.sessionId);
    if (isRefused)
      return { ...settlement, ...poll, poll: null, status: 'skipped', reason: BUSY, gateSha256: null, tasks: null };
    return { ...settlement, ...poll, status: settlement.poll === null ? 'skipped' : 'fired' };
  });
}

const BUSY = 'busy';

const isMade = (judged: JudgedPoll): judged is JudgedPoll & { poll: NonNullable<JudgedPoll['poll']> } =>
  judged.poll !== null;

interface HeldPoll {
  id: string;
  agentId: string;
  sessionId: SessionId;
  trigger: 'interval' | 'manual';
  scheduledFor: string;
}

export const lockPolls = literalQuery({
  name: 'lock-polls',
  purpose: 'Lock the polls that this process holds, of these. Answers them in the order of their ids.',
  locking: 'The polls in the order of their ids.',
  text: `select h.id, h.agent_id as "agentId", h.session_id as "sessionId", h.trigger, ${isoSql('h.scheduled_for')} as "scheduledFor"
from holdfast.heartbeats h join unnest($1::uuid[], $2::text[]) as input (id, owner) on input.id = h.id and input.owner = h.owner
where h.status = 'claimed' order by h.id for no key update of h`,
  values: (settlements: readonly PollSettlement[]) => [
    settlements.map(({ id }) => id),
    settlements.map(({ owner }) => owner),
  ],
  answer: (polls: HeldPoll[]) => polls,
});

export const lockPolled = literalQuery({
  name: 'lock-polled',
  purpose: 'Lock the sessions of polls that are to be made. Answers those that have work.',
  locking: 'The session rows in the order of their ids.',
  text: `with locked as materialized (
  select s.id, s.turn_id is not null or s.waiting > 0 or s.owner is not null and s.lease_expires_at > clock_timestamp() as is_busy
  from holdfast.sessions s where s.id = any (array(select h.session_id from holdfast.heartbeats h where h.id = any ($1::uuid[])))
  order by s.id for no key update
)
select id from locked where is_busy`,
  values: (settlements: readonly PollSettlement[]) => [
    settlements.filter(({ poll }) => poll !== null).map(({ id }) => id),
  ],
  answer: (sessions: { id: SessionId }[]) => new Set(sessions.map(({ id }) => id)),
});

export const storeResults = literalQuery({
  name: 'settle-heartbeats',
  purpose: 'Store the results of locked polls, and what they have found for the next polls of their agents.',
  locking: 'The polls, which the transaction has locked, then the rows of their agents.',
  text: `with judged as materialized (
  select * from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::uuid[], $6::text[], $7::json[])
    as judged (id, status, reason, detail, message_id, gate_sha256, tasks)
),
settled as (
  update holdfast.heartbeats h
  set status = judged.status, reason = judged.reason, detail = judged.detail, message_id = judged.message_id, owner = null,
    lease_expires_at = null, settled_at = clock_timestamp()
  from judged where h.id = judged.id
)
update holdfast.heartbeat_states hs
set gate_sha256 = coalesce(found.gate_sha256, hs.gate_sha256), tasks = coalesce(found.tasks, hs.tasks),
  gate_checked_at = case when found.gate_sha256 is null then hs.gate_checked_at else clock_timestamp() end,
  updated_at = clock_timestamp()
from (select distinct on (h.agent_id) h.agent_id, judged.gate_sha256, judged.tasks from judged join holdfast.heartbeats h on h.id = judged.id
  where judged.gate_sha256 is not null or judged.tasks is not null order by h.agent_id, h.scheduled_for desc) as found
where hs.agent_id = found.agent_id`,
  values: (judged: readonly JudgedPoll[]) => [
    judged.map(({ id }) => id),
    judged.map(({ status }) => status),
    judged.map(({ reason }) => reason),
    judged.map(({ detail }) => detail),
    judged.map(({ poll }) => poll?.messageId ?? null),
    judged.map(({ gateSha256 }) => gateSha256),
    judged.map(({ tasks }) => (tasks === null ? null : JSON.stringify(tasks))),
  ],
});
