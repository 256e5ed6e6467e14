// Builds what the API is given: its functions, made of the store and the doorbell.
import { drizzle } from 'drizzle-orm/node-postgres';
import type { Doorbell, Ring } from '../jobs/index.ts';
import type {
  Accepted,
  AcceptMessage,
  ApiContext,
  Control,
  EnqueueSystemEvent,
  ModelInfo,
} from '../src/api/context.ts';
import type { Clock } from '../src/clock.ts';
import { agentOf, isAgent, type Config, type Lane } from '../src/config.ts';
import type { MessageId, SessionId, SessionKey, SystemEventId } from '../src/core/ids.ts';
import { channelOf, routeOf, type InboundMessage } from '../src/core/inbound.ts';
import { agentIdOf, laneOf, sessionKindOf } from '../src/core/session-key.ts';
import { newId } from '../src/ids.ts';
import type { Logger } from '../src/logger.ts';
import { createAccept, type Acceptance } from '../src/store/accept-messages.ts';
import { abortSession, abortTurn, retryTurn } from '../src/store/control.ts';
import type { Database } from '../src/store/database.ts';
import { readFirstAnswer } from '../src/store/first-answers.ts';
import { patchSession } from '../src/store/patch-session.ts';
import { createEnsureSession } from '../src/store/sessions.ts';
import { discardDelivery, redriveDelivery } from '../src/store/decide-delivery.ts';
import { enqueueSystemEvent } from '../src/store/system-events.ts';
import { viewMessage, type MessageView } from '../src/store/views/messages.ts';
import type { ViewDatabase } from '../src/store/views/page.ts';
import { viewSession } from '../src/store/views/sessions.ts';
import { deriveRequest } from '../src/turn/derive-request.ts';
import type { Wake } from '../src/wake.ts';

export interface ApiParts {
  config: Config;
  logger: Logger;
  clock: Clock;
  database: Database;
  doorbell: Doorbell;
  wake: Wake;
  adminKey: string;
  modelInfo: ModelInfo;
  dependencies: ApiContext['dependencies'];
}

/** When a full inbox may have room again, in milliseconds: a guess, for Retry-After. */
const FULL_RETRY_MS = 5_000;

/** The context of an API process. */
export function createApiContext(parts: ApiParts): ApiContext {
  const { config, database } = parts;
  const views: ViewDatabase = drizzle({ client: database.views });
  const ensure = createEnsureSession(database);
  const ensureSession = (key: SessionKey, channel: string | null): Promise<SessionId> => {
    const kind = sessionKindOf(key);
    return ensure({ key, candidateId: newId<SessionId>(), agentId: agentIdOf(key), kind, lane: laneOf(kind), channel });
  };
  return {
    config,
    logger: parts.logger,
    clock: parts.clock,
    adminKey: parts.adminKey,
    views,
    wake: parts.wake,
    modelInfo: parts.modelInfo,
    dependencies: parts.dependencies,
    accept: createAcceptMessage(parts, views, ensureSession),
    enqueueSystemEvent: createEnqueue(parts, ensureSession),
    control: createControl(parts, views),
    deriveRequest: (turnId, callNo) =>
      deriveRequest(database, {
        turnId,
        callNo,
        defaultThinking: (agentId) => (isAgent(config, agentId) ? agentOf(config, agentId).thinking : 'off'),
      }),
  };
}

type EnsureSession = (key: SessionKey, channel: string | null) => Promise<SessionId>;

function createAcceptMessage(parts: ApiParts, views: ViewDatabase, ensureSession: EnsureSession): AcceptMessage {
  const { config, database, doorbell, wake } = parts;
  const accept = createAccept(database);
  const ownerIds = [...config.owner.ids, ...(config.owner.phone === undefined ? [] : [config.owner.phone])];
  return async ({ sessionKey, body, idempotency }) => {
    const sessionId = await ensureSession(sessionKey, channelOf(body));
    const acceptance = await accept({
      messageId: newId<MessageId>(),
      sessionId,
      kind: 'message',
      body: JSON.stringify(body),
      route: routeOf(body, ownerIds),
      mode: body.mode ?? null,
      platformKey: platformKeyOf(sessionKey, body),
      idempotency,
      waitingMax: config.limits.waitingPerSession,
    });
    if (acceptance.kind === 'accepted') {
      wake.committed(sessionId);
      // The 202 does not wait for the ring: the row is its own outbox, and the reconciler rings too.
      if (acceptance.ringNo !== null) void doorbell.ring([inboundRing(sessionId, acceptance.lane, acceptance.ringNo)]);
    }
    return answerOf(acceptance, { sessionKey, sessionId, text: body.text, database, views });
  };
}

