// Adds all events to the roll-ups.
import { expect } from 'vitest';
import type { Database } from '../../src/store/database.ts';
import { rollUp } from '../../src/store/usage/roll-up.ts';

/** Rolls up until nothing is left. A transaction in another database of the server holds the horizon back as long as it runs. */
export async function rollUpAll(database: Database): Promise<void> {
  const unread = 'select from holdfast.events e, holdfast.roll_up_cursor c where e.id > c.after_id';
  await expect
    .poll(
      async () => {
        await rollUp(database);
        return (await database.views.query(unread)).rowCount;
      },
      { interval: 20 },
    )
    .toBe(0);
}
