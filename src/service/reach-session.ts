// The session that an input from outside is for. It is created by the first input that reaches it, if its agent is configured.
import { agentOf } from '../config.ts';
import type { SessionId, SessionKey } from '../core/ids.ts';
import { agentIdOf } from '../core/session-key.ts';
import { newSessionOf } from '../store/sessions.ts';
import type { Service } from './service.ts';

/** The id of the session; rejects with `UnknownAgentError` of the configuration. `channel`: where its first input comes from. */
export async function reachSession(
  { config, inbox }: Service,
  key: SessionKey,
  channel: string | null = null,
): Promise<SessionId> {
  agentOf(config, agentIdOf(key));
  return inbox.ensureSession(newSessionOf(key, channel));
}
