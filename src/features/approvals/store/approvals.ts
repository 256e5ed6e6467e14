// Requests for approvals. The row of the call in the ledger says whether it still waits: a request is open only as long as it does.
import type { Committed } from '../../../kernel/queue/after-commit.ts';
import type { Lane } from '../../../config.ts';
import type { SessionId } from '../../../core/ids.ts';
import type { InboundMessage } from '../../../core/inbound.ts';
import { keyedSql, type KeyedRequest } from '../../../database/idempotency.ts';
import { literalQuery } from '../../../database/literal-query.ts';
import { insertEventsSql } from '../../../kernel/events/events.ts';
import { buildRings } from '../../../kernel/queue/rings.ts';
import { heldWokenSql, IS_HELD_SQL } from '../../../kernel/turn/journal/held-results.ts';
import type { ApprovalStatus } from '../rules.ts';

export interface SettledApproval {
  id: string;
  ordinal: number;
  callId: string;
  whatSha256: string;
  status: ApprovalStatus;
  decidedBy: string | null;
  note: string | null;
  /** How long it could be decided. */
  waitedMs: number;
}

const decidedEvents = (rows: string): string => `inserted_events as (
  ${insertEventsSql(`select session_id, turn_id, 'approval.decided' as type,
      json_build_object('approvalId', id, 'tool', tool, 'status', status, 'decidedBy', decided_by) as data, 0 as n from ${rows}`)}
)`;

/**
 * SQL of whether the call of a request `a` waits; null: it does not. A subquery with a limit is asked for each row, by its keys: as a join, the planner may
 * read all turns.
 */
export const HOLDS_CALL_SQL = `(select true from holdfast.turns t join holdfast.tool_calls c on c.turn_id = t.id
    where t.id = a.turn_id and t.ended_at is null and c.step = a.step and c.ordinal = a.ordinal and ${IS_HELD_SQL} limit 1)`;

/** True for an approval that was given in the session for a call that is the same. */
export const findGiven = literalQuery({
  name: 'find-given-approval',
  purpose: 'Read whether a call of a session was approved before.',
  text: `select from holdfast.approvals a where a.session_id = $sessionId and a.what_sha256 = $whatSha256 and a.status = 'approved' limit 1`,
  values: (sessionId: string, whatSha256: string) => ({ sessionId, whatSha256 }),
  answer: (rows: object[]) => rows.length > 0,
});

/** The requests of a step, those that are over marked as such. */
export const settleApprovals = literalQuery({
  name: 'settle-approvals',
  purpose: 'Read the requests for approvals of a step of a turn; those whose time is over are marked as expired.',
  locking: 'The requests that it marks.',
  text: `with settled as (
  update holdfast.approvals a set status = 'expired', decided_at = clock_timestamp()
  where a.turn_id = $turnId and a.step = $step and a.status = 'open' and a.expires_at <= clock_timestamp()
  returning a.*
),
${decidedEvents('settled')}
select a.id, a.ordinal, a.call_id as "callId", a.what_sha256 as "whatSha256", coalesce(settled.status, a.status) as status,
  a.decided_by as "decidedBy", a.note, (extract(epoch from a.expires_at - a.requested_at) * 1000)::float8 as "waitedMs"
from holdfast.approvals a left join settled on settled.id = a.id where a.turn_id = $turnId and a.step = $step`,
  values: (turnId: string, step: number) => ({ turnId, step }),
  answer: (rows: SettledApproval[]) => rows,
});

/** What was shown of a call; undefined: it needed no approval. */
export const readShownInput = literalQuery({
  name: 'read-shown-input',
  purpose: 'Read what was shown of a call that needed an approval.',
  text: `select a.input from holdfast.approvals a where a.turn_id = $turnId and a.step = $step and a.ordinal = $ordinal`,
  values: (call: { turnId: string; step: number; ordinal: number }) => call,
  answer: ([row]: { input: unknown }[]) => row?.input,
});

