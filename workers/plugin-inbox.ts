// What plugins put into sessions, as rows: a system event or a message, each once for its key, and the ring that it needs.
import type { Inbox } from '../src/store/inbox.ts';
import type { Doorbell } from '../jobs/index.ts';
import { isAgent, type Config, type Lane } from '../src/config.ts';
import { deliveryUrl } from '../src/config/schema-scalars.ts';
import { routeOf, type InboundMessage } from '../src/core/inbound.ts';
import type { MessageId, SessionId, SystemEventId } from '../src/core/ids.ts';
import { agentIdOf, canonicalSessionKey, laneOf, sessionKindOf } from '../src/core/session-key.ts';
import { storableText } from '../src/core/storable-text.ts';
import { newId } from '../src/ids.ts';
import { fingerprintOf, type PluginInbox, type PluginQueueResult } from '../src/plugins/plugin-inbox.ts';
import type { Database } from '../src/store/database.ts';
import { dropOverflow } from '../src/store/drop-overflow.ts';
import { isKeyTaken } from '../src/store/idempotency.ts';
import { enqueueSystemEvent } from '../src/store/system-events.ts';
import type { Wake } from '../src/wake.ts';

export interface PluginInboxParts {
  config: Config;
  database: Database;
  inbox: Inbox;
  doorbell: Pick<Doorbell, 'ring'>;
  wake: Wake;
}

/** Makes the inbox of a worker. */
// oxlint-disable-next-line max-lines-per-function -- Two methods that share how a session is found; each is one call of the store.
export function createPluginInbox({ config, database, inbox, doorbell, wake }: PluginInboxParts): PluginInbox {
  const { ensureSession, accept } = inbox;

  function sessionOf(named: string): Promise<SessionId> {
    const key = canonicalSessionKey(named);
    const agentId = agentIdOf(key);
    if (!isAgent(config, agentId)) throw new Error(`sessionKey: the agent ${JSON.stringify(agentId)} does not exist`);
    const kind = sessionKindOf(key);
    return ensureSession({ key, candidateId: newId<SessionId>(), agentId, kind, lane: laneOf(kind), channel: null });
  }

  return {
    async queueSystemEvent(plugin, { sessionKey, text, key }) {
      const sessionId = await sessionOf(sessionKey);
      const id = newId<SystemEventId>();
      const idempotency = { scope: `plugin:${plugin} system-event`, key, sha256: fingerprintOf({ sessionKey, text }) };
      try {
        const event = {
          id,
          sessionId,
          text: storableText(text).trim(),
          contextKey: null,
          isTrusted: false,
          idempotency,
        };
        const { id: queuedId, disposition } = await enqueueSystemEvent(database, event);
        wake.committed(sessionId, 'progress');
        return { id: queuedId, isNew: disposition === 'queued' };
      } catch (error) {
        if (!isKeyTaken(error)) throw error;
        return { id, isNew: false };
      }
    },

    async sendMessage(plugin, { sessionKey, text, key, deliver }): Promise<PluginQueueResult> {
      if (deliver !== undefined && !deliveryUrl.safeParse(deliver.url).success) {
        throw new Error('deliver.url: expected an http or https URL without user and password');
      }
      const sessionId = await sessionOf(sessionKey);
      const body: InboundMessage = {
        text: storableText(text),
        ...(deliver === undefined ? {} : { deliver: { url: deliver.url } }),
      };
      const { mode, cap, drop } = config.messages.queue;
      const acceptance = await accept({
        messageId: newId<MessageId>(),
        sessionId,
        kind: 'message',
        body: JSON.stringify(body),
        route: routeOf(body, config.owner.ids),
        mode: null,
        queue: { mode, cap, drop },
        platformKey: JSON.stringify(['plugin', plugin, key]),
        idempotency: null,
        waitingMax: config.limits.waitingPerSession,
      });
      switch (acceptance.kind) {
        case 'accepted': {
          wake.committed(sessionId, 'progress');
          if (acceptance.isOverCap) await dropOverflow(database, { sessionId, cap, drop });
          const { ringNo, lane, message } = acceptance;
          // The store writes only lanes of the configuration.
          if (ringNo !== null) await doorbell.ring([{ kind: 'inbound', lane: lane as Lane, sessionId, ringNo }]);
          return { id: message.id, isNew: true };
        }
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
    },
  };
}
