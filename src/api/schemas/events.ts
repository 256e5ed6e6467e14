// The types of events, as values: what a filter may name.
import type { EventType } from '../../store/events.ts';

const TYPES: Record<EventType, true> = {
  'message.accepted': true,
  'message.settled': true,
  'turn.started': true,
  'turn.parked': true,
  'turn.resumed': true,
  'turn.ended': true,
  'model.started': true,
  'model.delta': true,
  'model.reasoning': true,
  'model.ended': true,
  'model.blocked': true,
  'tool.started': true,
  'tool.ended': true,
  'steer.injected': true,
  'compaction.started': true,
  'compaction.ended': true,
  'announce.queued': true,
  'delivery.sent': true,
  'delivery.failed': true,
  'cron.fired': true,
  'heartbeat.fired': true,
  'session.reset': true,
};

export const EVENT_TYPES = Object.keys(TYPES) as EventType[];