interface AnswerParts {
  sessionKey: SessionKey;
  sessionId: SessionId;
  text: string;
  database: Database;
  views: ViewDatabase;
}

async function answerOf(acceptance: Acceptance, parts: AnswerParts): Promise<Accepted> {
  const { sessionKey, sessionId, text, database, views } = parts;
  switch (acceptance.kind) {
    case 'mismatch':
      return { kind: 'mismatch' };
    case 'full':
      return { kind: 'full', retryAfterMs: FULL_RETRY_MS };
    case 'accepted': {
      const message = waitingMessage({ ...acceptance.message, sessionKey, kind: 'message', text });
      return { kind: 'accepted', sessionId, message, session: acceptance.session, disposition: 'queued' };
    }
    case 'duplicate': {
      if (acceptance.by === 'idempotency') {
        const first = await readFirstAnswer(database, acceptance.id);
        if (first === null) throw new Error(`The message ${acceptance.id} of an idempotency key does not exist.`);
        const message = waitingMessage({ ...first, id: acceptance.id, sessionKey: first.session.key });
        return {
          kind: 'duplicate',
          by: 'idempotency',
          sessionId: first.sessionId,
          message,
          session: first.session,
          disposition: 'queued',
        };
      }
      const message = await viewMessage(views, acceptance.id);
      const session = message === null ? null : await viewSession(views, message.sessionKey);
      if (message === null || session === null) throw new Error(`The message ${acceptance.id} does not exist.`);
      return { kind: 'duplicate', by: 'platform', sessionId: session.id, message, session, disposition: 'duplicate' };
    }
  }
}

function waitingMessage(
  known: Pick<MessageView, 'id' | 'sessionKey' | 'seq' | 'kind' | 'text' | 'receivedAt'>,
): MessageView {
  const { id, sessionKey, seq, kind, text, receivedAt } = known;
  return {
    id,
    sessionKey,
    seq,
    kind,
    text,
    status: 'waiting',
    turnId: null,
    reply: null,
    error: null,
    receivedAt,
    settledAt: null,
  };
}

/** Unique for ever per channel, account and chat; a chat without an id is its session. */
function platformKeyOf(sessionKey: SessionKey, body: InboundMessage): string | null {
  if (body.messageId === undefined) return null;
  return JSON.stringify([channelOf(body), body.accountId ?? null, body.chatId ?? sessionKey, body.messageId]);
}

function inboundRing(sessionId: SessionId, lane: string, ringNo: number): Ring {
  return { kind: 'inbound', sessionId, lane: lane as Lane, ringNo };
}

function createEnqueue({ database, wake }: ApiParts, ensureSession: EnsureSession): EnqueueSystemEvent {
  return async ({ sessionKey, text, contextKey, trusted }) => {
    const sessionId = await ensureSession(sessionKey, null);
    const id = newId<SystemEventId>();
    const enqueued = await enqueueSystemEvent(database, { id, sessionId, text, contextKey, isTrusted: trusted });
    wake.committed(sessionId);
    const { event } = enqueued;
    return {
      disposition: enqueued.disposition,
      event: {
        id: event?.id ?? id,
        sessionKey,
        text,
        contextKey,
        trusted,
        createdAt: event?.createdAt ?? new Date().toISOString(),
      },
    };
  };
}

function createControl({ database, doorbell, wake }: ApiParts, views: ViewDatabase): Control {
  return {
    async abortSession(input) {
      const abortion = await abortSession(database, input);
      if (abortion === null) return null;
      const { ring, ...answer } = abortion;
      if (ring !== null) void doorbell.ring([inboundRing(ring.sessionId, ring.lane, ring.ringNo)]);
      return answer;
    },
    abortTurn: (turnId) => abortTurn(database, turnId),
    async retryTurn(turnId) {
      const retried = await retryTurn(database, turnId);
      if (retried.kind !== 'ok') return retried.kind;
      wake.committed(retried.sessionId);
      if (retried.ringNo !== null) {
        void doorbell.ring([inboundRing(retried.sessionId as SessionId, retried.lane, retried.ringNo)]);
      }
      return 'ok';
    },
    patchSession: (sessionKey, patch) => patchSession(views, sessionKey, patch),
    redriveDelivery: (id) => redriveDelivery(views, id),
    discardDelivery: (id) => discardDelivery(views, id),
  };
}
