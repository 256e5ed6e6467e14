// What the OpenAI-compatible endpoints store: the message of a request, the results of tools that
// its client runs, and what its client takes back.
import type { ToolResultBlock } from '../../core/content.ts';
import type { SessionKey } from '../../core/ids.ts';
import { channelOf, type InboundMessage } from '../../core/inbound.ts';
import type { ClientEntry } from './rules/conversation.ts';
import { beginHistory } from './store/client-requests.ts';
import { transaction } from '../../database/transaction.ts';
import { settleCalls } from '../../kernel/turn/journal/settle-calls.ts';
import type { KeyedRequest } from '../../database/idempotency.ts';
import { acceptMessage, type AcceptResult, reachSession } from '../../kernel/use-cases/accept-message.ts';
import type { Service } from '../../kernel/use-cases/service.ts';

export { keyOfClientRequest } from './store/client-requests.ts';
export { hideResponse } from './store/client-requests.ts';

export type ClientAcceptance =
  | { kind: 'accepted'; messageId: string; /** True: an equal request was first. */ isReplay: boolean }
  | Exclude<AcceptResult, { kind: 'accepted' | 'duplicate' }>;

/**
 * Accepts it; sent again with its key, it is the message of the first time. Rejects as
 * `acceptMessage` does.
 */
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

/** What a client has made of one of its calls. */
interface CallerResult {
  ordinal: number;
  content: ToolResultBlock['content'];
}

/** Gives the results of tools that a client runs to their turn, if it waits for them. */
export async function answerCallerCalls(
  { database, publish }: Service,
  { results, ...place }: { turnId: string; step: number; results: readonly CallerResult[] },
): Promise<void> {
  const given = results.map(({ ordinal, content }) => ({ ordinal, result: { content, isError: false } }));
  const answers = { ...place, kind: 'caller' as const, results: given };
  publish(await transaction(database.hot, (tx) => settleCalls(tx, answers)));
}