export interface Decision {
  id: string;
  status: 'approved' | 'denied';
  /** Who decides, for people and for the model. */
  by: string;
  note: string | null;
}

interface DecidedRow {
  sessionId: SessionId;
  lane: Lane;
  rings: string;
}

/** Decides about a request that is open, and makes its turn due. The first decision holds; `isFirst` is false for another. */
export const decideApproval = literalQuery({
  name: 'decide-approval',
  purpose:
    'Decide about a request whose call waits and whose time is not over, and make its turn due. Answers its ring if it did.',
  locking: 'The session row, then the call, the request and the doorbell.',
  text: `with locked as materialized (
  select s.id, s.turn_id from holdfast.approvals a join holdfast.sessions s on s.id = a.session_id where a.id = $id for no key update of s
),
waiting as materialized (
  select c.turn_id from locked join holdfast.approvals a on a.id = $id
  join holdfast.tool_calls c on c.turn_id = locked.turn_id and c.step = a.step and c.ordinal = a.ordinal
  where a.turn_id = locked.turn_id and c.held_for = 'approval' and c.call_id = a.call_id and ${IS_HELD_SQL}
  for update of c
),
decided as (
  update holdfast.approvals a set status = $status, decided_by = $by, decided_at = clock_timestamp(), note = $note
  from waiting where a.id = $id and a.turn_id = waiting.turn_id and a.status = 'open' and a.expires_at > clock_timestamp()
  returning a.*
),
${decidedEvents('decided')},
${keyedSql(`select json_build_object('status', status) from decided`)},
${heldWokenSql('decided')}
select woken.session_id as "sessionId", woken.lane, woken.rings from woken`,
  values: ({ id, status, by, note }: Decision, idempotency: KeyedRequest | null) => ({
    id,
    status,
    by,
    note,
    ...idempotency,
  }),
  answer: ([row]: DecidedRow[]): Committed<{ isFirst: boolean }> =>
    row === undefined
      ? { isFirst: false }
      : { isFirst: true, after: { changed: [row.sessionId], rings: buildRings('followup', row.sessionId, row) } },
});

/** How many requests one round settles. */
const SETTLED_MAX = 500;

/** Marks requests whose call does not wait any more as cancelled, and those whose time is over as expired. */
export const settleLeft = literalQuery({
  name: 'settle-left-approvals',
  purpose: 'Mark open requests as expired or cancelled: their time is over, or their call does not wait any more.',
  locking: 'The requests that it marks, skipping those that are locked.',
  pool: 'views',
  text: `with open_requests as materialized (
  select a.id, ${HOLDS_CALL_SQL} as holds, a.expires_at <= clock_timestamp() as is_late
  from holdfast.approvals a where a.status = 'open'
),
left_over as materialized (
  select id, case when holds then 'expired' else 'cancelled' end as status from open_requests
  where is_late or holds is not true order by id limit ${SETTLED_MAX}
),
settled as (
  update holdfast.approvals a set status = left_over.status, decided_at = clock_timestamp()
  from left_over where a.id = left_over.id and a.status = 'open'
  returning a.*
),
${decidedEvents('settled')}
select count(*)::int as n from settled`,
  answer: ([row]: { n: number }[]) => row?.n ?? 0,
});

/** The request of a call, with the message that its turn answers; null: it has none. */
export const findRequest = literalQuery({
  name: 'find-request-of-call',
  purpose: 'Read the request for an approval of a call, and the message that its turn answers.',
  pool: 'views',
  text: `select a.id, (select case when i.kind = 'message' then i.body end from holdfast.inbox i
  where i.turn_id = a.turn_id order by i.seq desc limit 1) as message
from holdfast.approvals a where a.turn_id = $turnId and a.step = $step and a.ordinal = $ordinal`,
  values: ({ turnId, step, ordinal }: { turnId: string; step: number; ordinal: number }) => ({ turnId, step, ordinal }),
  answer: ([row]: { id: string; message: InboundMessage | null }[]) => row ?? null,
});
