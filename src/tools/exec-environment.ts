// The environment of a command that the model runs: this process's without anything secret (G31).
import { isSecretVariable } from '../config/secret-variable.ts';

/** The variables of `environment` that a command can see, with the call's idempotency key for changes that the command makes elsewhere. */
export function execEnvironment(
  environment: Readonly<Record<string, string | undefined>>,
  idempotencyKey: string,
): Record<string, string> {
  const visible = Object.entries(environment).filter(
    (variable): variable is [string, string] =>
      variable[1] !== undefined && !isSecretVariable(variable[0], variable[1]),
  );
  return { ...Object.fromEntries(visible), TERM: 'dumb', HOLDFAST_IDEMPOTENCY_KEY: idempotencyKey };
}
