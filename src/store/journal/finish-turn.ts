// `finish-turn`: the end of a turn, whatever it was. The last entries, the turn's outcome, what becomes of its messages, the
// replies in the outbox, the dead letter if it was given up, and the lock's release are one statement. It holds the session
// row, so a message that came meanwhile is seen: then the doorbell stays, with its next ring (G4). See journal.ts.
import type { DeliveryId } from '../../core/ids.ts';
import { coalesce, type Coalesced } from '../coalescer.ts';
import type { Database } from '../database.ts';
import { insertEventsSql, type NewEvent } from '../events.ts';
import type { JournalWrite } from '../journal.ts';
import type { NeededRing } from '../session-locks.ts';
import { prepared, Values } from '../statement.ts';
import { eventsSource, journalParts, PROGRESS_SQL } from './write-parts.ts';

export interface NewDelivery {
  id: DeliveryId;
  channel: string;
  target: Record<string, unknown>;
  payload: Record<string, unknown>;
  expiresMs: number;
}

export interface TurnEnd extends JournalWrite {
  status: 'completed' | 'silent' | 'failed' | 'aborted' | 'timedOut';
  messageStatus: 'answered' | 'silent' | 'failed' | 'cancelled';
  reply: string | null;
  /** `{code, message}`; null after a good end. */
  error: { code: string; message: string } | null;
  /** True when the user stopped it: the next prompt says so. */
  wasAborted: boolean;
  /** Tokens of the last request and its answer together. */
  contextTokens: number;
  deliveries: NewDelivery[];
  /**
   * True when the last entry is a prompt that the provider refuses: it is hidden, so that it does not fail the turns after it, too.
   * The row stays.
   */
  isPromptHidden: boolean;
  deadLetter: { id: string; code: string; reason: string } | null;
  /** How long what waits is left to gather, in milliseconds. */
  debounceMs: number;
  ended: NewEvent;
}

/**
 * `ok`: ended; `ring` calls for what still waits, `deliveryRingNo` is the ring for the outbox when something was put there.
 * `fenced`: the session is not ours any more.
 */
export type Ending = { kind: 'ok'; ring: NeededRing | null; deliveryRingNo: number | null } | { kind: 'fenced' };

/** Makes the function that ends a turn; ends of different turns share statements. */
export function createFinishTurn(database: Database): Coalesced<TurnEnd, Ending> {
  return coalesce({ run: (ends) => finishTurns(database, ends) });
}

const SETTLED_AT_END = 1_000_000;

async function finishTurns(database: Database, ends: TurnEnd[]): Promise<Ending[]> {
  const values = new Values();
  const parts = journalParts(values, ends);
  const tail = tailColumns(values, ends);
  const optional = [...hidden(ends), ...posted(values, ends), ...lettered(ends)];
  const events = eventsSource(values, ends);
  // Purpose: end each turn. Locking: the session rows in the order of their ids, then rows that belong to them.
  const text = `/* finish-turn */
with ${parts},
tail as materialized (
  select tail.*, fence.session_id, fence.turn_id from unnest(${tail.join(', ')}) with ordinality
    as tail (status, message_status, reply, error, was_aborted, context_tokens, deliveries, letter_id, letter_code, letter_reason,
      debounce_ms, ended_type, ended_data, hides_prompt, n)
  join fence on fence.n = tail.n
),
ended as (
  update holdfast.turns t
  set status = tail.status, reply = tail.reply, error = tail.error, ended_at = clock_timestamp(), ${PROGRESS_SQL}
  from fence join tail on tail.n = fence.n where t.id = fence.turn_id
),
settled as (
  update holdfast.inbox i set status = tail.message_status, error = tail.error, settled_at = clock_timestamp()
  from tail where i.turn_id = tail.turn_id and i.status = 'claimed'
  returning i.id, i.seq, i.session_id, i.turn_id, i.status
),
moved as (
  update holdfast.sessions s
  set owner = null, lease_expires_at = null, turn_id = null, stop_reason = null,
    entry_seq = fence.base_seq + fence.added, updated_at = clock_timestamp(),
    leaf_seq = case
      when tail.hides_prompt then (select e.parent_seq from holdfast.entries e where e.session_id = s.id and e.seq = fence.base_seq)
      when fence.added > 0 then fence.base_seq + fence.added
      else s.leaf_seq
    end,
    transcript_version = s.transcript_version + case when tail.hides_prompt then 1 else 0 end, was_aborted = tail.was_aborted, delivery_seq = s.delivery_seq + tail.deliveries,
    input_tokens = s.input_tokens + fence.input_tokens + fence.cache_read_tokens + fence.cache_write_tokens,
    output_tokens = s.output_tokens + fence.output_tokens, context_tokens = tail.context_tokens
  from fence join tail on tail.n = fence.n where s.id = fence.session_id
  returning s.id, s.waiting, s.delivery_seq, fence.n, tail.deliveries, tail.debounce_ms
),
rung as (
  update holdfast.doorbells d
  set rings = d.rings + 1, rung_at = now(), due_at = now() + moved.debounce_ms * interval '1 millisecond'
  from moved where d.session_id = moved.id and moved.waiting > 0
  returning d.session_id, d.lane, d.rings
),
hushed as (
  delete from holdfast.doorbells d using moved where d.session_id = moved.id and moved.waiting = 0
),
${optional.map((part) => `${part},\n`).join('')}told as (
  ${insertEventsSql(`${events === null ? '' : `${events}\n    union all`}
    select session_id, turn_id, 'message.settled' as type, json_build_object('messageId', id, 'status', status) as data,
      ${SETTLED_AT_END} + seq as n from settled
    union all
    select session_id, turn_id, ended_type, ended_data, ${SETTLED_AT_END} * 1000000::bigint + n from tail`)}
)
select head.n, verdict.is_new, coalesce(t.ended_at is not null and t.epoch = head.epoch, false) as was_ended,
  rung.session_id, rung.lane, rung.rings,
  case when moved.deliveries > 0 then (moved.delivery_seq - moved.deliveries + 1) * 1000 end as delivery_ring_no
from head
left join moved on moved.n = head.n
left join verdict on verdict.n = head.n
left join holdfast.turns t on t.id = head.turn_id
left join rung on rung.session_id = head.session_id`;
  const result = await database.hot.query(prepared('finish-turn', text, values.list));
  const rows = new Map(result.rows.map((row) => [Number(row.n), row]));
  return ends.map((end, index) => {
    const row = rows.get(index + 1);
    if (row === undefined || !(row.is_new || row.was_ended)) return { kind: 'fenced' };
    const ring =
      row.rings === null || end.debounceMs > 0
        ? null
        : { sessionId: row.session_id, lane: row.lane, ringNo: Number(row.rings) };
    const deliveryRingNo = row.delivery_ring_no === null ? null : Number(row.delivery_ring_no);
    return { kind: 'ok', ring, deliveryRingNo };
  });
}

