// From a checked message to a committed inbox row: ensures that its session exists, stores it, rings, and returns the result.
// The ring is not awaited: the row is its own outbox, and the reconciler rings again when the ring is lost.
import type { Inbox } from '../store/inbox.ts';
import type { Doorbell } from '../../jobs/ring.ts';
import type { Config, Lane } from '../config.ts';
import { mayCommand, readChatCommand, takeDirectives, type ChatCommand } from '../core/chat-command.ts';
import { channelOf, routeOf, type InboundMessage } from '../core/inbound.ts';
import type { DeliveryId, MessageId, SessionId, SessionKey } from '../core/ids.ts';
import { addressOf } from '../core/reply-address.ts';
import { agentIdOf, laneOf, sessionKindOf } from '../core/session-key.ts';
import { newId } from '../ids.ts';
import { type Acceptance, type StoredMessage } from '../store/accept-messages.ts';
import { readDeliveryRing, type CommandDelivery } from '../store/commands.ts';
import type { Database } from '../store/database.ts';
import { dropOverflow } from '../store/drop-overflow.ts';
import { viewAcceptance, viewMessage, type MessageView } from '../store/views/messages.ts';
import type { ViewDatabase } from '../store/views/page.ts';
import { viewSession } from '../store/views/sessions.ts';
import type { Wake } from '../wake.ts';
import { createCommands } from './chat-commands.ts';
import type { AcceptResult, AcceptMessage, Control } from './context.ts';
import { createWaitingTotal } from './waiting-total.ts';

export interface AcceptParts {
  config: Config;
  database: Database;
  inbox: Inbox;
  views: ViewDatabase;
  doorbell: Pick<Doorbell, 'ring'>;
  wake: Wake;
  control: Pick<Control, 'abortSession' | 'patchByCommand'>;
}

/** How long a client is asked to wait when as much waits as may. */
const FULL_RETRY_MS = 2_000;

/** Makes the function that accepts messages; messages that arrive together share statements. */
export function createAcceptMessage(parts: AcceptParts): AcceptMessage {
  const { config, database, views, doorbell, wake } = parts;
  const { ensureSession, accept } = parts.inbox;
  const waiting = createWaitingTotal(views);
  const commands = createCommands(parts);

  return async ({ sessionKey, body: sent, idempotency }) => {
    if (waiting.total() >= config.limits.waitingTotal) return { kind: 'full', retryAfterMs: FULL_RETRY_MS };
    const needed = newSessionOf(sessionKey, sent);
    const sessionId = await ensureSession(needed);
    const messageId = newId<MessageId>();
    const platformKey = platformKeyOf(sessionKey, sent);
    const { body, command } = readMessage(sent, config.owner.ids);
    const stored = {
      messageId,
      body: JSON.stringify(body),
      route: routeOf(body, config.owner.ids),
      platformKey,
      idempotency,
    };
    const delivery = command === null ? null : commandDelivery(config, { sessionKey, messageId, body });
    const input = { ...stored, delivery };
    const outcome = command === null ? null : await commands({ command, sessionKey, sessionId, input });
    if (outcome?.kind === 'stored') {
      const ringNo = delivery === null ? null : await readDeliveryRing(database, delivery.id);
      if (ringNo !== null) void doorbell.ring([{ kind: 'deliver', sessionId, ringNo }]);
      return { ...(await firstAnswer(views, messageId)), kind: 'accepted' };
    }
    const queue = queuePolicyOf(config, body);
    const acceptance = await accept({
      ...stored,
      sessionId,
      kind: command?.kind === 'compact' ? 'compaction' : 'message',
      mode: body.mode ?? null,
      // A command that is stored already has its own reply.
      ...(outcome === null ? { queue } : outcome.kind === 'message' ? {} : { commandReply: '' }),
      waitingMax: config.limits.waitingPerSession,
    });
    if (acceptance.kind === 'accepted') {
      if (acceptance.message.status === 'waiting') waiting.add(1);
      wake.committed(sessionId, 'progress');
      if (acceptance.isOverCap && (await dropOverflow(database, { sessionId, ...queue })) > 0) {
        wake.committed(sessionId, 'settlement');
      }
      if (acceptance.ringNo !== null) {
        const { ringNo } = acceptance;
        // The store writes only lanes of the configuration.
        void doorbell.ring([{ kind: 'inbound', lane: acceptance.lane as Lane, sessionId, ringNo }]);
      }
    }
    return answerOf(views, acceptance, { sessionKey, sessionId, text: body.text });
  };
}

