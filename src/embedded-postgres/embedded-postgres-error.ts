// The one error class of the launcher. Its codes are stable: the command line and tests match on
// them, people read the remedy.

export type EmbeddedPostgresErrorCode =
  /** There are no binaries for this operating system, processor or C library. */
  | 'embedded_postgres_unsupported_platform'
  /** There should be binaries, but the package is not installed or is incomplete. */
  | 'embedded_postgres_binaries_missing'
  /**
   * The data directory cannot be written, belongs to another user, or contains something that is
   * not a cluster of Holdfast.
   */
  | 'embedded_postgres_data_dir_unusable'
  /** The cluster was made by another major version of PostgreSQL. */
  | 'embedded_postgres_version_mismatch'
  /** Too little space to create the cluster, or PostgreSQL ran out of it while starting. */
  | 'embedded_postgres_no_disk'
  /** No port of 127.0.0.1 could be had. */
  | 'embedded_postgres_no_port'
  | 'embedded_postgres_initdb_failed'
  | 'embedded_postgres_start_failed'
  | 'embedded_postgres_stop_failed'
  /**
   * A server runs on the data directory but does not become ready or does not know the password.
   */
  | 'embedded_postgres_unresponsive'
  /** Another Holdfast process holds the start lock for too long. */
  | 'embedded_postgres_lock_timeout';

/**
 * The reasons why the embedded server cannot start or stop. `message` names the fault and then the
 * next step.
 */
export class EmbeddedPostgresError extends Error {
  readonly code: EmbeddedPostgresErrorCode;
  /** The operator's next step, one or two sentences; also the end of `message`. */
  readonly remedy: string;

  constructor(fault: { code: EmbeddedPostgresErrorCode; problem: string; remedy: string; cause?: unknown }) {
    super(`${fault.problem} ${fault.remedy}`, { cause: fault.cause });
    this.name = 'EmbeddedPostgresError';
    this.code = fault.code;
    this.remedy = fault.remedy;
  }
}

export function dataDirUnusable(problem: string, remedy: string, cause?: unknown): EmbeddedPostgresError {
  return new EmbeddedPostgresError({ code: 'embedded_postgres_data_dir_unusable', problem, remedy, cause });
}

export function noDisk(problem: string): EmbeddedPostgresError {
  return new EmbeddedPostgresError({
    code: 'embedded_postgres_no_disk',
    problem,
    remedy: 'Free some space, or set HOLDFAST_DATA_DIR to a directory on another disk.',
  });
}
