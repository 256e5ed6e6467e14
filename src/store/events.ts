// Events: what happened, for clients that watch. The statement that an event describes writes it, never a commit of its
// own, except for text deltas, which are batched briefly. An id is the number of the transaction, with an offset
// (event-ids.ts), and a position in it, so there is one insert of events per statement.
import { EVENT_XID_SQL } from './event-ids.ts';

/** The types of events; they are part of the HTTP API. */
export type EventType =
  | 'message.accepted'
  | 'message.settled'
  | 'turn.started'
  | 'turn.parked'
  | 'turn.resumed'
  | 'turn.ended'
  | 'model.started'
  | 'model.delta'
  | 'model.reasoning'
  | 'model.ended'
  | 'model.blocked'
  | 'tool.started'
  | 'tool.ended'
  | 'steer.injected'
  | 'compaction.started'
  | 'compaction.ended'
  | 'announce.queued'
  | 'delivery.sent'
  | 'delivery.failed'
  | 'cron.fired'
  | 'heartbeat.fired'
  | 'session.reset';

/** An event to be written; `data` is stored as it is. */
export interface NewEvent {
  type: EventType;
  data: Record<string, unknown>;
}

/** SQL of a CTE body that inserts events from a source with session_id, turn_id, type, data (json) and a sort column n. */
export function insertEventsSql(source: string): string {
  return `insert into holdfast.events (id, session_id, turn_id, type, data)
    select (${EVENT_XID_SQL} << 16) + row_number() over (order by n), session_id, turn_id, type, data
    from (${source}) as happened`;
}
