// An API rig for the tests of a file, on a database of its own: made before the first, closed after the last.
import { afterAll, beforeAll, expect } from 'vitest';
import { withTestDatabase, type TestDatabase } from '../servers/postgres.ts';
import { createApiRig, type ApiRig, type ApiRigOptions } from './api-rig.ts';

/** Holds the rig from the first test on. */
export function useApiRig(options: ApiRigOptions = {}): { rig: ApiRig } {
  const holder = {} as { rig: ApiRig };
  let database: TestDatabase | undefined;
  beforeAll(async () => {
    database = await withTestDatabase();
    holder.rig = await createApiRig(database.url, options);
  });
  afterAll(async () => {
    await holder.rig?.close();
    await database?.drop();
  });
  return holder;
}

/** Expects of a value what becomes true in time; on a busy machine that may take a while. */
export function eventually<Value>(read: () => Value | Promise<Value>) {
  return expect.poll(read, { timeout: 15_000 });
}
