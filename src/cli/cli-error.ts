// The exit codes of the command line (docs/cli.md) and the error that carries one. Every error says
// what to do next.
import type { ConfigError } from '../config/config-error.ts';

export const EXIT = {
  ok: 0,
  failed: 1,
  usage: 2,
  configuration: 3,
  cannotReach: 4,
  notFound: 5,
  conflict: 6,
  turnFailed: 7,
  turnAborted: 8,
  partly: 9,
  notAllowed: 10,
  /** A service that cannot start because of its configuration (sysexits EX_CONFIG). */
  badConfiguration: 78,
  waitEnded: 124,
  interrupted: 130,
  terminated: 143,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** For `--help`: one line for each code. */
export const EXIT_CODES_HELP = `Exit codes:
  0 ok · 1 failed · 2 usage · 3 configuration · 4 cannot reach · 5 not found · 6 conflict · 7 turn failed
  8 aborted or timed out · 9 partly, or under a threshold · 10 not allowed · 78 start refused its configuration · 124 wait ended · 130 interrupted`;

/** An end that is not a success: what happened, how to fix it, and the exit code that says so. */
export class CliError extends Error {
  readonly code: string;
  readonly exitCode: ExitCode;
  readonly fix: string;
  /** The API's answer, when it was the API that refused. */
  readonly problem: Record<string, unknown> | undefined;

  constructor(fault: {
    code: string;
    exitCode: ExitCode;
    message: string;
    fix: string;
    problem?: Record<string, unknown>;
    cause?: unknown;
  }) {
    super(fault.message, { cause: fault.cause });
    this.name = 'CliError';
    this.code = fault.code;
    this.exitCode = fault.exitCode;
    this.fix = fault.fix;
    this.problem = fault.problem;
  }
}

/** A command that was called wrongly. */
export function usageError(message: string, fix: string, code = 'usage'): CliError {
  return new CliError({ code, exitCode: EXIT.usage, message, fix });
}

/** A name of something that does not exist. */
export function notFound(message: string, fix: string, code = 'not_found'): CliError {
  return new CliError({ code, exitCode: EXIT.notFound, message, fix });
}

/** Something that the present state does not permit. */
export function conflict(message: string, fix: string, code: string): CliError {
  return new CliError({ code, exitCode: EXIT.conflict, message, fix });
}

/** A configuration that cannot be used, with every fault. */
export function explainConfigError(error: ConfigError, exitCode: ExitCode): CliError {
  return new CliError({
    code: error.code,
    exitCode,
    message: error.message,
    fix: 'correct the listed faults in the file or the environment, then check with "holdfast config validate"',
    problem: { errors: error.issues.map(({ path, message }) => ({ path, message })) },
    cause: error,
  });
}
