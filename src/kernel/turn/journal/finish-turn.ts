// `finish-turn`: the end of a turn, with any result. The last entries, the turn's outcome, the
// status of its messages, the replies in the outbox, the dead letter if it failed, and the lock's
// release are one statement. It holds the session row, so it sees a message that arrived meanwhile:
// then the doorbell stays, with its next ring (G4). See journal.ts.
import { cte, optional, rows, shareStatement, type RowSubmitter, statement } from '../../../database/statement.ts';
import type { TurnEnd } from './journal.ts';
import type { AfterCommit, Ring } from '../../queue/after-commit.ts';
import type { SessionId } from '../../../core/ids.ts';
import { storableText } from '../../../core/text.ts';
import { estimateChars } from '../../../core/content-size.ts';
import { plusCostSql } from '../../sessions/cost-sql.ts';
import type { Database } from '../../../database/database.ts';
import { insertedEvents } from '../../events/events.ts';
import { buildRings, type RungColumns } from '../../queue/rings.ts';
import { fence, head, locked, PROGRESS_SQL, verdict, VIEW_SQL, journalEvents, storedSteps } from './write-parts.ts';

// What some ends of turns do and most do not: hide entries, insert deliveries, insert a dead
// letter, leave effects. Parts of `finish-turn`, each left out of a statement in which no end needs
// it. They read its CTEs `fence`, `tail` and `updated_sessions`.

type Ends = readonly TurnEnd[];

const hiddenEntries = optional('hidden_entries', (ends: Ends) => ends.some((end) => end.hides !== null))(
  cte(`hidden_entries as (
  update holdfast.entries e
  set state = case when tail.hides = 'poll' then 'pruned' else 'hidden' end, retired_seq = fence.base_seq + 1
  from fence join tail on tail.n = fence.n
  where e.session_id = fence.session_id and e.state = 'active' and (e.seq = tail.hides_summary
    or e.seq >= coalesce(tail.hides_from, tail.prompt_seq) and e.kind <> 'summary' and (tail.hides = 'refused' or e.turn_id = fence.turn_id))
)`),
);

// Any entry of this turn that a refused summary has replaced may be what was refused.
const undoneSummaries = optional('undone_summaries', (ends: Ends) =>
  ends.some((end) => end.hidesSummary?.isUndone === true),
)(
  cte(`returned_entries as (
  update holdfast.entries e
  set state = case when e.seq < tail.hides_from then 'active' else 'hidden' end,
    retired_seq = case when e.seq < tail.hides_from then null else e.retired_seq end,
    absences = case when e.seq < tail.hides_from
      then coalesce(e.absences, '{}') + int8multirange(int8range(e.retired_seq, fence.base_seq + 1)) else e.absences end
  from fence join tail on tail.n = fence.n
  where tail.undoes and e.session_id = fence.session_id and e.state = 'compacted' and e.retired_seq = tail.hides_summary
)`),
  cte(`undone_compactions as (
  update holdfast.compactions c set status = 'restored' from fence join tail on tail.n = fence.n
  where tail.undoes and c.session_id = fence.session_id and c.status = 'completed' and c.summary_seq = tail.hides_summary
)`),
);

const newDeliveries = rows(
  'new_deliveries',
  (ends: Ends) =>
    ends.flatMap((end, index) => end.deliveries.map((delivery, place) => ({ n: index + 1, pos: place + 1, delivery }))),
  {
    n: ['int', (row) => row.n],
    pos: ['int', (row) => row.pos],
    id: ['uuid', (row) => row.delivery.id],
    channel: ['text', (row) => row.delivery.channel],
    target: ['json', (row) => JSON.stringify(row.delivery.target)],
    payload: ['json', (row) => JSON.stringify(row.delivery.payload)],
    expires_ms: ['bigint', (row) => row.delivery.expiresMs],
  },
);

const insertedDeliveries = optional('deliveries', (ends: Ends) => ends.some((end) => end.deliveries.length > 0))(
  newDeliveries,
  cte(`inserted_deliveries as (
  insert into holdfast.deliveries (id, session_id, turn_id, seq, channel, target, payload, expires_at, scope)
  select d.id, fence.session_id, fence.turn_id, updated_sessions.delivery_seq - updated_sessions.deliveries + d.pos, d.channel, d.target, d.payload,
    clock_timestamp() + d.expires_ms * interval '1 millisecond', fence.scope
  from new_deliveries d join fence on fence.n = d.n join updated_sessions on updated_sessions.n = d.n
)`),
);

