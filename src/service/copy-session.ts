// Copies a session: see src/store/fork-session.ts.
import { agentOf } from '../config.ts';
import type { SessionKey } from '../core/ids.ts';
import { agentIdOf } from '../core/session-key.ts';
import { forkSession, type ForkResult } from '../store/fork-session.ts';
import type { KeyedRequest } from '../store/idempotency.ts';
import { newSessionOf } from '../store/sessions.ts';
import type { Service } from './service.ts';

/** Creates a session with a copy of another one, up to an entry; `entryId` null: to its end. */
export async function copySession(
  { config, database }: Service,
  copy: { sourceKey: SessionKey; entryId: string | null; targetKey: SessionKey; idempotency: KeyedRequest | null },
): Promise<ForkResult> {
  const { targetKey, ...source } = copy;
  agentOf(config, agentIdOf(targetKey));
  return forkSession(database, { ...source, target: newSessionOf(targetKey) });
}
