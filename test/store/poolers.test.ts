// A pooler between Holdfast and PostgreSQL is refused before anything is written, in each of its
// possible configurations.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { explainStartFault } from '../../src/cli/explain-start-fault.ts';
import { inspectDatabase } from '../../src/database/inspect-database.ts';
import { hasPgbouncer, startPgbouncer } from '../servers/pgbouncer.ts';
import { withTestDatabase, type TestDatabase } from '../servers/postgres.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await withTestDatabase();
});
afterAll(() => database.drop());

const ignoring = 'ignore_startup_parameters = extra_float_digits, options, statement_timeout';

test('PostgreSQL itself passes', async () => {
  expect((await inspectDatabase(database.url)).version).toBeGreaterThanOrEqual(150_000);
});

describe.runIf(hasPgbouncer())('PgBouncer is refused', () => {
  test.each([
    [
      'in transaction mode',
      ['pool_mode = transaction'],
      undefined,
      /refuses the settings of connections \(.*startup parameter/,
    ],
    ['when it drops settings', ['pool_mode = session', ignoring], undefined, /drops the settings of connections/],
    [
      'in transaction mode when it makes the settings itself',
      ['pool_mode = transaction', ignoring],
      'set enable_seqscan = off',
      /gives one server process to several connections/,
    ],
  ])('%s', async (_how, settings, connectQuery, says) => {
    const pooler = await startPgbouncer(database.url, settings, connectQuery);
    try {
      const fault = await inspectDatabase(pooler.url).catch(explainStartFault);
      expect(fault).toMatchObject({ code: 'database_pooled', exitCode: 78, message: expect.stringMatching(says) });
      expect(fault).toMatchObject({
        fix: expect.stringContaining('set DATABASE_URL to the direct address of PostgreSQL'),
      });
    } finally {
      await pooler.stop();
    }
  });
});