const insertedDeadLetters = optional('dead_letters', (ends: Ends) => ends.some((end) => end.deadLetter !== null))(
  cte(`inserted_dead_letters as (
  insert into holdfast.dead_letters (id, kind, session_id, turn_id, code, reason)
  select letter_id, 'turn', session_id, turn_id, letter_code, letter_reason from tail where letter_id is not null
)`),
);

const newEffects = rows(
  'new_effects',
  (ends: Ends) => ends.flatMap((end, index) => end.effects.map((effect) => ({ n: index + 1, effect }))),
  {
    n: ['int', (row) => row.n],
    id: ['uuid', (row) => row.effect.id],
    kind: ['text', (row) => row.effect.kind],
    payload: ['json', ({ effect: { id: _id, kind: _kind, ...payload } }) => JSON.stringify(payload)],
  },
);

const insertedEffects = optional('effects', (ends: Ends) => ends.some((end) => end.effects.length > 0))(
  newEffects,
  cte(`inserted_effects as (
  insert into holdfast.effects (id, session_id, kind, payload, cause)
  select e.id, fence.session_id, e.kind, e.payload, e.kind || ':' || fence.turn_id from new_effects e join fence on fence.n = e.n
)`),
);

/** The CTEs that some ends need in addition to those of every end. */
export const endParts = [
  ...hiddenEntries,
  ...undoneSummaries,
  ...insertedDeliveries,
  ...insertedDeadLetters,
  ...insertedEffects,
];

/**
 * `ok`: ended; `after` has the rings for what still waits and for the outbox. `fenced`: this worker
 * no longer holds the session.
 */
export type FinishResult = { kind: 'ok'; after: AfterCommit; figures: TurnFigures } | { kind: 'fenced' };

/** The facts of an ended turn, for the log. Times are the database's. */
export interface TurnFigures {
  /** How often it was claimed. */
  attempt: number;
  /** From the arrival of its first message to its opening, in milliseconds. */
  waitedMs: number;
  /** From its opening to its end, in milliseconds. */
  ranMs: number;
}

/**
 * Makes the function that ends a turn, and stores its effects; ends of different turns share
 * statements.
 */
export function createFinishTurn(database: Database): RowSubmitter<TurnEnd, FinishResult> {
  return shareStatement(
    'finish-turn',
    (ends: TurnEnd[]) => finishTurns(database, ends),
    ({ entries }) => estimateChars(entries),
  );
}

// How long to wait for more messages, by the first waiting input: only inputs that may share its
// turn are worth waiting for. Null when the first one is too new to be visible.
const GATHERS_SQL = `select case when i.kind = 'announcement' then updated_sessions.announce_debounce_ms
        when i.kind = 'message' and coalesce(i.mode, 'collect') not in ('followup', 'reject') and updated_sessions.waiting < updated_sessions.cap
          then updated_sessions.debounce_ms else 0 end
      from holdfast.inbox i where i.session_id = updated_sessions.id and i.status = 'waiting' order by i.seq limit 1`;

const newEnds = rows('new_ends', (ends: Ends) => ends, {
  n: ['int', (_, index) => index + 1],
  status: ['text', (end) => end.status],
  message_status: ['text', (end) => end.messageStatus],
  reply: ['text', (end) => (end.reply === null ? null : storableText(end.reply))],
  answered_model: ['text', (end) => end.answeredModel ?? null],
  error: ['json', (end) => (end.error === null ? null : JSON.stringify(end.error))],
  was_aborted: ['boolean', (end) => end.wasAborted],
  context_tokens: ['bigint', (end) => end.contextTokens],
  deliveries: ['int', (end) => end.deliveries.length],
  letter_id: ['uuid', (end) => end.deadLetter?.id ?? null],
  letter_code: ['text', (end) => end.deadLetter?.code ?? null],
  letter_reason: ['text', (end) => (end.deadLetter === null ? null : storableText(end.deadLetter.reason))],
  debounce_ms: ['int', (end) => end.debounceMs],
  gather_ms_max: ['int', (end) => end.gatherMsMax],
  cap: ['int', (end) => end.cap],
  steer_seen: ['bigint', (end) => end.steerSeen],
  ended_type: ['text', (end) => end.ended.type],
  ended_data: ['json', (end) => JSON.stringify(end.ended.data)],
  hides: ['text', (end) => end.hides],
  hides_from: ['bigint', (end) => end.hidesFromSeq ?? null],
  hides_summary: ['bigint', (end) => end.hidesSummary?.seq ?? null],
  undoes: ['boolean', (end) => end.hidesSummary?.isUndone ?? false],
  announce_debounce_ms: ['int', (end) => end.announceDebounceMs ?? end.debounceMs],
  collect_max: ['int', (end) => end.collectMax ?? null],
});

