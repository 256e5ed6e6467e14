// A configuration that cannot be used, as an error of the command line. A file of its own, because commands that only call the API must start
// without the configuration's code.
import type { ConfigError } from '../config/config-error.ts';
import { CliError, type ExitCode } from './cli-error.ts';

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
