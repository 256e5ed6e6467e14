// Requests for approvals. The row of the call in the ledger says whether it still waits: a request
// is open only as long as it does.
import type { InboundMessage } from '../../../core/inbound.ts';
import type { Database } from '../../../database/database.ts';
import { storeKey, type KeyedRequest } from '../../../database/idempotency.ts';
import { literalQuery } from '../../../database/literal-query.ts';
import { selectRecordsSql, toRecords, type SqlColumns } from '../../../database/statement.ts';
import { transaction, type Transaction } from '../../../database/transaction.ts';
import { insertEventsSql } from '../../../kernel/events/events.ts';
import type { Committed } from '../../../kernel/queue/after-commit.ts';
import type { HeldIntent } from '../../../kernel/turn/journal/journal.ts';
import { IS_HELD_SQL, settleCalls } from '../../../kernel/turn/journal/settle-calls.ts';
import type { ApprovalStatus } from '../rules.ts';

/** A request as it is stored with its call. */
export interface NewApproval {
  id: string;
  tool: string;
  input: unknown;
  folder: string;
  whatSha256: string;
  reasons: readonly string[];
}

const NEW_APPROVALS: SqlColumns<HeldIntent & { facts: NewApproval }> = {
  step: ['int', ({ step }) => step],
  ordinal: ['int', ({ ordinal }) => ordinal],
  for_ms: ['bigint', ({ forMs }) => Math.ceil(forMs)],
  id: ['uuid', ({ facts }) => facts.id],
  tool: ['text', ({ facts }) => facts.tool],
  input: ['json', ({ facts }) => JSON.stringify(facts.input) ?? 'null'],
  folder: ['text', ({ facts }) => facts.folder],
  what_sha256: ['text', ({ facts }) => facts.whatSha256],
  reasons: ['json', ({ facts }) => JSON.stringify(facts.reasons)],
};

export const storeApprovals = literalQuery({
  name: 'store-approvals',
  purpose: 'Store the requests of calls of a turn that wait for approvals, with the times of the calls.',
  locking: 'None beside the session of the turn, which the transaction has locked.',
  text: `insert into holdfast.approvals (id, session_id, turn_id, step, ordinal, call_id, tool, input, folder, what_sha256, reasons, requested_at, expires_at)
select a.id, t.session_id, t.id, c.step, c.ordinal, c.call_id, a.tool, a.input, a.folder, a.what_sha256, a.reasons,
  c.held_until - a.for_ms * interval '1 millisecond', c.held_until
from (${selectRecordsSql('$approvals', NEW_APPROVALS)}) as a
join holdfast.turns t on t.id = $turnId
join holdfast.tool_calls c on c.turn_id = t.id and c.step = a.step and c.ordinal = a.ordinal
on conflict (turn_id, step, ordinal) do nothing`,
  values: (turnId: string, calls: readonly HeldIntent[]) => ({
    turnId,
    // This feature has made the facts of the calls that it holds.
    approvals: toRecords(calls as (HeldIntent & { facts: NewApproval })[], NEW_APPROVALS),
  }),
});

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
 * SQL of whether the call of a request `a` waits; null: it does not. A subquery with a limit is
 * asked for each row, by its keys: as a join, the planner may read all turns.
 */
export const HOLDS_CALL_SQL = `(select true from holdfast.turns t join holdfast.tool_calls c on c.turn_id = t.id
    where t.id = a.turn_id and t.ended_at is null and c.step = a.step and c.ordinal = a.ordinal and c.call_id = a.call_id
      and c.held_for = 'approval' and ${IS_HELD_SQL} limit 1)`;

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

export const findCall = literalQuery({
  name: 'find-call-of-request',
  purpose: 'Read which call a request is about.',
  text: `select a.turn_id as "turnId", a.step, a.ordinal from holdfast.approvals a where a.id = $id`,
  values: (id: string) => ({ id }),
  answer: ([row]: { turnId: string; step: number; ordinal: number }[]) => row ?? null,
});

export const noteDecision = literalQuery({
  name: 'note-decision',
  purpose:
    'Note the decision about a request that is open, whose call waits and whose time is not over. Answers whether it is the first.',
  locking: 'The request, after the session of its call, which the transaction has locked.',
  text: `with decided as (
  update holdfast.approvals a set status = $status, decided_by = $by, decided_at = clock_timestamp(), note = $note
  where a.id = $id and a.status = 'open' and a.expires_at > clock_timestamp() and ${HOLDS_CALL_SQL}
  returning a.*
),
${decidedEvents('decided')}
select from decided`,
  values: (decision: Decision) => decision,
  answer: (rows: object[]) => rows.length > 0,
});

/**
 * Decides about a request that is open and whose call waits, and makes its turn due. The first
 * decision holds; `isFirst` is false for another.
 */
export async function decideApproval(
  database: Database,
  decision: Decision,
  idempotency: KeyedRequest | null,
): Promise<Committed<{ isFirst: boolean }>> {
  const call = await findCall(database, decision.id);
  if (call === null) return { isFirst: false };
  const { turnId, step, ordinal } = call;
  const decide = async (tx: Transaction) => {
    const before = () => noteDecision(tx, decision);
    const answers = { turnId, step, kind: 'approval' as const, results: [{ ordinal, result: null }], before };
    const { settled, ...committed } = await settleCalls(tx, answers);
    const isFirst = settled.length > 0;
    if (isFirst) await storeKey(tx, idempotency, { status: decision.status });
    return { isFirst, ...committed };
  };
  return await transaction(database.hot, decide);
}

/** How many requests one round settles. */
const SETTLED_MAX = 500;

/**
 * Marks requests whose call does not wait any more as cancelled, and those whose time is over as
 * expired.
 */
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
  select a.id, case when o.holds then 'expired' else 'cancelled' end as status
  from open_requests o join holdfast.approvals a on a.id = o.id
  where a.status = 'open' and (o.is_late or o.holds is not true) order by a.id limit ${SETTLED_MAX} for update of a skip locked
),
settled as (
  update holdfast.approvals a set status = left_over.status, decided_at = clock_timestamp()
  from left_over where a.id = left_over.id
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
