// Decides from its code whether an error is a fault of the database or of the statement. The only place that knows SQLSTATEs for
// this: what keeps a turn open, what is sent again and what the API answers with 503 all ask here.

/** Whole classes: connections (08), resources (53), the operator's intervention (57), and the server's system (58). */
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
  // Connections of `pg` that broke, could not be made in time, or did not answer in time (src/database/connection-faults.ts).
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
 * True when the same statement with the same values may succeed later: the server restarts, refuses connections, is read-only, its
 * disk is full, two transactions collided. False for every other code: the statement or its values are at fault, and sending it
 * again would fail again. `code` is an SQLSTATE or the code of a Node error.
 */
export function isFaultOfDatabase(code: string): boolean {
  return FAULT_CODES.has(code) || (/^[0-9A-Z]{5}$/.test(code) && FAULT_CLASSES.test(code));
}

const CAUSES_MAX = 5;

/** The error and what caused it, outermost first: views reject with an error of their library that wraps the driver's. */
export function listCauses(error: unknown): Error[] {
  const causes: Error[] = [];
  for (let cause = error; cause instanceof Error && causes.length < CAUSES_MAX; cause = cause.cause) causes.push(cause);
  return causes;
}
