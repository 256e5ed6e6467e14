// The sessions that an agent is allowed to see with its tools: decided from the configuration and
// the family, never from the model's text (G30).
import type { Config } from '../../config.ts';
import type { SessionId } from '../../core/ids.ts';
import { canonicalSessionKey, InvalidSessionKeyError } from '../../core/session-key.ts';
import { maySee, type VisibilityRules } from './rules.ts';
import { findListed, listAgentSessions, listTree, type ListedSession } from './store/subagents.ts';
import type { Service } from '../../kernel/use-cases/service.ts';

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

function readRules({ tools }: Config): VisibilityRules {
  return { visibility: tools.sessions.visibility, agentToAgent: tools.agentToAgent };
}
