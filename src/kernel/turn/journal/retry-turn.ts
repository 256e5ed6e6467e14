// Retries a turn that ended badly, for a person (G17). The last turn of its session is undone: its
// messages wait again, and its entries are hidden. When the session has newer turns, those must not
// change: each message is inserted into the inbox again, as a new one that names the old one as its
// cause. With another text, one new message takes the place of all, and the transcript stays as it
// is. In each case its dead letter is closed, and a second retry finds nothing to do.
//
// One transaction locks the session, then reads the turn, decides and writes. A turn of the session
// cannot end, begin or be retried in between.
import { buildAfter, mergeAll, ringSql, type RungColumns } from '../../queue/rings.ts';
import type { Committed } from '../../queue/after-commit.ts';
import { chooseRoute, type InboundMessage, OPERATOR_FIELDS } from '../../../core/inbound.ts';
import type { MessageId, SessionId } from '../../../core/ids.ts';
import { parseKeepingIntegers } from '../../../core/json.ts';
import type { Database } from '../../../database/database.ts';
import type { KeyedRequest } from '../../../database/idempotency.ts';
import { literalQuery } from '../../../database/literal-query.ts';
import { transaction, type Committing, type Transaction } from '../../../database/transaction.ts';
import { newId } from '../../../ids.ts';
import { putInputs, type PutInput } from '../../inbox/put-inputs.ts';

/** SQL of the message that an inbox row is a retry of; null for any other. */
export function retryOfSql(causeKey: string): string {
  return `substring(${causeKey} from '^retry:([0-9a-f-]{36})$')`;
}

/**
 * `ok`: these messages wait now. `conflict`: the turn ended well or still runs, or its messages
 * were retried before. `fixed`: it has no message whose text could be another. `item`: it answered
 * an item of a batch, which the batch retries. `unknown`: there is no such turn.
 */
export type RetryResult =
  | { kind: 'ok'; messageIds: string[] }
  | ({ kind: 'item' } & RetriedItem)
  | { kind: 'conflict' | 'fixed' | 'unknown' };

export interface RetryRequest {
  /** In place of what its messages say; null: they wait again as they are. */
  text?: string | null;
  /** True: the text is of a caller that sees a part of the service. */
  isConfined?: boolean;
  idempotency?: KeyedRequest | null;
}

/** SQL of the messages that repeat those of the turn `t`. */
export const RETRIED_AS_SQL = `case when t.status in ('failed', 'aborted', 'timedOut') then (select json_agg(j.id order by j.id)
    from holdfast.inbox i join holdfast.inbox j on j.cause_key = 'retry:' || i.id where i.turn_id = t.id) end`;

/** An item of a batch that exists. */
interface RetriedItem {
  batchId: string;
  n: number;
}

/**
 * SQL of the item `i` of an existing batch that a turn answered. One that was stopped is left out:
 * the batch does not retry it.
 */
export function itemOfTurnSql(turnId: string): string {
  return `holdfast.inbox x
join holdfast.batch_items i on i.batch_id = split_part(x.cause_key, ':', 2)::uuid and i.n = split_part(x.cause_key, ':', 3)::int
where x.turn_id = ${turnId} and x.kind = 'batch' and x.cause_key like 'batch:%' and i.status <> 'cancelled'`;
}

/** SQL of whether a turn that ended badly can be retried, as `decideRetry` and its callers decide. */
export function retryableSql(turnId: string): string {
  return `exists (select from holdfast.inbox f where f.turn_id = ${turnId} and f.status in ('failed', 'cancelled'))
  and not exists (select from holdfast.inbox f join holdfast.inbox r on r.cause_key = 'retry:' || f.id
    where f.turn_id = ${turnId} and f.status in ('failed', 'cancelled'))
  and not exists (select from ${itemOfTurnSql(turnId)})`;
}

/** Lets the messages of a turn that ended badly wait again, once. */
export function retryTurn(
  database: Database,
  turnId: string,
  request: RetryRequest = {},
): Promise<Committed<RetryResult>> {
  // One attempt: the second one would answer `conflict` if the first was committed and its answer
  // was lost.
  return transaction(database.hot, (tx) => retryLocked(tx, turnId, request), { retryMs: 0 });
}

