// Settling a poll: its result, and its input if it is made, in one transaction. It locks the poll,
// which no other process settles, then the session. A crash before the commit leaves the poll
// claimed: another scheduler checks it when its lease has expired. See heartbeats.ts.
import type { Committed } from '../../../kernel/queue/after-commit.ts';
import type { TaskTimes } from '../../../core/heartbeat.ts';
import type { MessageId, SessionId } from '../../../core/ids.ts';
import type { Database } from '../../../database/database.ts';
import { buildChange, mergeAll } from '../../../kernel/queue/rings.ts';
import { literalQuery } from '../../../database/literal-query.ts';
import { transaction } from '../../../database/transaction.ts';
import { putInputs } from '../../../kernel/inbox/put-inputs.ts';
import { isoSql } from '../../../kernel/sessions/session-facts.ts';

/** What was found about a claimed poll. */
export interface JudgedPoll {
  /** Absent: it is skipped, for `reason`. */
  poll?: { messageId: MessageId; body: string; route: string };
  reason?: string;
  /** The reason in this case, as a text for people. */
  detail?: string;
  /**
   * The current result of the gate; absent: it was not checked. Kept unless the session turns out
   * to be busy.
   */
  gateSha256?: string;
  /** When tasks were last polled, if this changes it. */
  tasks?: TaskTimes | null;
}

/** With the claim that it is about. */
export interface PollSettlement extends JudgedPoll {
  id: string;
  owner: string;
}

export interface SettledPoll {
  status: 'fired' | 'skipped';
  reason: string | null;
}

/** Settles a poll that this process holds; null: another process has taken it over. */
export async function settlePoll(
  database: Database,
  settlement: PollSettlement,
): Promise<Committed<{ settled: SettledPoll | null }>> {
  return transaction(database.hot, async (tx) => {
    const [held, isBusy] = await Promise.all([lockPoll(tx, settlement), lockPolled(tx, settlement)]);
    if (held === null) return { settled: null };
    const { agentId, sessionId, trigger, scheduledFor } = held;
    // A scheduled poll whose session has work is skipped; a requested one waits after that work.
    const isRefused = settlement.poll !== undefined && isBusy && trigger === 'interval';
    const judged: JudgedPoll = isRefused ? { reason: 'busy' } : settlement;
    const { poll, reason = null } = judged;
    const settled: SettledPoll = { status: poll === undefined ? 'skipped' : 'fired', reason };
    const { id } = settlement;
    void storeResult(tx, { ...judged, ...settled, id });
    const after = buildChange(sessionId);
    if (poll === undefined) return { settled, after };
    const { messageId, ...input } = poll;
    const data = { heartbeatId: id, agentId, trigger, scheduledFor, messageId };
    const put = putInputs(tx, {
      inputs: [{ ...input, id: messageId, sessionId, kind: 'heartbeat', causeKey: `heartbeat:${id}` }],
      events: [{ sessionId, type: 'heartbeat.fired', data }],
    });
    return async () => ({ settled, after: mergeAll([{ after }, await put]) });
  });
}

interface HeldPoll {
  agentId: string;
  sessionId: SessionId;
  trigger: 'interval' | 'manual';
  scheduledFor: string;
}

export const lockPoll = literalQuery({
  name: 'lock-poll',
  purpose: 'Lock a poll if this process holds it; null: it does not.',
  locking: 'The poll.',
  text: `select h.agent_id as "agentId", h.session_id as "sessionId", h.trigger, ${isoSql('h.scheduled_for')} as "scheduledFor"
from holdfast.heartbeats h where h.id = $1 and h.owner = $2 and h.status = 'claimed' for no key update of h`,
  values: ({ id, owner }: PollSettlement) => [id, owner],
  answer: ([poll]: HeldPoll[]) => poll ?? null,
});

export const lockPolled = literalQuery({
  name: 'lock-polled',
  purpose: 'Lock the session of a poll that is to be made. Answers whether it has work.',
  locking: 'The session row.',
  text: `select s.turn_id is not null or s.waiting > 0 or s.owner is not null and s.lease_expires_at > clock_timestamp() as "isBusy"
from holdfast.sessions s where s.id = (select h.session_id from holdfast.heartbeats h where h.id = $1) for no key update`,
  values: ({ id, poll }: PollSettlement) => [poll === undefined ? null : id],
  answer: ([session]: { isBusy: boolean }[]) => session?.isBusy === true,
});

export const storeResult = literalQuery({
  name: 'settle-heartbeat',
  purpose: 'Store the result of a locked poll, and what it has found for the next poll of its agent.',
  locking: 'The poll, which the transaction has locked, then the row of its agent.',
  text: `with settled as (
  update holdfast.heartbeats h
  set status = $status, reason = $reason, detail = $detail, message_id = $messageId, owner = null, lease_expires_at = null,
    settled_at = clock_timestamp()
  where h.id = $id returning h.agent_id
)
update holdfast.heartbeat_states hs
set gate_sha256 = coalesce($gateSha256::text, hs.gate_sha256), tasks = coalesce($tasks::json, hs.tasks),
  gate_checked_at = case when $gateSha256::text is null then hs.gate_checked_at else clock_timestamp() end,
  updated_at = clock_timestamp()
from settled where hs.agent_id = settled.agent_id and ($gateSha256::text is not null or $tasks::json is not null)`,
  values: ({ poll, tasks, ...result }: Omit<JudgedPoll, 'reason'> & SettledPoll & { id: string }) => ({
    ...result,
    messageId: poll?.messageId,
    tasks: tasks && JSON.stringify(tasks),
  }),
});