const tail = cte(`tail as materialized (
  select new_ends.*, fence.session_id, fence.turn_id, fence.scope,
    case when new_ends.hides is not null then (select t.prompt_seq from holdfast.turns t where t.id = fence.turn_id) end as prompt_seq
  from new_ends join fence on fence.n = new_ends.n
)`);

const endedTurns = cte(`ended as (
  update holdfast.turns t
  set status = tail.status, reply = tail.reply, error = tail.error, ended_at = clock_timestamp(),
    model = coalesce(tail.answered_model, t.model), asked_model = case when tail.answered_model is not null then t.model end, ${PROGRESS_SQL}
  from fence join tail on tail.n = fence.n where t.id = fence.turn_id
)`);

const settledMessages = cte(`settled as (
  update holdfast.inbox i set status = tail.message_status, error = tail.error, settled_at = clock_timestamp()
  from tail where i.turn_id = tail.turn_id and i.status = 'claimed' and tail.collect_max is null
  returning i.session_id, i.turn_id, i.id, i.status, i.seq, tail.scope
)`);

// The prompt of these inputs was too long: they wait again, and so do the events that it has used
// up.
const returnedInputs = optional('returned_inputs', (ends: Ends) => ends.some((end) => end.collectMax !== undefined))(
  cte(
    `returned_inputs as (
  update holdfast.inbox i set status = 'waiting', turn_id = null
  from tail where i.turn_id = tail.turn_id and i.status = 'claimed' and tail.collect_max is not null
  returning i.session_id
)`,
    { absent: 'returned_inputs as (select null::uuid as session_id where false)' },
  ),
  cte(`returned_events as (
  update holdfast.system_events e set state = 'queued', turn_id = null, settled_at = null
  from tail where e.session_id = tail.session_id and e.turn_id = tail.turn_id and e.state = 'consumed' and tail.collect_max is not null
)`),
);

const updatedSessions = cte(`updated_sessions as (
  update holdfast.sessions s
  set owner = null, lease_expires_at = null, turn_id = null, stop_kind = null, stop_reason = null,
    entry_seq = fence.base_seq + fence.added, updated_at = clock_timestamp(),
    leaf_seq = case
      when tail.hides is not null then (select max(e.seq) from holdfast.entries e
        where e.session_id = s.id and e.transcript_no = s.transcript_no and e.seq is distinct from tail.hides_summary
          and (e.state = 'active' or tail.undoes and e.state = 'compacted' and e.retired_seq = tail.hides_summary)
          and (e.kind = 'summary' or case when tail.hides = 'refused' then e.seq < tail.hides_from else e.turn_id <> fence.turn_id end))
      when fence.added > 0 then fence.base_seq + fence.added
      else s.leaf_seq
    end,
    transcript_version = s.transcript_version + case when tail.hides is not null then 1 else 0 end,
    was_aborted = tail.was_aborted, delivery_seq = s.delivery_seq + tail.deliveries,
    input_tokens = s.input_tokens + fence.input_tokens + fence.cache_read_tokens + fence.cache_write_tokens,
    output_tokens = s.output_tokens + fence.output_tokens,
    cost_micros = ${plusCostSql('s.cost_micros', 'fence.cost_micros')}, unpriced_calls = s.unpriced_calls + fence.unpriced_calls,
    waiting = s.waiting + (select count(*) from returned_inputs where returned_inputs.session_id = s.id)::int,
    collect_max = coalesce(tail.collect_max, case when s.waiting > 0 then s.collect_max end),
    is_simulated = s.is_simulated or fence.is_simulated, context_tokens = tail.context_tokens,
    ${VIEW_SQL}
  from fence join tail on tail.n = fence.n where s.id = fence.session_id
  returning s.id, s.waiting, s.delivery_seq, fence.n, tail.deliveries, s.last_message_at, tail.gather_ms_max, tail.cap,
    case when s.steer_seq <= tail.steer_seen then tail.debounce_ms else 0 end as debounce_ms,
    case when s.steer_seq <= tail.steer_seen then tail.announce_debounce_ms else 0 end as announce_debounce_ms
)`);

