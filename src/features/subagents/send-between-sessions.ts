// Sends a message from one session to another that it may see (G30). With an answer wanted it
// begins an exchange: see src/core/session-message.ts.
import { beginExchange, exchangeRoute, type SessionMessage } from '../../core/session-message.ts';
import { sharedOptions, withOptions } from '../../core/input-options.ts';
import type { MessageId } from '../../core/ids.ts';
import { storableText } from '../../core/text.ts';
import { newId } from '../../ids.ts';
import { readTurnOrigin } from '../../kernel/inbox/last-inputs.ts';
import { acceptInput, type Service } from '../../kernel/use-cases/service.ts';
import { findVisible, readViewer, type SessionName } from './visible-sessions.ts';

/** The tool call that sends. */
export interface SendCause {
  sessionKey: string;
  turnId: string;
  /** One message for each, however often the call is run. */
  idempotencyKey: string;
}

/**
 * `sent`: stored, now or by an earlier run of the call. `unseen`: the sender sees no such session.
 * `itself`: it is the sender. `subagent`: it works for another session, and is steered instead.
 * `nested`: too many exchanges inside each other. `full`: too many messages wait there.
 */
export type SendAnswer =
  | { kind: 'sent'; targetKey: string; messageId: MessageId }
  | { kind: 'subagent' | 'full'; targetKey: string }
  | { kind: 'unseen' | 'itself' | 'nested' };

export async function sendBetweenSessions(
  service: Service,
  cause: SendCause,
  message: { to: SessionName; text: string; wantsAnswer: boolean },
): Promise<SendAnswer> {
  const { config, database } = service;
  const viewer = await readViewer(service, cause.sessionKey);
  const target = await findVisible(service, viewer, message.to);
  if (target === null) return { kind: 'unseen' };
  const targetKey = target.key;
  if (target.id === viewer.id) return { kind: 'itself' };
  if (target.runId !== null) return { kind: 'subagent', targetKey };
  const answered = await readTurnOrigin(database, cause.turnId);
  const exchange = beginExchange({
    id: newId<string>(),
    from: { id: viewer.id, key: viewer.key },
    to: { id: target.id, key: targetKey },
    answered,
    turnsMax: config.session.agentToAgent.maxPingPongTurns,
  });
  if (exchange === null) return { kind: 'nested' };
  const body: SessionMessage = {
    text: storableText(message.text),
    provenance: { kind: 'inter_session', sourceSession: viewer.key, sourceTool: 'sessions_send' },
    ...(message.wantsAnswer ? { exchange } : {}),
    ...(answered === null ? {} : { chargedTo: answered.chargedTo }),
    ...withOptions(sharedOptions(answered?.options ?? {})),
  };
  const acceptance = await acceptInput(service, {
    sessionId: target.id,
    kind: 'message',
    body: JSON.stringify(body),
    route: exchangeRoute(exchange),
    platformKey: JSON.stringify(['call', cause.idempotencyKey]),
    chargedTo: answered?.chargedTo,
  });
  switch (acceptance.kind) {
    case 'accepted':
      return { kind: 'sent', targetKey, messageId: acceptance.message.id };
    case 'duplicate':
      return { kind: 'sent', targetKey, messageId: acceptance.id };
    case 'full':
    case 'mismatch':
      return { kind: 'full', targetKey };
    default:
      return acceptance satisfies never;
  }
}
