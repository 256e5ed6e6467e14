// Live events: streams that resume by the last id without a gap or a repeat, in any process.
import type { ServerResponse } from 'node:http';
import { z } from 'zod';
import {
  findEventBefore,
  findTrimmed,
  findTurnEnd,
  readEventHorizon,
  readEvents,
  type EventFilter,
  type EventRow,
} from '../../kernel/views/events.ts';
import { EVERYTHING, isInside } from '../../core/scope.ts';
import { findTurn } from '../../kernel/views/turns.ts';
import type { Answer } from '../answer.ts';
import type { ApiContext } from '../context.ts';
import { answerWithin, requireFound, Problem } from '../problem.ts';
import { beginEventStream, EventStream, readPage, type EventStreamOptions, type ReadEvents } from '../sse.ts';
import { formatFrame, type LiveEvent } from '../event-tail.ts';
import { parseSessionKey } from '../parse-json.ts';
import { ANSWERED, defineRoute, type AnyRequest, type ApiRequest, type Route } from '../route.ts';
import { EVENT_TYPES, liveEvent } from '../../contract/events.ts';
import { showEvent } from '../../contract/token-views.ts';
import type { Principal } from '../key-ring.ts';
import { listText, sessionKeyText } from '../../contract/queries.ts';
import type { ApiServices } from '../services.ts';
import { item } from '../belongs.ts';
import { hideNames } from '../hide-names.ts';

const EVENT_ID = /^\d{1,18}$/;
const READ_MS_MAX = 5_000;
const afterText = z.string().regex(EVENT_ID, 'expected the id of an event').optional();
const streamDoc = {
  description: 'Events: id, event, data {type, sessionKey, turnId, at, ...}',
  contentType: 'text/event-stream',
  schema: liveEvent,
};
const lastIdHeader = { 'Last-Event-ID': 'Resume after this event' };

const getTurnEvents = defineRoute({
  operationId: 'streamTurnEvents',
  token: { may: 'read', session: 'turn' },
  belongs: item('turn'),
  method: 'GET',
  path: '/v1/turns/{id}/events',
  summary: 'The events of one turn from its start, until it has ended',
  isLong: true,
  query: z.strictObject({ after: afterText.describe('Resume after the event with this id') }),
  headers: lastIdHeader,
  answers: { 200: streamDoc, 204: { description: 'The turn has ended, and it has no event after the last id' } },
  async handle(request, { context, services }) {
    const plan = await answerWithin(planOfTurn(request, context), READ_MS_MAX, 'The turn could not be read in time.');
    if (plan === null) return { status: 204, body: undefined };
    const { filter, after, isResumed, isEndKnown } = plan;
    return stream(request, services, {
      after,
      ...(isResumed ? trimmedIn(context) : {}),
      read: (page) => readEvents(context.views, filter, page),
      isWanted: (event) => event.turnId === filter.turn.id,
      isLast: (event) => event.type === 'turn.ended',
      isFollowing: isEndKnown,
    });
  },
});

/** What to send of a turn: null when it has ended and the client has seen its end. */
async function planOfTurn(
  request: ApiRequest<{ id: string }, { after?: string | undefined }, unknown>,
  context: ApiContext,
): Promise<{
  filter: EventFilter & { turn: { id: string } };
  after: bigint;
  isResumed: boolean;
  isEndKnown: boolean;
} | null> {
  const { id } = request.params;
  const { views } = context;
  const turn = requireFound(await findTurn(views, id), `turn ${id}`);
  const resumeAfter = parseLastEventId(request);
  const after = resumeAfter === null ? await findEventBefore(views, turn) : await findStart(context, resumeAfter);
  const isResumed = resumeAfter !== null;
  const filter = { scope: EVERYTHING, turn: { id, sessionId: turn.sessionId } };
  if (!turn.isEnded) return { filter, after, isResumed, isEndKnown: true };
  const end = await findTurnEnd(views, { ...filter.turn, after });
  if (end === null && isResumed) return null;
  return { filter, after, isResumed, isEndKnown: end !== null };
}

