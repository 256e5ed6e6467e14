// An API rig for the tests of a file, with its own database: created before the first test, closed
// after the last.
import { expect } from 'vitest';
import { withTestDatabase } from '../servers/postgres.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { createApiRig, type ApiRig, type ApiRigOptions } from './api-rig.ts';

/** Holds the rig from the first test on. */
export function useApiRig(options: ApiRigOptions = {}): { rig: ApiRig } {
  const holder = {} as { rig: ApiRig };
  shareAmongTests(async (onEnd) => {
    const database = await withTestDatabase();
    onEnd(() => database.drop());
    const rig = await createApiRig(database.url, options);
    onEnd(() => rig.close());
    holder.rig = rig;
  });
  return holder;
}

/** Expects a value to become true in time; on a busy machine that may take a while. */
export function eventually<Value>(read: () => Value | Promise<Value>) {
  return expect.poll(read);
}
