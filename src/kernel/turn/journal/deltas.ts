// Deltas of texts and of reasoning: events only for clients that watch a turn live. The worker
// batches them briefly and writes them together for all its turns; a worker that has lost a
// session's lock writes none for it.
import type { SessionId, TurnId } from '../../../core/ids.ts';
import { insertEventsSql } from '../../events/events.ts';
import { literalQuery } from '../../../database/literal-query.ts';

export interface NewDelta {
  type: 'model.delta' | 'model.reasoning';
  sessionId: SessionId;
  epoch: number;
  turnId: TurnId;
  data: { call: number; text: string };
}

export const appendDeltas = literalQuery({
  name: 'deltas',
  purpose: 'Insert an event for each delta whose session still has its epoch and its turn.',
  // Sent again, it would insert them twice.
  retryMs: 0,
  text: `with inserted_events as (
  ${insertEventsSql(`select d.session_id, d.turn_id, d.type, d.data, d.n
    from unnest($1::uuid[], $2::bigint[], $3::uuid[], $4::json[], $5::text[])
      with ordinality as d (session_id, epoch, turn_id, data, type, n)
    join holdfast.sessions s on s.id = d.session_id and s.epoch = d.epoch and s.turn_id = d.turn_id`)}
)
select 1`,
  values: (deltas: NewDelta[]) => [
    deltas.map((delta) => delta.sessionId),
    deltas.map((delta) => delta.epoch),
    deltas.map((delta) => delta.turnId),
    deltas.map((delta) => JSON.stringify(delta.data)),
    deltas.map((delta) => delta.type),
  ],
});
