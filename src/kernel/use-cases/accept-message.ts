// From a checked message to a committed inbox row: carries out chat commands, ensures that the
// session exists, stores the message, and publishes it. Nothing waits for the ring: the row is its
// own outbox, and the reconciler rings again when the ring is lost.
import { toAddress } from '../rules/message-route.ts';
import type { AcceptedMessage } from '../../contract/answers.ts';
import { systemClock } from '../../clock.ts';
import { agentOf, toolPolicyFault, type Config } from '../../config.ts';
import { readMessage } from '../rules/chat-command.ts';
import { readOptions, type Tags } from '../../core/input-options.ts';
import { channelOf, derivePlatformKey, chooseRoute, type InboundMessage } from '../../core/inbound.ts';
import type { DeliveryId, MessageId, SessionId, SessionKey } from '../../core/ids.ts';
import { parseTraceParent } from '../../core/telemetry.ts';
import { agentIdOf, hasEffects, sessionKindOf } from '../../core/session-key.ts';
import { newId } from '../../ids.ts';
import type { Acceptance } from '../inbox/accept-messages.ts';
import type { CommandDelivery } from '../inbox/commands.ts';
import type { KeyedRequest } from '../../database/idempotency.ts';
import type { NewInput } from '../inbox/new-input.ts';
import { viewAcceptance, viewMessage } from '../views/messages.ts';
import type { ViewDatabase } from '../../database/page.ts';
import { viewSession } from '../views/sessions.ts';
import { carryOutCommand, findChatWord, storeChatWord, findModelFault } from './chat-commands.ts';
import { confineSessions, type Service } from './service.ts';
import { buildNewSession, type NeededSession, SessionErasedError } from '../sessions/sessions.ts';
import { patchSession, type SessionPatch } from '../sessions/patch-session.ts';

/**
 * `accepted`: committed. `duplicate`: it was accepted before; the answer is the first one when the
 * Idempotency-Key says so, else it shows the message as it is now. In all other cases nothing was
 * written. `mismatch`: the key was used with another body. `refused`: no provider serves the model,
 * or the field at `path` does not fit. `full`: too many messages wait.
 */
export type AcceptResult =
  | ({ kind: 'accepted'; sessionId: string } & AcceptedMessage)
  | ({ kind: 'duplicate'; by: 'idempotency' | 'platform'; sessionId: string } & AcceptedMessage)
  | { kind: 'mismatch' }
  | { kind: 'refused'; message: string; path?: string }
  | { kind: 'full'; retryAfterMs: number };

const COMMANDS_ARE_NOW = 'a chat command takes effect immediately, and cannot be delivered later';

/** How long a client is asked to wait while the largest number of messages waits. */
const FULL_RETRY_MS = 2_000;

/** A message and who has sent it. */
interface SentMessage {
  sessionKey: SessionKey;
  body: InboundMessage;
  idempotency: KeyedRequest | null;
  /** The name of the API key that it came with; absent or null: a key without a name. */
  sentBy?: string | null;
  /** See `NeededSession`; absent: the session belongs to its own key. */
  root?: string | null;
  /** The header of its request. */
  traceparent?: string | undefined;
}

/**
 * Accepts a message; resolves after the commit. Rejects with `UnknownAgentError`, and when nothing
 * is known to be written.
 */
export async function acceptMessage(service: Service, message: SentMessage): Promise<AcceptResult> {
  const { sessionKey, body, root = null } = message;
  return (
    refuseMessage(service, message) ??
    writeToSession(service, { key: sessionKey, channel: channelOf(body), root }, (sessionId) =>
      storeMessage(service, message, sessionId),
    )
  );
}

/**
 * Why a message is not accepted, as far as that is known before anything is written; null: it may
 * be. Throws `UnknownAgentError`.
 */
export function refuseMessage(
  { config, waiting }: Service,
  { sessionKey, body }: Pick<SentMessage, 'sessionKey' | 'body'>,
): Extract<AcceptResult, { kind: 'refused' | 'full' }> | null {
  agentOf(config, agentIdOf(sessionKey));
  const fault = findModelFault(config, sessionKey, body.model);
  if (fault !== null) return { kind: 'refused', message: fault };
  const policyFault = toolPolicyFault(config, body.options?.tools, body.options?.externalTools);
  if (policyFault !== null) return { kind: 'refused', ...policyFault };
  return waiting.total() >= config.limits.waitingTotal ? { kind: 'full', retryAfterMs: FULL_RETRY_MS } : null;
}

/** What the answer shows of a message as it was sent. */
interface SentFacts {
  sessionKey: SessionKey;
  sessionId: SessionId;
  text: string;
  tags: Tags;
}

