// The environment of a command that the model runs: this process's without anything secret (G31). Names are judged first, then
// values, since a password also hides in a URL under an innocent name.

const SECRET_NAME =
  /^(ANTHROPIC_|HOLDFAST_)|^(DATABASE_URL|REDIS_URL)$|KEY|TOKEN|SECRET|PASS|_PWD|CREDENTIAL|AUTH(?!OR)|COOKIE|PRIVATE|_PAT$/i;
/** A URL with a user or password in it, a private key, or the tokens of well-known services. */
const SECRET_VALUE =
  /:\/\/[^\s/@]+@|-----BEGIN [A-Z ]*PRIVATE KEY|^(sk-|gh[pousr]_|github_pat_|glpat-|xox[abprs]-|AKIA|ASIA|AIza|eyJ[\w-]+\.eyJ)/;

/** What a command may see of `environment`, with the call's idempotency key for whatever the command changes elsewhere. */
export function execEnvironment(
  environment: Readonly<Record<string, string | undefined>>,
  idempotencyKey: string,
): Record<string, string> {
  const visible = Object.entries(environment).filter(
    (variable): variable is [string, string] =>
      variable[1] !== undefined && !SECRET_NAME.test(variable[0]) && !SECRET_VALUE.test(variable[1]),
  );
  return { ...Object.fromEntries(visible), TERM: 'dumb', HOLDFAST_IDEMPOTENCY_KEY: idempotencyKey };
}
