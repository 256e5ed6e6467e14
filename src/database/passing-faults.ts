// Faults of the database that pass: which they are, by their codes, and how long a statement is
// tried again. The only place that knows SQLSTATEs for this: what keeps a turn open, what is sent
// again and what the API answers with 503 all ask here.
import pg from 'pg';
import { setTimeout as delay } from 'node:timers/promises';

/**
 * Whole classes: connections (08), resources (53), the operator's intervention (57), and the
 * server's system (58).
 */
const FAULT_CLASSES = /^(?:08|53|57|58)/;

const FAULT_CODES = new Set([
  '25006', // read_only_sql_transaction
  '25P03', // idle_in_transaction_session_timeout
  '28000', // invalid_authorization_specification
  '28P01', // invalid_password
  '3D000', // invalid_catalog_name
  '40001', // serialization_failure
  '40003', // statement_completion_unknown
  '40P01', // deadlock_detected
  '55000', // object_not_in_prerequisite_state
  '55P03', // lock_not_available
  // Connections of `pg` that broke, could not be made in time, or did not answer in time (below).
  'connection_lost',
  'connect_timeout',
  'query_timeout',
  'batch_full', // more statements wait than may: the database is too slow for what is asked of it
  // Node's names for a connection that cannot be made or broke.
  'EAI_AGAIN',
  'ECONNABORTED',
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EPIPE',
  'ETIMEDOUT',
]);

/**
 * True when the same statement with the same values may succeed later: the server restarts, refuses
 * connections, is read-only, its disk is full, two transactions collided. False for every other
 * code: the statement or its values are at fault, and sending it again would fail again. `code` is
 * an SQLSTATE or the code of a Node error.
 */
export function isFaultOfDatabase(code: string): boolean {
  return FAULT_CODES.has(code) || (/^[0-9A-Z]{5}$/.test(code) && FAULT_CLASSES.test(code));
}

const CAUSES_MAX = 5;

/**
 * The error and what caused it, outermost first: views reject with an error of their library that
 * wraps the driver's.
 */
export function listCauses(error: unknown): Error[] {
  const causes: Error[] = [];
  for (let cause = error; cause instanceof Error && causes.length < CAUSES_MAX; cause = cause.cause) causes.push(cause);
  return causes;
}

// Gives the faults of connections a code. PostgreSQL's errors have an SQLSTATE and those of Node a
// name, but what `pg` throws itself, for example when a connection breaks, is a sentence. The
// sentences are known here and nowhere else; a test finds each in the source of `pg`.

/**
 * The words of `pg` and `pg-pool`, exactly, with the code that they get. `isFaultOfDatabase` knows
 * the codes.
 */
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

// Tries a statement again that failed for a passing reason: a restart, a broken connection, a
// deadlock. Only for statements that are idempotent, because the one that failed may have been
// committed.

// How long a statement is sent again, in milliseconds; then its caller gets the error. These are
// the only budgets: a statement takes the one that says who would have to repeat it.

/**
 * The statements of a turn, of its tools and of commands: the next worker would have to begin
 * again.
 */
export const TURN_RETRY_MS = 10_000;

/**
 * Reads, requests, and the rounds of schedulers, which their callers repeat themselves. Half the
 * deadline of a request, so that a client still receives the fault.
 */
export const REQUEST_RETRY_MS = 5_000;

/**
 * What no caller repeats: the end of a command that only its worker knows, the wake-up of the turns
 * that wait for a provider, and the traces of a turn.
 */
export const LASTING_RETRY_MS = 60_000;

const RETRY_DELAY_MS = 50;

const RETRY_DELAY_MS_MAX = 500;

/**
 * What `run` resolves with; rejects with its error when that will not pass, or has not passed in
 * time.
 */
export async function retryPassingFaults<Result>(run: () => Promise<Result>, retryMs: number): Promise<Result> {
  const startedAt = performance.now();
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await run();
    } catch (error) {
      if (!isPassingFault(error) || performance.now() - startedAt > retryMs) throw error;
      await delay(Math.min(RETRY_DELAY_MS * attempt, RETRY_DELAY_MS_MAX));
    }
  }
}

/**
 * True when the database is at fault and not the statement (`isFaultOfDatabase`), or when the
 * connection broke and it is not known whether the statement was committed. The same statement may
 * succeed later; everything on the hot path is idempotent, so sending it again is harmless.
 */
export function isPassingFault(error: unknown): boolean {
  return listCauses(error).some((cause) => {
    const code = 'code' in cause ? cause.code : null;
    return typeof code === 'string' && isFaultOfDatabase(code);
  });
}
