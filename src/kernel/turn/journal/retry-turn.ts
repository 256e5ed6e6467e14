// Retries a turn that ended badly, for a person (G17). The last turn of its session is undone: its messages wait again, and its entries are
// hidden. When the session has newer turns, those must not change: each message is inserted into the inbox again, as a new one that
// names the old one as its cause. Either way its dead letter is closed, and a second retry finds nothing to do.
import type { Committed } from '../../queue/after-commit.ts';
import type { SessionId } from '../../../core/ids.ts';
import { chargedPart } from '../../inbox/charged-inputs.ts';
import type { Database } from '../../../database/database.ts';
import { insertEventsSql } from '../../events/events.ts';
import { keyedPart, keyValues, type KeyedRequest } from '../../../database/idempotency.ts';
import { NEW_ID_SQL } from '../../../database/page.ts';
import { buildAfter, type RungColumns, ringSql } from '../../queue/rings.ts';
import { sendQuery } from '../../../database/send-query.ts';
import { literal } from '../../../database/statement.ts';

/** SQL of the message that an inbox row is a retry of; null for any other. */
export function retryOfSql(causeKey: string): string {
  return `substring(${causeKey} from '^retry:(.*)$')`;
}

/**
 * `ok`: these messages wait now. `conflict`: the turn ended well or still runs, or its messages were retried before. `item`: it answered an item of
 * a batch, which the batch retries. `unknown`: there is no such turn.
 */
export type RetryResult =
  | { kind: 'ok'; messageIds: string[] }
  | ({ kind: 'item' } & RetriedItem)
  | { kind: 'conflict' | 'unknown' };

/** An item of a batch that exists. */
export interface RetriedItem {
  batchId: string;
  n: number;
}

/** SQL of the item `i` of an existing batch that a turn answered. One that was stopped is left out: the batch does not retry it. */
export function itemOfTurnSql(turnId: string): string {
  return `holdfast.inbox x
join holdfast.batch_items i on i.batch_id = split_part(x.cause_key, ':', 2)::uuid and i.n = split_part(x.cause_key, ':', 3)::int
where x.turn_id = ${turnId} and x.kind = 'batch' and x.cause_key like 'batch:%' and i.status <> 'cancelled'`;
}

export const RETRIED_ITEM = literal({
  name: 'retried-item',
  purpose: 'Read the item of a batch that a turn answered and that only the batch retries.',
  text: `select i.batch_id as "batchId", i.n from ${itemOfTurnSql('$1')} limit 1`,
});

/** How often it tries again when its session has changed meanwhile. */
const STALE_ATTEMPTS_MAX = 20;

