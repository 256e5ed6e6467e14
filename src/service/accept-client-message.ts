// Accepts a message of a client of the OpenAI-compatible endpoints: a new session gets the history that the client has sent, and then the
// message, as any other.
import type { SessionKey } from '../core/ids.ts';
import { channelOf, type InboundMessage } from '../core/inbound.ts';
import type { ClientEntry } from '../core/openai/conversation.ts';
import { beginHistory } from '../store/begin-history.ts';
import type { KeyedRequest } from '../store/idempotency.ts';
import { acceptMessage, type AcceptResult } from './accept-message.ts';
import { reachSession } from './reach-session.ts';
import type { Service } from './service.ts';

type ClientAcceptance =
  | { kind: 'accepted'; messageId: string; /** True: an equal request was first. */ isReplay: boolean }
  | Exclude<AcceptResult, { kind: 'accepted' | 'duplicate' }>;

/** Accepts it; sent again with its key, it is the message of the first time. Rejects as `acceptMessage` does. */
export async function acceptClientMessage(
  service: Service,
  message: {
    sessionKey: SessionKey;
    /** Appended if the session has exactly `after` entries and no message. */
    history: { entries: readonly ClientEntry[]; after: number };
    body: InboundMessage;
    idempotency: KeyedRequest;
    sentBy: string | null;
  },
): Promise<ClientAcceptance> {
  const { history, sessionKey, body, ...rest } = message;
  if (history.entries.length > 0) {
    const sessionId = await reachSession(service, sessionKey, channelOf(body));
    await beginHistory(service.database, sessionId, history);
  }
  const result = await acceptMessage(service, { ...rest, body, sessionKey });
  return result.kind === 'accepted' || result.kind === 'duplicate'
    ? { kind: 'accepted', messageId: result.message.id, isReplay: result.kind === 'duplicate' }
    : result;
}
