// Removes tries that have not changed for some days, as an erasure of their sessions does: with all
// rows and files.
import { ERASING } from '../../core/session-key.ts';
import type { Process, ProcessPart } from '../../kernel/process-part.ts';
import type { Service } from '../../kernel/use-cases/service.ts';
import { eraseSession } from '../erasure/erase-session.ts';
import { TRY_KEPT_DAYS } from './rules.ts';
import { findOldTries } from './store/read-tried.ts';

/** A round removes a portion; while there are more, the next follows soon. */
const PAUSE_MS = { first: 10 * 60_000, min: 1_000, max: 10 * 60_000 };

export function openTryRounds({ service }: Process): ProcessPart {
  const failure = 'Old tries could not be removed; the next round retries';
  return { rounds: [{ round: () => removeOldTries(service), pauseMs: PAUSE_MS, failure }] };
}

/** Resolves with whether there were some. */
export async function removeOldTries(service: Service): Promise<boolean> {
  const keys = await findOldTries(service.database, TRY_KEPT_DAYS);
  for (const key of keys) {
    // One whose removal was cut off is found by the key that it had.
    await eraseSession(service, key.replace(ERASING, ''));
  }
  return keys.length > 0;
}
