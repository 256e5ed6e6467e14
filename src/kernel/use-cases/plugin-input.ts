// What plugins put into sessions: a system event or a message, each once for its key.
import { isAgent } from '../../config.ts';
import { deliveryUrl } from '../../config/schema-scalars.ts';
import { chooseRoute, type InboundMessage } from '../../core/inbound.ts';
import type { SessionKey, SystemEventId } from '../../core/ids.ts';
import { agentIdOf, canonicalSessionKey } from '../../core/session-key.ts';
import { storableText } from '../../core/text.ts';
import { newId } from '../../ids.ts';
import { isKeyTaken } from '../../database/idempotency.ts';
import { buildNewSession } from '../sessions/sessions.ts';
import { enqueueEvent } from './post-message.ts';
import { queuePolicyOf } from './accept-message.ts';
import { acceptInput, type Service } from './service.ts';

/** `isNew` false: it was queued before under its key, or equals the event before it. */
interface PluginInputResult {
  id: string;
  isNew: boolean;
}

/** Queues an event; `keyed` identifies it within its plugin, with the hash of its content. */
export async function queuePluginEvent(
  service: Service,
  event: { sessionKey: string; text: string; keyed: { plugin: string; key: string; sha256: string } },
): Promise<PluginInputResult> {
  const { plugin, key, sha256 } = event.keyed;
  try {
    const queued = await enqueueEvent(service, {
      sessionKey: parseKey(service, event.sessionKey),
      text: storableText(event.text).trim(),
      contextKey: null,
      trusted: false,
      idempotency: { scope: `plugin:${plugin} system-event`, key, sha256 },
    });
    return { id: queued.id, isNew: queued.disposition === 'queued' };
  } catch (error) {
    if (!isKeyTaken(error)) throw error;
    return { id: newId<SystemEventId>(), isNew: false };
  }
}

/** Sends a message that the session answers; `key` names it within its plugin. */
export async function sendPluginMessage(
  service: Service,
  plugin: string,
  message: { sessionKey: string; text: string; key: string; deliver?: { url: string } | null },
): Promise<PluginInputResult> {
  const { config, inbox } = service;
  const { sessionKey, text, key, deliver } = message;
  if (deliver !== undefined && deliver !== null && !deliveryUrl.safeParse(deliver.url).success) {
    throw new Error('deliver.url: expected an http or https URL without user and password');
  }
  const sessionId = await inbox.ensureSession(buildNewSession(parseKey(service, sessionKey)));
  const body: InboundMessage = {
    text: storableText(text),
    plugin,
    ...(deliver === undefined ? {} : { deliver: deliver === null ? null : { url: deliver.url } }),
  };
  const acceptance = await acceptInput(service, {
    sessionId,
    kind: 'message',
    body: JSON.stringify(body),
    route: chooseRoute(body, config.owner.ids),
    queue: queuePolicyOf(config, body),
    platformKey: JSON.stringify(['plugin', plugin, key]),
  });
  switch (acceptance.kind) {
    case 'accepted':
      return { id: acceptance.message.id, isNew: true };
    case 'duplicate':
      return { id: acceptance.id, isNew: false };
    case 'mismatch':
    case 'full':
      throw new Error(
        `${sessionKey} has ${config.limits.waitingPerSession} waiting messages, the limit (limits.waitingPerSession). Try again later.`,
      );
    default:
      return acceptance satisfies never;
  }
}

/** The key of a session of a configured agent. */
function parseKey({ config }: Service, named: string): SessionKey {
  const key = canonicalSessionKey(named);
  const agentId = agentIdOf(key);
  if (!isAgent(config, agentId)) throw new Error(`sessionKey: the agent ${JSON.stringify(agentId)} does not exist`);
  return key;
}