export const RETRY_TURN = literal({
  name: 'retry-turn',
  purpose:
    'Let the messages of a turn that ended badly wait again. Answers `stale` when the session has changed meanwhile.',
  locking:
    'The session row. Whether a later turn exists is read before the row is held, so a row that has changed meanwhile (`xmin`) is not used.',
  text: `with turn as materialized (select t.* from holdfast.turns t where t.id = $1),
seen as materialized (select s.id, s.xmin as version from holdfast.sessions s join turn on turn.session_id = s.id),
locked as materialized (
  select s.*, s.xmin as version from holdfast.sessions s join turn on s.id = turn.session_id for no key update of s
),
own as materialized (
  select i.* from holdfast.inbox i join turn on i.turn_id = turn.id where i.status in ('failed', 'cancelled')
),
verdict as materialized (
  select case
      when seen.version <> locked.version then 'stale'
      when turn.status not in ('failed', 'aborted', 'timedOut') or locked.turn_id = turn.id or not exists (select from own)
        or exists (select from holdfast.inbox j join own on j.cause_key = 'retry:' || own.id) then 'conflict'
      -- A worker that has claimed the session and not opened its turn yet assembles a prompt on the transcript as it is.
      when locked.turn_id is null and locked.owner is null
        and not exists (select from holdfast.turns later where later.session_id = locked.id and later.id > turn.id) then 'last'
      else 'moved-on'
    end as verdict
  from turn join locked on locked.id = turn.session_id join seen on seen.id = locked.id
),
fit as materialized (
  select locked.*, turn.id as retried_id, turn.prompt_seq, verdict.verdict
  from verdict cross join turn join locked on locked.id = turn.session_id where verdict.verdict in ('last', 'moved-on')
),
again as (
  -- It waits since now, as a new message does.
  update holdfast.inbox i set status = 'waiting', turn_id = null, error = null, settled_at = null, received_at = clock_timestamp()
  from fit join own on true where fit.verdict = 'last' and i.id = own.id
  returning i.id
),
copied as (
  insert into holdfast.inbox (id, session_id, seq, kind, body, route, mode, cause_key, disposition)
  select ${NEW_ID_SQL}, fit.id, fit.inbox_seq + row_number() over (order by own.seq), own.kind, own.body, own.route, own.mode,
    'retry:' || own.id, 'queued'
  from fit join own on true where fit.verdict = 'moved-on'
  returning id, session_id, seq, kind, body -> 'chargedTo' as charged_to
),
-- What they cost again counts, too.
charged_again as (
  update holdfast.charged_inputs c set is_counted = false from again where c.message_id = again.id
),
${chargedPart('copied')},
hidden as (
  update holdfast.entries e set state = 'hidden', retired_seq = fit.entry_seq + 1
  from fit
  where fit.verdict = 'last' and e.session_id = fit.id and e.turn_id = fit.retried_id and e.state = 'active' and e.kind <> 'summary'
),
updated_sessions as (
  update holdfast.sessions s
  set waiting = s.waiting + (select count(*) from own)::int,
    inbox_seq = s.inbox_seq + (select count(*) from copied)::int,
    transcript_version = s.transcript_version + (fit.verdict = 'last')::int,
    leaf_seq = case when fit.verdict = 'last' and s.leaf_seq >= fit.prompt_seq
      then (select e.parent_seq from holdfast.entries e where e.session_id = fit.id and e.seq = fit.prompt_seq)
      else s.leaf_seq end,
    updated_at = clock_timestamp()
  from fit where s.id = fit.id
  returning s.*
),
rung_doorbells as (
  ${ringSql('updated_sessions')}
),
letters as (
  update holdfast.dead_letters l set state = 'redriven', settled_at = clock_timestamp()
  from fit where l.turn_id = fit.retried_id and l.kind = 'turn' and l.state = 'open'
),
waiting_now as materialized (
  select json_agg(id order by id) as ids from (select id from again union all select id from copied) as both_ways
),
inserted_events as (
  ${insertEventsSql(`select session_id, null::uuid as turn_id, 'message.accepted' as type,
    json_build_object('messageId', id, 'seq', seq, 'kind', kind, 'disposition', 'queued') as data, seq as n from copied
    union all select own.session_id, null, 'message.accepted', json_build_object('messageId', own.id, 'seq', own.seq, 'kind', own.kind,
      'disposition', 'queued', 'previousStatus', own.status), own.seq from own join again on again.id = own.id`)}
),
${keyedPart(2, `select json_build_object('retried', fit.retried_id, 'messageIds', waiting_now.ids) from fit cross join waiting_now`)}
select verdict.verdict, turn.session_id, updated_sessions.lane, rung_doorbells.rings, waiting_now.ids
from turn cross join verdict cross join waiting_now
left join updated_sessions on updated_sessions.id = turn.session_id left join rung_doorbells on rung_doorbells.session_id = turn.session_id`,
});

/** Lets the messages of a turn that ended badly wait again, once. */
export async function retryTurn(
  database: Database,
  turnId: string,
  idempotency?: KeyedRequest | null,
): Promise<Committed<RetryResult>> {
  // Otherwise the answer would be missing in the results and the cost of the batch, and a retry of the item would do its work once more.
  const [item] = await sendQuery<RetriedItem & Record<string, unknown>>(database.hot, RETRIED_ITEM.prepared([turnId]));
  if (item !== undefined) return { kind: 'item', ...item };
  const values = [turnId, ...keyValues(idempotency)];
  for (let attempt = 1; attempt <= STALE_ATTEMPTS_MAX; attempt += 1) {
    const [row] = (await database.hot.query<RetryRow>(RETRY_TURN.prepared(values))).rows;
    if (row === undefined) return { kind: 'unknown' };
    if (row.verdict === 'conflict') return { kind: 'conflict' };
    if (row.verdict === 'stale') continue;
    return { kind: 'ok', messageIds: row.ids ?? [], after: buildAfter('inbound', row.session_id, row) };
  }
  throw new Error(
    `The session of the turn ${turnId} was changed by other requests at each attempt to retry the turn. Try again later.`,
  );
}

interface RetryRow extends RungColumns {
  verdict: 'last' | 'moved-on' | 'conflict' | 'stale';
  session_id: SessionId;
  ids: string[] | null;
}