async function storeMessage(service: Service, message: SentMessage, sessionId: SessionId): Promise<AcceptResult> {
  const { config, views, inbox, publish } = service;
  const { sessionKey, idempotency, sentBy = null, traceparent } = message;
  const sent: InboundMessage = service.isConfined ? { ...message.body, isConfined: true } : message.body;
  const messageId = newId<MessageId>();
  const word = findChatWord(service, sent);
  const { body, command } = word === null ? readMessage(sent, config.owner.ids) : { body: sent, command: null };
  const row = {
    messageId,
    body: JSON.stringify(sentBy === null ? body : { ...body, sentBy }),
    route: chooseRoute(body, config.owner.ids),
    platformKey: derivePlatformKey(sessionKey, sent),
    idempotency,
    countedFor: service.countsMessages ? sentBy : null,
  };
  const trusted = isTrustedParent(config, traceparent) ? { traceparent } : undefined;
  const input = {
    ...row,
    sessionId,
    mode: body.mode ?? null,
    waitingMax: config.limits.waitingPerSession,
    priority: body.priority,
    ...trusted,
  };
  const about = { sessionKey, sessionId, text: body.text, tags: readOptions(body).tags ?? {} };
  const { deliverAt = 0 } = body;
  if (deliverAt > systemClock.now().getTime()) {
    if (command !== null || word !== null) return { kind: 'refused', path: 'deliverAt', message: COMMANDS_ARE_NOW };
    const queue = queuePolicyOf(config, body);
    return readAnswer(views, publish(await inbox.delay({ ...input, kind: 'message', queue, deliverAt })), about);
  }
  if (command === null && word === null) {
    return store(service, { ...input, kind: 'message', queue: queuePolicyOf(config, body) }, about);
  }
  if (command?.kind === 'compact') return store(service, { ...input, kind: 'compaction' }, about);
  const delivery = commandDelivery(config, { sessionKey, messageId, body });
  const given = { sessionId, input: { ...row, delivery } };
  const isStored =
    command === null
      ? await storeChatWord(service, given, await word!.carryOut(service, sent))
      : await carryOutCommand(service, { ...given, command, sessionKey });
  if (isStored) return { ...(await firstAnswer(views, messageId)), kind: 'accepted' };
  // It was stored before, with its reply: the statement finds it.
  return store(service, { ...input, kind: 'message', commandReply: '' }, about);
}

/** True for a header that says which trace the message belongs to. */
function isTrustedParent({ telemetry }: Config, traceparent: string | undefined): traceparent is string {
  return telemetry.trustParent && traceparent !== undefined && parseTraceParent(traceparent) !== null;
}

async function store(
  { views, inbox, waiting, publish }: Service,
  input: NewInput,
  about: SentFacts,
): Promise<AcceptResult> {
  const acceptance = publish(await inbox.accept(input));
  if (acceptance.kind === 'accepted' && acceptance.message.status === 'waiting') waiting.add(1);
  return readAnswer(views, acceptance, about);
}

/** The delivery of the reply to a command, to where its sender wants answers; null: nowhere. */
function commandDelivery(
  { channels: { webhook } }: Config,
  given: { sessionKey: SessionKey; messageId: MessageId; body: InboundMessage },
): CommandDelivery | null {
  const { sessionKey, messageId, body } = given;
  const url = body.deliver?.url ?? webhook.url;
  if (url === undefined || body.deliver === null || !hasEffects({ kind: sessionKindOf(sessionKey) })) return null;
  return {
    id: newId<DeliveryId>(),
    target: { url },
    payload: { type: 'command', sessionKey, turnId: null, messageIds: [messageId], ...toAddress(body) },
    expiresMs: webhook.expiresAfter,
  };
}

/** What holds for a message of this channel where neither it nor its session says otherwise. */
export function queuePolicyOf({ messages: { queue } }: Config, body: InboundMessage) {
  const channel = channelOf(body);
  const byChannel = Object.hasOwn(queue.byChannel, channel) ? queue.byChannel[channel] : undefined;
  return { mode: byChannel ?? queue.mode, cap: queue.cap, drop: queue.drop };
}

async function readAnswer(views: ViewDatabase, acceptance: Acceptance, sent: SentFacts): Promise<AcceptResult> {
  switch (acceptance.kind) {
    case 'accepted': {
      const { sessionId, ...about } = sent;
      const { session, disposition } = acceptance;
      const message = { ...acceptance.message, ...about, turnId: null, why: null, retryOf: null, retryOfTurn: null };
      return { kind: 'accepted', sessionId, message, session, disposition };
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

// The session that an input from outside is for. It is created by the first input that reaches it,
// if its agent is configured. The overrides of a session are changed here, too.

/** How often the session is searched for when it is erased meanwhile. */
const ATTEMPTS_MAX = 3;

/** A session that an input reaches; the fields other than `key` are used only when it makes it. */
type ReachedSession = Pick<NeededSession, 'key' | 'root'> & { channel?: string | null };

/**
 * The id of the session; rejects with `UnknownAgentError` of the configuration. `channel`: where
 * its first input comes from.
 */
export async function reachSession(
  service: Service,
  { key, channel, root = null }: ReachedSession,
): Promise<SessionId> {
  agentOf(service.config, agentIdOf(key));
  const id = await service.inbox.ensureSession({ ...buildNewSession(key, channel), root });
  // Before it has words of the caller. A crash in between leaves a session without any.
  await confineSessions(service, [key]);
  return id;
}

/**
 * Writes to the session of a key, and again to a new session if it was erased after it was found.
 * Rejects as `write` does.
 */
export async function writeToSession<Result>(
  service: Service,
  session: ReachedSession,
  write: (sessionId: SessionId) => Promise<Result>,
): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    const sessionId = await reachSession(service, session);
    try {
      return await write(sessionId);
    } catch (error) {
      if (!(error instanceof SessionErasedError) || attempt === ATTEMPTS_MAX) throw error;
      service.inbox.ensureSession.drop(session.key);
    }
  }
}

// Changes the overrides of a session: what people set through the API, and the one that an agent
// may set for itself.

/** `refused`: no provider serves the model, as the message says. `unknown`: no such session. */
export type OverrideResult = { kind: 'done' | 'unknown' } | { kind: 'refused'; message: string };

/** Sets them; a model that no provider serves is refused before anything is stored. */
export async function overrideSession(
  { config, database }: Service,
  sessionKey: string,
  patch: SessionPatch,
): Promise<OverrideResult> {
  const fault = findModelFault(config, sessionKey, patch.model);
  if (fault !== null) return { kind: 'refused', message: fault };
  return { kind: (await patchSession(database, sessionKey, patch)) ? 'done' : 'unknown' };
}
