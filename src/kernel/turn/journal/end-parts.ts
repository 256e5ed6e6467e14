// What some ends of turns do and most do not: hide entries, insert deliveries, insert a dead letter, leave effects. Parts of `finish-turn`,
// each left out of a statement in which no end needs it. They read its CTEs `fence`, `tail` and `updated_sessions`.
import { cte, optional, rows } from '../../../database/statement.ts';
import type { TurnEnd } from './turn-end.ts';

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

// Of the entries of this turn that a refused summary has replaced, any may be what was refused.
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
  insert into holdfast.deliveries (id, session_id, turn_id, seq, channel, target, payload, expires_at)
  select d.id, fence.session_id, fence.turn_id, updated_sessions.delivery_seq - updated_sessions.deliveries + d.pos, d.channel, d.target, d.payload,
    clock_timestamp() + d.expires_ms * interval '1 millisecond'
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
