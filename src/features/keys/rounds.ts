// The rounds of keys in a scheduler: rows from before a new key with a scope are given what its
// lists find them by.
import { pause } from '../../clock.ts';
import type { Database } from '../../database/database.ts';
import type { Process, ProcessPart } from '../../kernel/process-part.ts';
import { workOff } from '../../work-off.ts';
import { IS_UNLABELLED_SQL, labelSome } from './store/label-rows.ts';

/** While transactions are waited for that began before. */
const WAIT_MS = 20;
/** Between two portions: turns need the database, too. */
const BREATH_MS = 5;
const PORTIONS_MAX = 200;

export const UNLABELLED = 'Older rows could not be made ready for the lists of a key; the next round retries';

export function openKeyRounds({ service: { database } }: Process): ProcessPart {
  return {
    rounds: [
      {
        work: { sql: IS_UNLABELLED_SQL },
        round: (signal) => labelOlderRows(database, signal, { portionsMax: PORTIONS_MAX, pauseMs: BREATH_MS }),
        pauseMs: { first: 0, min: 100, max: 1_000 },
        failure: UNLABELLED,
      },
    ],
  };
}

/** Resolves with whether rows are left. */
export async function labelOlderRows(
  database: Database,
  signal: AbortSignal,
  bounds: { portionsMax?: number; pauseMs?: number } = {},
): Promise<boolean> {
  let isLeft = true;
  await workOff(
    async () => {
      const state = await labelSome(database);
      if (state === 'waiting') await pause(WAIT_MS, signal);
      return (isLeft = state !== 'done');
    },
    { signal, ...bounds },
  );
  return isLeft;
}
