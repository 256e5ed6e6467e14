// What a token for browsers may send and what it sees, which is less than a key sees: no prompts,
// tools, thinking, models or costs. A field that is not named here is left out.
import { z } from 'zod';
import { EVENT_TYPES, type EventType } from './events.ts';
import { inboundMedia } from './inbound-message.ts';
import { describeList } from './answers.ts';
import { message, sessionDetails, turn } from './views.ts';

/** A message of a token. A file of the workspace belongs to the agent, so media have no `path`. */
export const sentByToken = z.strictObject({
  text: z.string(),
  media: z.array(inboundMedia.pick({ type: true, url: true })).exactOptional(),
});

/** Why something failed; its text may name models and addresses. */
const error = z.object({ code: z.string() }).nullable();

/**
 * The words of other inputs are instructions: of a cron, of a heartbeat. A reply without a turn is
 * that of a command, which may show costs.
 */
const shownMessage = message
  .pick({ id: true, sessionKey: true, seq: true, kind: true, text: true, status: true, turnId: true, reply: true })
  .extend({ error, receivedAt: message.shape.receivedAt, settledAt: message.shape.settledAt })
  .strip()
  .transform((one) => ({
    ...one,
    text: one.kind === 'message' ? one.text : '',
    reply: one.turnId === null ? null : one.reply,
  }));

const shownSession = sessionDetails
  .pick({ key: true, status: true, turnId: true, waitingMessages: true, createdAt: true, updatedAt: true })
  .extend({ title: z.string().optional() })
  .strip();

const shownTurn = turn
  .pick({ id: true, sessionKey: true, status: true, reply: true, output: true, startedAt: true, endedAt: true })
  .extend({ error })
  .strip();

/** The answers of routes, as a token sees them. */
export const TOKEN_VIEWS = {
  message: shownMessage,
  messages: describeList(shownMessage),
  session: shownSession,
  turn: shownTurn,
  sent: z.object({
    message: shownMessage,
    session: shownSession.optional(),
    disposition: z.string().optional(),
    turn: shownTurn.nullish(),
    reply: z.string().nullish(),
    output: z.unknown().optional(),
  }),
} as const;

/** The fields of the events that a token sees; it sees no others. */
const EVENT_FIELDS: Partial<Record<EventType, readonly string[]>> = {
  'message.accepted': ['messageId', 'seq'],
  'message.settled': ['messageId', 'status'],
  'turn.started': ['messageIds'],
  'turn.parked': [],
  'turn.resumed': [],
  'turn.ended': ['status', 'reply', 'error'],
  'model.delta': ['call', 'text'],
  'steer.injected': ['messageIds'],
  'session.reset': [],
};

/** The types of events that a token sees. */
export const TOKEN_EVENTS = EVENT_TYPES.filter((type) => type in EVENT_FIELDS);

/** An event as a token sees it; null: it does not see it. */
export function showEvent<Event extends { type: string; data: Record<string, unknown> }>(event: Event): Event | null {
  const fields = EVENT_FIELDS[event.type as EventType];
  if (fields === undefined) return null;
  const data = Object.fromEntries(fields.filter((name) => name in event.data).map((name) => [name, event.data[name]]));
  if ('error' in data) data['error'] = error.parse(data['error'] ?? null);
  return { ...event, data };
}
