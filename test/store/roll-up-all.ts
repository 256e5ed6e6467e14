// Adds all events to the roll-ups.
import { expect } from 'vitest';
import type { Database } from '../../src/database/database.ts';
import { rollUp } from '../../src/features/costs/store/roll-up.ts';
import { readUncounted } from '../rows/usage.ts';

/**
 * Rolls up until nothing is left. A transaction in another database of the server holds the horizon
 * back as long as it runs.
 */
export async function rollUpAll(database: Database): Promise<void> {
  await expect
    .poll(
      async () => {
        await rollUp(database);
        return (await readUncounted(database.views)).length;
      },
      { interval: 20 },
    )
    .toBe(0);
}
