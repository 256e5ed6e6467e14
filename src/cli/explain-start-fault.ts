// Why the service or a migration could not start, in words and with a way on: the database is not
// there, its login is wrong, the port is taken. What is not known here passes through with its
// stack.
import { ConfigError } from '../config.ts';
import { EmbeddedPostgresError } from '../embedded-postgres/embedded-postgres-error.ts';
import { CliError, EXIT, explainConfigError, type ExitCode } from './cli-error.ts';

const MAKE_ROOM = 'make room on the disk of the data directory, or set HOLDFAST_DATA_DIR to a directory on another one';

/**
 * By the code of Node or of PostgreSQL: the exit code, the fix, and what is said before the message
 * of the error.
 */
const EXPLANATIONS: Record<string, [exitCode: ExitCode, fix: string, before?: string]> = {
  EADDRINUSE: [
    EXIT.failed,
    'stop the other process, or set HOLDFAST_PORT (without the role api: HOLDFAST_METRICS_PORT) to another port (0: any free one)',
    'the port is in use: ',
  ],
  address_unusable: [
    EXIT.badConfiguration,
    'set HOLDFAST_HOST to an address of this machine, and HOLDFAST_PORT (without the role api: HOLDFAST_METRICS_PORT) to a port above 1023',
  ],
  folder_unusable: [EXIT.notAllowed, 'set HOLDFAST_DATA_DIR to a folder that this user can create and write'],
  secret_file: [EXIT.failed, 'delete it, and the next start creates a new one; or write the key into it'],
  EACCES: [
    EXIT.notAllowed,
    'give this user write access to the data directory, or set HOLDFAST_DATA_DIR to another directory',
    'not allowed: ',
  ],
  ENOSPC: [EXIT.failed, MAKE_ROOM, 'the disk is full: '],
  EDQUOT: [EXIT.failed, MAKE_ROOM, 'the disk quota of this user is used up: '],
  EIO: [
    EXIT.failed,
    'check the disk, or set HOLDFAST_DATA_DIR to a directory on another one',
    'the disk reports a fault: ',
  ],
  EROFS: [
    EXIT.notAllowed,
    'set HOLDFAST_DATA_DIR to a directory that can be written',
    'the file system is read-only: ',
  ],
  '28000': [
    EXIT.notAllowed,
    'correct the user and the password in DATABASE_URL, or create the role',
    'the database refuses the login: ',
  ],
  '42501': [
    EXIT.notAllowed,
    'grant CREATE on the database to the role of DATABASE_URL, and make it the owner of the schemas "holdfast" and "bullmq"',
    'the database does not permit it: ',
  ],
  '25006': [
    EXIT.notAllowed,
    'set DATABASE_URL to the primary server, or set default_transaction_read_only to off',
    'the database is read-only: ',
  ],
  database_silent: [
    EXIT.cannotReach,
    'check the log of the database, or correct the host and the port in DATABASE_URL',
  ],
  not_postgres: [EXIT.cannotReach, 'set the host and the port in DATABASE_URL to those of a PostgreSQL server'],
  database_too_old: [EXIT.badConfiguration, 'upgrade to PostgreSQL 15 or newer, or set DATABASE_URL to such a server'],
  database_pooled: [
    EXIT.badConfiguration,
    'set DATABASE_URL to the direct address of PostgreSQL; see "Poolers" in docs/operations.md',
  ],
  database_read_only: [
    EXIT.notAllowed,
    'set DATABASE_URL to the primary server, or set default_transaction_read_only to off',
  ],
  database_no_create: [
    EXIT.notAllowed,
    'grant CREATE on the database to this role; with REDIS_URL, a schema "holdfast" owned by the role is sufficient',
  ],
  foreign_schema: [
    EXIT.badConfiguration,
    'rename that schema, or set DATABASE_URL to a separate database for Holdfast',
  ],
  layout_missing: [EXIT.failed, 'run "holdfast migrate", or start without --no-migrate'],
  '28P01': [EXIT.notAllowed, 'correct the user and the password in DATABASE_URL', 'the database refuses the login: '],
  '3D000': [EXIT.notFound, 'create it, or correct DATABASE_URL', 'the database does not exist: '],
  plugin_error: [EXIT.badConfiguration, 'correct the plugin, or remove it from "plugins" in the configuration file'],
  queue_unreachable: [EXIT.cannotReach, 'start it, or correct REDIS_URL; without REDIS_URL the queue is in PostgreSQL'],
  migration_blocked: [
    EXIT.failed,
    'end that transaction, such as a pg_dump or a console (pg_stat_activity shows it), and try again',
  ],
  migration_refused: [EXIT.failed, 'run the version of Holdfast that last migrated this database, or a newer one'],
};

/** Codes of a server that cannot be reached. */
const UNREACHABLE_CODES =
  'ECONNREFUSED ENOTFOUND EHOSTUNREACH ETIMEDOUT ECONNRESET EAI_AGAIN 57P03 53300 connect_timeout connection_lost query_timeout'.split(
    ' ',
  );

/**
 * The fault as an error of the command line; the same value when nothing is known about it.
 * `badConfiguration` is the exit code of a fault of the configuration.
 */
export function explainStartFault(error: unknown, badConfiguration: ExitCode = EXIT.badConfiguration): unknown {
  if (!(error instanceof Error) || error instanceof CliError) return error;
  if (error instanceof ConfigError) return explainConfigError(error, badConfiguration);
  if (error instanceof EmbeddedPostgresError) {
    const { code, message, remedy: fix } = error;
    return new CliError({ code, exitCode: EXIT.failed, message, fix, cause: error });
  }
  const code = readCode(error);
  const reason = error.message || code;
  if (UNREACHABLE_CODES.includes(code)) {
    return new CliError({
      code: 'unreachable',
      exitCode: EXIT.cannotReach,
      message: `a dependency of Holdfast cannot be reached: ${reason}`,
      fix: 'start it, or correct DATABASE_URL and REDIS_URL; "holdfast doctor" shows which one',
      cause: error,
    });
  }
  if (EXPLANATIONS[code] === undefined) return error;
  const [exit, fix, before = ''] = EXPLANATIONS[code];
  const exitCode = exit === EXIT.badConfiguration ? badConfiguration : exit;
  return new CliError({ code, exitCode, message: `${before}${reason}`, fix, cause: error });
}

/** The code of an error, or of the first of several in it, or of its cause. */
function readCode(error: Error): string {
  if ('code' in error && typeof error.code === 'string') return error.code;
  if (error instanceof AggregateError && error.errors[0] instanceof Error) return readCode(error.errors[0]);
  return error.cause instanceof Error ? readCode(error.cause) : '';
}