/** The message as it is processed: a command of an authorised sender, or text without its directives. */
function readMessage(
  sent: InboundMessage,
  ownerIds: readonly string[],
): { body: InboundMessage; command: ChatCommand | null } {
  if (!sent.text.includes('/') || !mayCommand(sent, ownerIds)) return { body: sent, command: null };
  const command = readChatCommand(sent.text);
  return command === null ? { body: { ...sent, ...takeDirectives(sent.text) }, command } : { body: sent, command };
}

/** The delivery of the reply to a command, to where its sender wants answers; null: nowhere. */
function commandDelivery(
  { channels: { webhook } }: Config,
  given: { sessionKey: SessionKey; messageId: MessageId; body: InboundMessage },
): CommandDelivery | null {
  const { sessionKey, messageId, body } = given;
  const url = body.deliver?.url ?? webhook.url;
  if (url === undefined) return null;
  return {
    id: newId<DeliveryId>(),
    target: { url },
    payload: { type: 'command', sessionKey, turnId: null, messageIds: [messageId], ...addressOf(body) },
    expiresMs: webhook.expiresAfter,
  };
}

/** What holds for a message of this channel where neither it nor its session says otherwise. */
function queuePolicyOf({ messages: { queue } }: Config, body: InboundMessage) {
  const channel = channelOf(body);
  const byChannel = Object.hasOwn(queue.byChannel, channel) ? queue.byChannel[channel] : undefined;
  return { mode: byChannel ?? queue.mode, cap: queue.cap, drop: queue.drop };
}

/** A session as it is made when this message is the first that reaches it. */
export function newSessionOf(key: SessionKey, body?: InboundMessage) {
  const kind = sessionKindOf(key);
  let candidateId: SessionId | undefined;
  return {
    key,
    // Created on demand: nearly always the session exists.
    get candidateId() {
      return (candidateId ??= newId<SessionId>());
    },
    agentId: agentIdOf(key),
    kind,
    lane: laneOf(kind),
    channel: body === undefined ? null : channelOf(body),
  };
}

/** Unique without a time limit per channel, account and chat (G2); a message without a chat belongs to that of its session. */
function platformKeyOf(sessionKey: SessionKey, body: InboundMessage): string | null {
  if (body.messageId === undefined) return null;
  return JSON.stringify([
    channelOf(body),
    body.accountId ?? null,
    body.chatId ?? `session:${sessionKey}`,
    body.messageId,
  ]);
}

async function answerOf(
  views: ViewDatabase,
  acceptance: Acceptance,
  sent: { sessionKey: SessionKey; sessionId: SessionId; text: string },
): Promise<AcceptResult> {
  switch (acceptance.kind) {
    case 'accepted': {
      const message = newMessageView(acceptance.message, sent);
      return {
        kind: 'accepted',
        sessionId: sent.sessionId,
        message,
        session: acceptance.session,
        disposition: acceptance.disposition,
      };
    }
    case 'duplicate':
      return acceptance.by === 'idempotency'
        ? firstAnswer(views, acceptance.id)
        : duplicateAnswer(views, acceptance.id);
    case 'mismatch':
      return acceptance;
    case 'full':
      return { kind: 'full', retryAfterMs: FULL_RETRY_MS };
    default:
      return acceptance satisfies never;
  }
}

function newMessageView(stored: StoredMessage, sent: { sessionKey: SessionKey; text: string }): MessageView {
  return {
    ...stored,
    sessionKey: sent.sessionKey,
    kind: stored.kind,
    text: sent.text,
    turnId: null,
    why: null,
    retryOf: null,
  };
}

type Duplicate = Extract<AcceptResult, { kind: 'duplicate' }>;

/** The answer that the first request with the key was given. */
async function firstAnswer(views: ViewDatabase, id: string): Promise<Duplicate> {
  const first = await viewAcceptance(views, id);
  if (first === null || first.session === null) return duplicateAnswer(views, id);
  return { kind: 'duplicate', by: 'idempotency', ...first, session: first.session };
}

/** The message that the platform's id names already, as it is now. */
async function duplicateAnswer(views: ViewDatabase, id: string): Promise<Duplicate> {
  const message = await viewMessage(views, id);
  const session = message === null ? null : await viewSession(views, message.sessionKey);
  if (message === null || session === null) throw new Error(`the stored message ${id} no longer exists`);
  return { kind: 'duplicate', by: 'platform', sessionId: session.id, message, session, disposition: 'duplicate' };
}
