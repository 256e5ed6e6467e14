// Copies a session: see src/store/fork-session.ts.
import type { SessionKey } from '../core/ids.ts';
import { forkSession, type ForkResult } from '../store/fork-session.ts';
import type { KeyedRequest } from '../store/idempotency.ts';
import { newSessionOf } from '../store/sessions.ts';
import type { Service } from './service.ts';

/** Creates a session with a copy of another one, up to an entry; `entryId` null: to its end. */
export function copySession(
  { database }: Service,
  copy: { sourceKey: SessionKey; entryId: string | null; targetKey: SessionKey; idempotency: KeyedRequest | null },
): Promise<ForkResult> {
  const { targetKey, ...source } = copy;
  return forkSession(database, { ...source, target: newSessionOf(targetKey) });
}