const getEvents = defineRoute({
  operationId: 'streamEvents',
  belongs: 'list',
  token: { may: 'read', session: 'query' },
  method: 'GET',
  path: '/v1/events',
  summary: 'Live events, from now or after a given event id; optionally of one session or of some types',
  isLong: true,
  query: z.strictObject({
    after: afterText.describe('Resume after the event with this id'),
    session: sessionKeyText.optional().describe('Only events of this session'),
    types: listText(EVENT_TYPES).optional().describe('Only events of these types'),
  }),
  headers: lastIdHeader,
  answers: { 200: streamDoc },
  async handle(request, { context, services }) {
    const { session, types } = request.query;
    const sessionKey = session === undefined ? undefined : parseSessionKey(session, 'session');
    const wantedTypes = types === undefined ? undefined : new Set(types);
    const { scope } = request.principal;
    const filter = { scope, sessionKey, types };
    const resumeAfter = parseLastEventId(request);
    const start = findStart(context, resumeAfter);
    const after = await answerWithin(start, READ_MS_MAX, 'The events could not be read in time.');
    return stream(request, services, {
      after,
      ...(resumeAfter === null ? {} : trimmedIn(context)),
      read: (page) => readEvents(context.views, filter, page),
      // An event without a session is about the whole service.
      isWanted: (event) =>
        (scope === EVERYTHING || (event.root !== null && isInside(scope, event.root))) &&
        (sessionKey === undefined || event.sessionKey === sessionKey) &&
        (wantedTypes === undefined || wantedTypes.has(event.type)),
      isLast: () => false,
      isFollowing: true,
    });
  },
});

/**
 * Where a stream begins: after the id that the client has named, or now. An id from the future is
 * now, too: later events are below it.
 */
async function findStart({ views }: ApiContext, resumeAfter: bigint | null): Promise<bigint> {
  const now = (await readEventHorizon(views)) - 1n;
  return resumeAfter === null || resumeAfter > now ? now : resumeAfter;
}

/** A client that sent an id is notified when events after it were deleted. */
function trimmedIn({ views }: ApiContext): Pick<SentEvents, 'findTrimmed'> {
  return { findTrimmed: (after) => findTrimmed(views, after) };
}

/**
 * `Last-Event-ID`, which a client that reconnects sends by itself, before `after`; null when there
 * is neither.
 */
function parseLastEventId(request: ApiRequest<unknown, { after?: string | undefined }, unknown>): bigint | null {
  const header = request.headers['last-event-id'];
  if (header === undefined || header === '')
    return request.query.after === undefined ? null : BigInt(request.query.after);
  if (typeof header === 'string' && EVENT_ID.test(header)) return BigInt(header);
  throw new Problem('invalid_header', 'Last-Event-ID: expected the id of an event, a number.', {
    errors: [{ path: 'Last-Event-ID', message: 'expected the id of an event' }],
  });
}

/** What a client is sent. */
interface SentEvents extends Pick<EventStreamOptions, 'response' | 'tail' | 'after'> {
  /**
   * When the newest of the events was written that were deleted after an id; null: none was.
   * Absent: the client has named no id.
   */
  findTrimmed?: (after: bigint) => Promise<string | null>;
  read: ReadEvents;
  /** Chooses live events as `read` chooses stored ones. */
  isWanted: (event: EventRow) => boolean;
  /** True for the event that ends the stream; it is sent first. */
  isLast: (event: EventRow) => boolean;
  /** False: the stream ends with the past, because nothing more will come. */
  isFollowing: boolean;
  /** Makes the frame of an event, empty for one that is not shown; absent: as for a caller who sees everything. */
  format?: (event: EventRow) => string;
}

async function stream(
  { reply, principal }: AnyRequest,
  services: ApiServices,
  sent: Omit<SentEvents, 'response' | 'tail' | 'format'>,
): Promise<Answer | typeof ANSWERED> {
  services.streams.refuseWhenFull();
  services.admission.leave(reply.request);
  beginEventStream(reply);
  const place = { response: reply.raw, tail: services.tail, ...framesFor(principal) };
  try {
    if (reply.request.method !== 'HEAD') {
      const following = sendEvents({ ...sent, ...place });
      const stopWatching = watchToken(principal, services, () => following.end());
      await services.streams.run(following).finally(stopWatching);
    }
    reply.raw.end();
  } catch {
    // The past could not be read. The client reconnects by itself, with its last id.
    reply.raw.destroy();
  }
  return ANSWERED;
}