function tailColumns(values: Values, ends: TurnEnd[]): string[] {
  return [
    values.add('text', ends, (end) => end.status),
    values.add('text', ends, (end) => end.messageStatus),
    values.add('text', ends, (end) => storableText(end.reply)),
    values.add('json', ends, (end) => (end.error === null ? null : JSON.stringify(end.error))),
    values.add('boolean', ends, (end) => end.wasAborted),
    values.add('bigint', ends, (end) => end.contextTokens),
    values.add('int', ends, (end) => end.deliveries.length),
    values.add('uuid', ends, (end) => end.deadLetter?.id ?? null),
    values.add('text', ends, (end) => end.deadLetter?.code ?? null),
    values.add('text', ends, (end) => storableText(end.deadLetter?.reason ?? null)),
    values.add('int', ends, (end) => end.debounceMs),
    values.add('text', ends, (end) => end.ended.type),
    values.add('json', ends, (end) => JSON.stringify(end.ended.data)),
    values.add('boolean', ends, (end) => end.isPromptHidden),
  ];
}

function hidden(ends: TurnEnd[]): string[] {
  if (!ends.some((end) => end.isPromptHidden)) return [];
  return [
    `hidden as (
  update holdfast.entries e set state = 'hidden'
  from fence join tail on tail.n = fence.n where tail.hides_prompt and e.session_id = fence.session_id and e.seq = fence.base_seq
)`,
  ];
}

function posted(values: Values, ends: TurnEnd[]): string[] {
  const rows = ends.flatMap((end, index) =>
    end.deliveries.map((delivery, position) => ({ n: index + 1, pos: position + 1, delivery })),
  );
  if (rows.length === 0) return [];
  const columns = [
    values.add('bigint', rows, (row) => row.n),
    values.add('int', rows, (row) => row.pos),
    values.add('uuid', rows, (row) => row.delivery.id),
    values.add('text', rows, (row) => row.delivery.channel),
    values.add('json', rows, (row) => JSON.stringify(row.delivery.target)),
    values.add('json', rows, (row) => JSON.stringify(row.delivery.payload)),
    values.add('bigint', rows, (row) => row.delivery.expiresMs),
  ];
  return [
    `posted as (
  insert into holdfast.deliveries (id, session_id, turn_id, seq, channel, target, payload, expires_at)
  select d.id, fence.session_id, fence.turn_id, moved.delivery_seq - moved.deliveries + d.pos, d.channel, d.target, d.payload,
    clock_timestamp() + d.expires_ms * interval '1 millisecond'
  from unnest(${columns.join(', ')}) as d (n, pos, id, channel, target, payload, expires_ms)
  join fence on fence.n = d.n join moved on moved.n = d.n
)`,
  ];
}

function lettered(ends: TurnEnd[]): string[] {
  if (ends.every((end) => end.deadLetter === null)) return [];
  return [
    `lettered as (
  insert into holdfast.dead_letters (id, kind, session_id, turn_id, code, reason)
  select letter_id, 'turn', session_id, turn_id, letter_code, letter_reason from tail where letter_id is not null
)`,
  ];
}

/** PostgreSQL's text holds no NUL and no lone surrogate; a reply that has one is shown without it (the entry keeps it). */
function storableText(text: string | null): string | null {
  return text === null ? null : text.replaceAll('\u0000', '').toWellFormed();
}