const nextInputs = cte(`next_inputs as materialized (
  select updated_sessions.id, updated_sessions.last_message_at, updated_sessions.gather_ms_max,
    coalesce((${GATHERS_SQL}), updated_sessions.debounce_ms) as debounce_ms
  from updated_sessions where updated_sessions.waiting > 0
)`);

const rungDoorbells = cte(`rung_doorbells as (
  update holdfast.doorbells d
  set rings = d.rings + 1, rung_at = clock_timestamp(), quiet_ms = nullif(next_inputs.debounce_ms, 0),
    gather_until = clock_timestamp() + next_inputs.gather_ms_max * interval '1 millisecond',
    due_at = least(next_inputs.last_message_at + next_inputs.debounce_ms * interval '1 millisecond',
      clock_timestamp() + least(next_inputs.debounce_ms, next_inputs.gather_ms_max) * interval '1 millisecond')
  from next_inputs where d.session_id = next_inputs.id
  returning d.session_id, d.lane, d.rings, extract(epoch from d.due_at - clock_timestamp()) * 1000 as due_in_ms
)`);

const deletedDoorbells = cte(`deleted_doorbells as (
  delete from holdfast.doorbells d using updated_sessions where d.session_id = updated_sessions.id and updated_sessions.waiting = 0
)`);

const settledEvents = cte(`settled_events as (
  select session_id, turn_id, 'message.settled' as type, json_build_object('messageId', id, 'status', status) as data, seq as n, scope from settled
)`);

const endedEvents = cte(`ended_events as (
  select session_id, turn_id, ended_type as type, ended_data as data, n, scope from tail
)`);

export const FINISH_TURN = statement<Ends>({
  name: 'finish-turn',
  purpose: 'End each turn. Answers a row per end, with the rings that it needs.',
  locking: 'The session rows in the order of their ids, then rows that belong to them.',
  ctes: [
    head,
    locked,
    verdict,
    fence,
    ...storedSteps,
    newEnds,
    tail,
    endedTurns,
    settledMessages,
    ...returnedInputs,
    updatedSessions,
    nextInputs,
    rungDoorbells,
    deletedDoorbells,
    ...endParts,
    ...journalEvents,
    settledEvents,
    endedEvents,
    insertedEvents('journal_events', 'settled_events', 'ended_events'),
  ],
  select: `select head.n, verdict.is_new, coalesce(t.ended_at is not null and t.epoch = head.epoch, false) as was_ended,
  rung_doorbells.session_id, rung_doorbells.lane, rung_doorbells.rings, rung_doorbells.due_in_ms,
  json_build_object('attempt', t.attempt, 'waitedMs', round(extract(epoch from t.started_at - t.queued_at) * 1000),
    'ranMs', round(extract(epoch from clock_timestamp() - t.started_at) * 1000)) as figures,
  case when updated_sessions.deliveries > 0 then (updated_sessions.delivery_seq - updated_sessions.deliveries + 1) * 1000 end as delivery_ring_no
from head
left join updated_sessions on updated_sessions.n = head.n
left join verdict on verdict.n = head.n
left join holdfast.turns t on t.id = head.turn_id
left join rung_doorbells on rung_doorbells.session_id = head.session_id`,
});

async function finishTurns(database: Database, ends: TurnEnd[]): Promise<FinishResult[]> {
  const result = await database.hot.query(FINISH_TURN.prepared(ends));
  const answers = new Map(result.rows.map((row: FinishRow) => [Number(row.n), row]));
  return ends.map(({ fence: { sessionId } }, index) => {
    const row = answers.get(index + 1);
    if (row === undefined || !(row.is_new || row.was_ended)) return { kind: 'fenced' };
    return {
      kind: 'ok',
      after: { changed: [], settled: [sessionId], rings: ringsAfter(sessionId, row) },
      figures: row.figures,
    };
  });
}

function ringsAfter(sessionId: SessionId, row: FinishRow): Ring[] {
  const dueInMs = Math.max(0, Math.ceil(Number(row.due_in_ms)));
  const rings: Ring[] = buildRings('followup', sessionId, row).map((ring) => ({ ...ring, dueInMs }));
  if (row.delivery_ring_no !== null) rings.push({ kind: 'deliver', sessionId, ringNo: Number(row.delivery_ring_no) });
  return rings;
}

interface FinishRow extends RungColumns {
  n: number;
  is_new: boolean;
  was_ended: boolean;
  due_in_ms: number | null;
  delivery_ring_no: string | null;
  figures: TurnFigures;
}
