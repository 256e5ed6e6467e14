// Which variables of an environment are secret (G31). Names are judged first, then values, since a password also hides in a URL under an
// innocent name.

const SECRET_NAME =
  /^(ANTHROPIC_|HOLDFAST_)|^(DATABASE_URL|REDIS_URL)(_FILE)?$|KEY|TOKEN|SECRET|PASS|_PWD|CREDENTIAL|AUTH(?!OR)|COOKIE|PRIVATE|_PAT$|_HEADERS$/i;
/** A URL with a user or password in it, a private key, or the tokens of well-known services. */
const SECRET_VALUE =
  /:\/\/[^\s/@]+@|-----BEGIN [A-Z ]*PRIVATE KEY|^(sk-|gh[pousr]_|github_pat_|glpat-|xox[abprs]-|AKIA|ASIA|AIza|eyJ[\w-]+\.eyJ)/;

/** True for a variable that no command of an agent may see. */
export function isSecretVariable(name: string, value: string): boolean {
  return SECRET_NAME.test(name) || SECRET_VALUE.test(value);
}
