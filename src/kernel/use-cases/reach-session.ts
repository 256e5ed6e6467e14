// The session that an input from outside is for. It is created by the first input that reaches it, if its agent is configured.
// The overrides of a session are changed here, too.
import { agentOf, modelFault, type Config } from '../../config.ts';
import type { SessionId, SessionKey } from '../../core/ids.ts';
import { agentIdOf, canonicalSessionKey } from '../../core/session-key.ts';
import { buildNewSession, SessionErasedError } from '../sessions/sessions.ts';
import type { Service } from './service.ts';
import { patchSession, type SessionPatch } from '../sessions/patch-session.ts';

/** How often the session is searched for when it is erased meanwhile. */
const ATTEMPTS_MAX = 3;

/** The id of the session; rejects with `UnknownAgentError` of the configuration. `channel`: where its first input comes from. */
export async function reachSession(
  { config, inbox }: Service,
  key: SessionKey,
  channel: string | null = null,
): Promise<SessionId> {
  agentOf(config, agentIdOf(key));
  return inbox.ensureSession(buildNewSession(key, channel));
}

/** Writes to the session of a key, and again to a new session if it was erased after it was found. Rejects as `write` does. */
export async function writeToSession<Result>(
  service: Service,
  session: { key: SessionKey; channel?: string | null },
  write: (sessionId: SessionId) => Promise<Result>,
): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    const sessionId = await reachSession(service, session.key, session.channel ?? null);
    try {
      return await write(sessionId);
    } catch (error) {
      if (!(error instanceof SessionErasedError) || attempt === ATTEMPTS_MAX) throw error;
      service.inbox.ensureSession.drop(session.key);
    }
  }
}

// Changes the overrides of a session: what people set through the API, and the one that an agent may set for itself.

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

/** Why the agent of a session cannot be asked to use a model, for people; null: it can, or none is given. */
export function findModelFault(config: Config, sessionKey: string, model: string | null | undefined): string | null {
  return model === undefined || model === null
    ? null
    : modelFault(config, agentIdOf(canonicalSessionKey(sessionKey)), model);
}
