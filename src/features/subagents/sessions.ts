// The sessions that an agent is allowed to see with its tools: decided from the configuration and
// the family, never from the model's text (G30). It sends messages to them.
import type { Config } from '../../config.ts';
import type { MessageId, SessionId } from '../../core/ids.ts';
import { sharedOptions, withOptions } from '../../core/input-options.ts';
import { canonicalSessionKey, InvalidSessionKeyError } from '../../core/session-key.ts';
import { beginExchange, exchangeRoute, type SessionMessage } from '../../core/session-message.ts';
import { cutHead, storableText } from '../../core/text.ts';
import { newId } from '../../ids.ts';
import { readTurnOrigin } from '../../kernel/inbox/last-inputs.ts';
import { acceptInput, type Service } from '../../kernel/use-cases/service.ts';
import type { ToolCall } from '../../tools/tool.ts';
import { maySee, type VisibilityRules } from './rules/visibility.ts';
import { findListed, listAgentSessions, listTree, type ListedSession } from './store/seen-sessions.ts';

/** The name that an agent gives a session: its key, or the label of a session that it sees. */
export type SessionName = { key: string } | { label: string; agentId?: string | undefined };

export async function readViewer({ database }: Service, sessionKey: string): Promise<ListedSession> {
  const viewer = await findListed(database, sessionKey);
  if (viewer === null) throw new Error(`There is no session ${sessionKey}.`);
  return viewer;
}

/** The sessions that it may see, newest first. */
export async function listVisible({ config, database }: Service, viewer: ListedSession): Promise<ListedSession[]> {
  const rules = readRules(config);
  const found = new Map<SessionId, ListedSession>();
  for (const session of await listTree(database, viewer.id)) found.set(session.id, session);
  if (rules.visibility === 'agent' || rules.visibility === 'all') {
    const others = await listAgentSessions(database, rules.visibility === 'agent' ? viewer.agentId : null);
    for (const session of others) found.set(session.id, session);
  }
  return [...found.values()]
    .filter((session) => maySee(viewer, session, rules))
    .toSorted((a, b) => (a.id < b.id ? 1 : -1));
}

/**
 * The session of a name; null for one that the viewer must not see, and for one that does not
 * exist.
 */
export async function findVisible(
  service: Service,
  viewer: ListedSession,
  name: SessionName,
): Promise<ListedSession | null> {
  if ('label' in name) {
    const { label, agentId } = name;
    const visible = await listVisible(service, viewer);
    return visible.find((one) => one.label === label && (agentId === undefined || one.agentId === agentId)) ?? null;
  }
  try {
    const target = await findListed(service.database, canonicalSessionKey(name.key));
    return target !== null && maySee(viewer, target, readRules(service.config)) ? target : null;
  } catch (error) {
    if (error instanceof InvalidSessionKeyError) return null;
    throw error;
  }
}

/** Why a session of this name is not shown. */
export function notVisible(name: SessionName): string {
  const text = 'key' in name ? name.key : name.label;
  return `${JSON.stringify(cutHead(text, 220))} is not a session that you may see`;
}

function readRules({ tools }: Config): VisibilityRules {
  return { visibility: tools.sessions.visibility, agentToAgent: tools.agentToAgent };
}

/**
 * Sends a message to a session that the caller may see (G30), once for each call, however often it
 * is run. With an answer wanted it begins an exchange: see src/core/session-message.ts. `refused`:
 * the text says why.
 */
export async function sendBetweenSessions(
  service: Service,
  call: Pick<ToolCall, 'sessionKey' | 'turnId' | 'idempotencyKey'>,
  message: { to: SessionName; text: string; wantsAnswer: boolean },
): Promise<{ kind: 'sent'; sessionKey: string; messageId: MessageId } | { kind: 'refused'; text: string }> {
  const { config, database } = service;
  const viewer = await readViewer(service, call.sessionKey);
  const target = await findVisible(service, viewer, message.to);
  if (target === null) return refused(notVisible(message.to));
  const { key: sessionKey } = target;
  if (target.id === viewer.id) return refused('this is your own session');
  if (target.runId !== null)
    return refused(`${sessionKey} is a working subagent: send to it with subagents(action=steer)`);
  const answered = await readTurnOrigin(database, call.turnId);
  const exchange = beginExchange({
    id: newId<string>(),
    from: { id: viewer.id, key: viewer.key },
    to: { id: target.id, key: sessionKey },
    answered,
    turnsMax: config.session.agentToAgent.maxPingPongTurns,
  });
  if (exchange === null) return refused('too many nested exchanges: answer your user, or end your turn');
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
    platformKey: JSON.stringify(['call', call.idempotencyKey]),
    chargedTo: answered?.chargedTo,
  });
  switch (acceptance.kind) {
    case 'accepted':
      return { kind: 'sent', sessionKey, messageId: acceptance.message.id };
    case 'duplicate':
      return { kind: 'sent', sessionKey, messageId: acceptance.id };
    case 'full':
    case 'mismatch':
      return refused(`the inbox of ${sessionKey} is full; try again later`);
    default:
      return acceptance satisfies never;
  }
}

function refused(text: string): { kind: 'refused'; text: string } {
  return { kind: 'refused', text };
}
