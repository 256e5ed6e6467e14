// A person pauses work, and resumes it.
import type { PauseView } from '../contract/pauses.ts';
import type { KeyedRequest } from '../store/idempotency.ts';
import { pause, resume } from '../store/pauses.ts';
import type { PauseScope } from '../store/views/pauses.ts';
import type { Service } from './service.ts';

/** Pauses the sessions that match the scope; null: there are too many pauses. Claims that are already held are not undone. */
export function pauseWork(
  { database }: Service,
  scope: PauseScope,
  facts: { reason: string | null; by: string; idempotency: KeyedRequest | null },
): Promise<PauseView | null> {
  return pause(database, scope, facts);
}

/** Ends the pause of this scope, or all pauses if the scope is empty, and rings for the sessions that can run again. */
export async function resumeWork(
  { database, publish }: Service,
  scope: PauseScope,
  idempotency: KeyedRequest | null,
): Promise<{ ended: PauseView[] }> {
  return publish(await resume(database, scope, idempotency));
}