async function retryLocked(
  tx: Transaction,
  turnId: string,
  { text = null, isConfined = false, idempotency = null }: RetryRequest,
): Promise<Committing<Committed<RetryResult>>> {
  void lockForRetry(tx, turnId);
  const [turn, failed] = await Promise.all([readRetriedTurn(tx, turnId), readFailedInputs(tx, turnId)]);
  if (turn === undefined) return { kind: 'unknown' };
  // Otherwise the answer would be missing in the results and the cost of the batch, and a retry of
  // the item would do its work once more.
  if (turn.item !== null) return { kind: 'item', ...turn.item };
  const way = decideRetry(turn, failed, text !== null);
  if (way === 'conflict' || way === 'fixed') return { kind: way };
  const { sessionId } = turn;
  const again = text === null ? failed : failed.slice(-1).map((input) => withText(input, { text, isConfined }));
  const copies = way === 'moved-on' ? again.map((input) => copyInput(sessionId, input)) : [];
  const messageIds = (way === 'moved-on' ? copies : failed).map(({ id }) => id);
  const undone = way === 'last' ? undoTurn(tx, turnId) : undefined;
  void closeLetters(tx, turnId);
  const put = putInputs(tx, {
    inputs: copies,
    events: way === 'last' ? failed.map((input) => buildEvent(sessionId, input)) : [],
    keyed: { request: idempotency, result: { retried: turnId, messageIds } },
  });
  return async () => {
    const [rung, { after }] = await Promise.all([undone, put]);
    const rings = rung && { after: buildAfter('inbound', sessionId, rung) };
    return { kind: 'ok', messageIds, after: mergeAll([{ after }, rings ?? {}]) };
  };
}

/**
 * `last`: the turn is undone. `moved-on`: newer turns continue its transcript, or its text is
 * another, so its messages are sent again.
 */
function decideRetry(
  turn: RetriedTurn,
  failed: readonly FailedInput[],
  isChanged: boolean,
): 'last' | 'moved-on' | 'conflict' | 'fixed' {
  const isBad = ['failed', 'aborted', 'timedOut'].includes(turn.status);
  if (!isBad || turn.isOpen || failed.length === 0 || failed.some(({ isRetried }) => isRetried)) return 'conflict';
  if (isChanged) return failed.at(-1)?.kind === 'message' ? 'moved-on' : 'fixed';
  // A worker that has claimed the session and not opened its turn yet assembles a prompt on the
  // transcript as it is.
  return turn.isFree && !turn.hasLater ? 'last' : 'moved-on';
}

/** The input with another text; all else stays. That of a confined caller is not of its sender, nor for its chat. */
function withText(input: FailedInput, { text, isConfined }: { text: string; isConfined: boolean }): FailedInput {
  const body = { ...(parseKeepingIntegers(input.body) as InboundMessage), text };
  if (!isConfined) return { ...input, body: JSON.stringify(body) };
  for (const field of ['sender', 'channel', ...OPERATOR_FIELDS] as const) delete body[field];
  body.isConfined = true;
  return { ...input, body: JSON.stringify(body), route: chooseRoute(body, []) };
}

function copyInput(sessionId: SessionId, { id, kind, body, route, mode }: FailedInput): PutInput {
  return { id: newId<MessageId>(), sessionId, kind, body, route, mode, causeKey: `retry:${id}` };
}

function buildEvent(sessionId: SessionId, { id, seq, kind, status }: FailedInput) {
  const data = { messageId: id, seq: Number(seq), kind, disposition: 'queued', previousStatus: status };
  return { sessionId, type: 'message.accepted' as const, data };
}

export const lockForRetry = literalQuery({
  name: 'lock-for-retry',
  purpose: 'Lock the session of a turn, and confine it if the turn has confined messages: a reset may have ended that.',
  locking: 'The session row.',
  text: `update holdfast.sessions s
set is_confined = s.is_confined or exists (select from holdfast.inbox i where i.turn_id = $1 and i.body ->> 'isConfined' = 'true')
where s.id = (select t.session_id from holdfast.turns t where t.id = $1)`,
  values: (turnId: string) => [turnId],
});

