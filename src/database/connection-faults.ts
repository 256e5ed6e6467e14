// Gives the faults of connections a code. PostgreSQL's errors have an SQLSTATE and those of Node a name, but what `pg` throws itself, for
// example when a connection breaks, is a sentence. The sentences are known here and nowhere else; a test finds each in the source of `pg`.
import type pg from 'pg';

/** The words of `pg` and `pg-pool`, exactly, with the code that they get. `isFaultOfDatabase` knows the codes. */
export const CONNECTION_FAULTS: ReadonlyMap<string, string> = new Map([
  ['Connection terminated', 'connection_lost'],
  ['Connection terminated unexpectedly', 'connection_lost'],
  ['Client has encountered a connection error and is not queryable', 'connection_lost'],
  ['timeout expired', 'connect_timeout'],
  ['timeout exceeded when trying to connect', 'connect_timeout'],
  ['Connection terminated due to connection timeout', 'connect_timeout'],
  ['Query read timeout', 'query_timeout'],
]);

/** The error itself, with a code when it is a fault of a connection that has none. */
export function withCode(error: unknown): unknown {
  if (!(error instanceof Error) || 'code' in error) return error;
  const code = CONNECTION_FAULTS.get(error.message);
  return code === undefined ? error : Object.assign(error, { code });
}

/** Makes the queries of a pool reject with errors that have a code. */
export function giveCodes(pool: pg.Pool): void {
  const query = pool.query.bind(pool) as (...args: unknown[]) => Promise<unknown>;
  const queryWithCodes = (...args: unknown[]): Promise<unknown> =>
    query(...args).catch((error: unknown) => {
      throw withCode(error);
    });
  // Everything here awaits the promise; the forms with a callback are not used.
  pool.query = queryWithCodes as typeof pool.query;
}
