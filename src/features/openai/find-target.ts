// Which session a request is for: one that it names, the chat of its user that its history
// continues, or a new one.
import type { AgentSettings } from '../../config.ts';
import type { ApiContext } from '../../api/context.ts';
import { parseSessionKey } from '../../api/parse-json.ts';
import type { AnyRequest } from '../../api/route.ts';
import type { KeyedRequest } from '../../database/idempotency.ts';
import { hashText, type Target } from './known-history.ts';
import { firstWords, isContinued, type Conversation } from './rules/conversation.ts';
import { findChats, findEarlierSession, readSaid, type OwnName } from './views/turns.ts';

/** The session of a request that a header names, a user, or nothing. */
export async function findTarget(
  context: ApiContext,
  request: AnyRequest,
  {
    agent,
    named,
    user,
    ...asked
  }: AskedTarget & { agent: AgentSettings; named: string | undefined; user: string | undefined },
): Promise<Target> {
  if (named !== undefined) return { key: parseSessionKey(named, 'x-holdfast-session-key'), isNamed: true };
  if (user === undefined) return freshTarget(`agent:${agent.id}:openai:`, asked.keyed);
  const name = { kind: 'user', agentId: agent.id, name: user } as const;
  const whole = await ownTarget(context, request, name);
  if (context.config.openai.user === 'session') return whole;
  return await chatTarget(context, { whole, own: ownKey(request.principal, name) }, asked);
}

interface AskedTarget {
  keyed: KeyedRequest;
  conversation: Conversation;
  mode: 'server' | 'fork';
}

/**
 * The chat of a user that the history continues; with the mode `fork`, the last of those that begin
 * with the same words if it continues none. Otherwise a new one: a client that names its user need
 * not name the chat.
 */
async function chatTarget(
  { views }: ApiContext,
  { whole, own }: { whole: Target; own: string },
  { keyed, conversation, mode }: AskedTarget,
): Promise<Target> {
  const prefix = `${own}:${hashText(firstWords(conversation)).slice(0, 16)}-`;
  const fresh = freshTarget(prefix, keyed);
  if (conversation.history.length === 0) return fresh;
  const known = await findChats(views, { prefix, whole: whole.key });
  for (const one of known) {
    const stored = await readSaid(views, one);
    if (isContinued(stored, conversation.history)) return { key: parseSessionKey(one, 'user'), isNamed: true, stored };
  }
  const [last] = mode === 'fork' ? known : [];
  return last === undefined ? fresh : { key: parseSessionKey(last, 'user'), isNamed: true };
}

/**
 * The session for which the API key of the request uses this name. It belongs to this key, and to
 * those that replace it, alone: both names count whole.
 */
export async function ownTarget(
  { views }: ApiContext,
  { principal: { owner } }: AnyRequest,
  { kind, agentId, name }: { kind: OwnName['kind']; agentId: string; name: string },
): Promise<Target> {
  const earlier = await findEarlierSession(views, { kind, agentId, owner, nameSha: hashText(name) });
  return { key: parseSessionKey(earlier ?? ownKey({ owner }, { kind, agentId, name }), kind), isNamed: true };
}

function ownKey(
  { owner }: { owner: string },
  { kind, agentId, name }: { kind: OwnName['kind']; agentId: string; name: string },
): string {
  return `agent:${agentId}:openai:${kind}@${hashText(JSON.stringify([owner, name]))}`;
}

/** A new session, which a request with the same key finds again. */
function freshTarget(prefix: string, keyed: KeyedRequest): Target {
  return { key: parseSessionKey(`${prefix}${hashText(`${keyed.scope} ${keyed.key}`)}`, 'model'), isNamed: false };
}
