// Removes tries that have not changed for some days, as an erasure of their sessions does: with all
// rows and files.
import { ERASING } from '../../core/session-key.ts';
import type { Process, ProcessPart } from '../../kernel/process-part.ts';
import { every } from '../../kernel/queue/start-rounds.ts';
import type { Service } from '../../kernel/use-cases/service.ts';
import { workOff } from '../../work-off.ts';
import { eraseSession } from '../erasure/erase-session.ts';
import { TRY_KEPT_DAYS } from './rules.ts';
import { findOldTries, NO_TRY } from './store/read-tried.ts';

const ROUND_MS = 10 * 60_000;

export function openTryRounds({ service }: Process): ProcessPart {
  const failure = 'Old tries could not be removed; the next round retries';
  return { rounds: [{ round: (signal) => removeOldTries(service, signal), pauseMs: every(ROUND_MS), failure }] };
}

export async function removeOldTries(service: Service, signal?: AbortSignal): Promise<void> {
  let after = NO_TRY;
  await workOff(
    async () => {
      const tries = await findOldTries(service.database, TRY_KEPT_DAYS, after);
      for (const { key } of tries) {
        if (signal?.aborted === true) return false;
        // One whose removal was cut off is found by the key that it had. One that an open batch has
        // stays until a later round.
        await eraseSession(service, key.replace(ERASING, ''));
      }
      after = tries.at(-1)?.id ?? after;
      return tries.length > 0;
    },
    signal === undefined ? {} : { signal },
  );
}
