// Changes the overrides of a session: what people set through the API, and the one that an agent may set for itself.
import { modelFault } from '../config.ts';
import { agentIdOf, canonicalSessionKey } from '../core/session-key.ts';
import { patchSession, type SessionPatch } from '../store/patch-session.ts';
import type { Service } from './service.ts';

/** `refused`: no provider serves the model, as the message says. `unknown`: no such session. */
export type OverrideResult = { kind: 'done' | 'unknown' } | { kind: 'refused'; message: string };

/** Sets them; a model that no provider serves is refused before anything is stored. */
export async function overrideSession(
  { config, views }: Service,
  sessionKey: string,
  patch: SessionPatch,
): Promise<OverrideResult> {
  const { model = null } = patch;
  const fault = model === null ? null : modelFault(config, agentIdOf(canonicalSessionKey(sessionKey)), model);
  if (fault !== null) return { kind: 'refused', message: fault };
  return { kind: (await patchSession(views, sessionKey, patch)) ? 'done' : 'unknown' };
}