interface RetriedTurn {
  sessionId: SessionId;
  status: string;
  /** It has not ended. */
  isOpen: boolean;
  /** No turn of the session is open, and no worker has claimed it. */
  isFree: boolean;
  hasLater: boolean;
  /** The item of a batch that it answered and that only the batch retries. */
  item: RetriedItem | null;
}

export const readRetriedTurn = literalQuery({
  name: 'retried-turn',
  purpose: 'Read a turn that is to be retried.',
  text: `select s.id as "sessionId", t.status, coalesce(s.turn_id = t.id, false) as "isOpen", s.turn_id is null and s.owner is null as "isFree",
  exists (select from holdfast.turns later where later.session_id = s.id and later.id > t.id) as "hasLater",
  (select json_build_object('batchId', i.batch_id, 'n', i.n) from ${itemOfTurnSql('t.id')} limit 1) as item
from holdfast.turns t join holdfast.sessions s on s.id = t.session_id where t.id = $1`,
  values: (turnId: string) => [turnId],
  answer: ([turn]: RetriedTurn[]) => turn,
});

interface FailedInput {
  id: MessageId;
  seq: string;
  kind: PutInput['kind'];
  /** JSON text, which is stored again as it is. */
  body: string;
  route: string;
  mode: string | null;
  status: string;
  isRetried: boolean;
}

export const readFailedInputs = literalQuery({
  name: 'failed-inputs',
  purpose: 'Read the inputs of a turn that it has not answered.',
  text: `select i.id, i.seq, i.kind, i.body::text, i.route, i.mode, i.status,
  exists (select from holdfast.inbox j where j.cause_key = 'retry:' || i.id) as "isRetried"
from holdfast.inbox i where i.turn_id = $1 and i.status in ('failed', 'cancelled') order by i.seq`,
  values: (turnId: string) => [turnId],
  answer: (inputs: FailedInput[]) => inputs,
});

export const undoTurn = literalQuery({
  name: 'undo-turn',
  purpose:
    'Undo the last turn of a locked session: its messages wait again, and its entries are hidden. Answers the ring.',
  locking: 'The session row, which the transaction has locked.',
  text: `with turn as materialized (
  select t.id, t.prompt_seq, s.id as session_id, s.entry_seq from holdfast.turns t join holdfast.sessions s on s.id = t.session_id where t.id = $1
),
again as (
  -- It waits since now, as a new message does.
  update holdfast.inbox i set status = 'waiting', turn_id = null, error = null, settled_at = null, received_at = clock_timestamp()
  from turn where i.turn_id = turn.id and i.status in ('failed', 'cancelled')
  returning i.id
),
-- What they cost again counts, too.
charged_again as (
  update holdfast.charged_inputs c set is_counted = false from again where c.message_id = again.id
),
hidden as (
  update holdfast.entries e set state = 'hidden', retired_seq = turn.entry_seq + 1
  from turn where e.session_id = turn.session_id and e.turn_id = turn.id and e.state = 'active' and e.kind <> 'summary'
),
updated_sessions as (
  update holdfast.sessions s
  set waiting = s.waiting + (select count(*) from again)::int, transcript_version = s.transcript_version + 1,
    leaf_seq = case when s.leaf_seq >= turn.prompt_seq
      then (select e.parent_seq from holdfast.entries e where e.session_id = s.id and e.seq = turn.prompt_seq)
      else s.leaf_seq end,
    updated_at = clock_timestamp()
  from turn where s.id = turn.session_id
  returning s.*
),
rung_doorbells as (
  ${ringSql('updated_sessions')}
)
select s.lane, rung_doorbells.rings from updated_sessions s left join rung_doorbells on rung_doorbells.session_id = s.id`,
  values: (turnId: string) => [turnId],
  answer: ([rung]: RungColumns[]) => rung,
});

export const closeLetters = literalQuery({
  name: 'close-letters-of-turn',
  purpose: 'Close the dead letter of a turn that is retried.',
  text: `update holdfast.dead_letters l set state = 'redriven', settled_at = clock_timestamp()
where l.turn_id = $1 and l.kind = 'turn' and l.state = 'open'`,
  values: (turnId: string) => [turnId],
});
