// Removes tries that have not changed for some days, as an erasure of their sessions does: with all
// rows and files.
import { ERASING } from '../../core/session-key.ts';
import type { Process, ProcessPart } from '../../kernel/process-part.ts';
import type { Service } from '../../kernel/use-cases/service.ts';
import { every } from '../../kernel/queue/start-rounds.ts';
import { eraseSession } from '../erasure/erase-session.ts';
import { TRY_KEPT_DAYS } from './rules.ts';
import { findOldTries } from './store/read-tried.ts';

const ROUND_MS = 10 * 60_000;

export function openTryRounds({ service }: Process): ProcessPart {
  const failure = 'Old tries could not be removed; the next round retries';
  return { rounds: [{ round: () => removeOldTries(service), pauseMs: every(ROUND_MS), failure }] };
}

export async function removeOldTries(service: Service): Promise<void> {
  for (const key of await findOldTries(service.database, TRY_KEPT_DAYS)) {
    // One whose removal was cut off is found by the key that it had.
    await eraseSession(service, key.replace(ERASING, ''));
  }
}