/** A token that has ended ends its streams so much later at most, and the age of cached keys. */
const WATCH_MS = 500;

/** Calls `end` when the token of the caller, or its key, is valid no longer. Returns what stops that. */
function watchToken(principal: Principal, { keys }: ApiServices, end: () => void): () => void {
  if (principal.token === undefined) return () => undefined;
  const timer = setInterval(() => {
    // While the database is away, nothing is sent either.
    void keys.isValid(principal).then(
      (isValid) => (isValid ? undefined : end()),
      () => undefined,
    );
  }, WATCH_MS);
  return () => clearInterval(timer);
}

/**
 * How a caller sees events. The frames of live ones are the same for all who see everything. An
 * event names no other session.
 */
function framesFor(principal: Principal): Pick<SentEvents, 'format'> {
  if (principal.token !== undefined) {
    return {
      format(event) {
        const shown = showEvent(event);
        return shown === null ? '' : formatFrame(shown);
      },
    };
  }
  if (principal.scope === EVERYTHING) return {};
  return { format: (event) => formatFrame(event, (shown) => hideNames(liveEvent, shown, principal, () => true)) };
}

/** How long a client waits before it connects again. */
const RETRY_MS = 1000;
/** A client that has read nothing for so many beats is disconnected. */
const STALLED_BEATS_MAX = 4;

export function sendEvents({
  findTrimmed,
  read,
  isWanted,
  isLast,
  isFollowing,
  format,
  ...place
}: SentEvents): EventStream {
  const { response, after } = place;
  let wasReset = false;
  let unreadAtBeat = 0;
  let stalledBeats = 0;

  /** Writes events up to the last one of the stream, and ends it there. False: it must drain. */
  function write(events: readonly EventRow[], frames: readonly string[]): boolean {
    const lastAt = events.findIndex(isLast);
    const text = (lastAt === -1 ? frames : frames.slice(0, lastAt + 1)).join('');
    const hasRoom = text === '' || response.write(text);
    if (lastAt !== -1) following.end();
    return hasRoom;
  }

  /**
   * Once per stream, before the remaining events: the client must reload everything that it derived
   * from the events that it missed. It has no id: the last one stays.
   */
  async function reportTrimmed(afterId: bigint): Promise<void> {
    const at = wasReset ? null : ((await findTrimmed?.(afterId)) ?? null);
    if (at === null || following.isOver) return;
    wasReset = true;
    response.write(`event: reset\ndata: ${JSON.stringify({ type: 'reset', sessionKey: null, turnId: null, at })}\n\n`);
  }

  const following = new EventStream({
    ...place,
    async replay(afterId) {
      const page = await readPage(read, afterId);
      // After the page, so that a deletion that happened before it was read is noticed here.
      if (!following.isOver) await reportTrimmed(afterId);
      if (following.isOver) return page;
      const hasRoom = write(
        page.events,
        page.events.map((event) => (format ?? formatFrame)(event)),
      );
      if (!hasRoom && !following.isOver) await drained(response);
      if (!page.isMore && !isFollowing) following.end();
      return page;
    },
    take(events: LiveEvent[]) {
      const wanted = events.filter(({ event }) => isWanted(event));
      write(
        wanted.map(({ event }) => event),
        wanted.map(({ event, frame }) => format?.(event) ?? frame),
      );
    },
    beat(cursor) {
      const isStalled = response.writableLength > 0 && response.writableLength >= unreadAtBeat;
      unreadAtBeat = response.writableLength;
      stalledBeats = isStalled ? stalledBeats + 1 : 0;
      if (stalledBeats >= STALLED_BEATS_MAX) response.destroy();
      else if (cursor !== null) response.write(`: alive\n${idFrame(cursor)}`);
    },
  });
  if (!following.isOver) response.write(`retry: ${RETRY_MS}\n\n${idFrame(after)}`);
  return following;
}

/**
 * Moves the client's last event id without an event, so that it resumes from here even when nothing
 * came yet.
 */
function idFrame(id: bigint): string {
  return `id: ${id}\n\n`;
}

/** Resolves when the client has read what waits, or has left. */
function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => response.once('drain', resolve).once('close', resolve));
}

export const eventRoutes: Route[] = [getTurnEvents, getEvents];
