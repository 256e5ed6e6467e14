// Changes the overrides of a session: what people set through the API, and the one that an agent may set for itself.
import { modelFault, type Config } from '../../config.ts';
import { agentIdOf, canonicalSessionKey } from '../../core/session-key.ts';
import { patchSession, type SessionPatch } from '../sessions/patch-session.ts';
import type { Service } from './service.ts';

/** `refused`: no provider serves the model, as the message says. `unknown`: no such session. */
export type OverrideResult = { kind: 'done' | 'unknown' } | { kind: 'refused'; message: string };

/** Sets them; a model that no provider serves is refused before anything is stored. */
export async function overrideSession(
  { config, views }: Service,
  sessionKey: string,
  patch: SessionPatch,
): Promise<OverrideResult> {
  const fault = findModelFault(config, sessionKey, patch.model);
  if (fault !== null) return { kind: 'refused', message: fault };
  return { kind: (await patchSession(views, sessionKey, patch)) ? 'done' : 'unknown' };
}

/** Why the agent of a session cannot be asked to use a model, for people; null: it can, or none is given. */
export function findModelFault(config: Config, sessionKey: string, model: string | null | undefined): string | null {
  return model === undefined || model === null
    ? null
    : modelFault(config, agentIdOf(canonicalSessionKey(sessionKey)), model);
}
