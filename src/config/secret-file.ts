// The secrets of a process: which variables of its environment are secret (G31), and those that Holdfast makes for itself. Names of variables are
// judged first, then values, since a password also hides in a URL under an innocent name.
import { randomBytes } from 'node:crypto';
import { access, chmod, link, readFile, unlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { decodeText, NOT_TEXT } from '../core/text.ts';
import { makePrivateFolder } from './private-folder.ts';

const SECRET_NAME =
  /^(ANTHROPIC_|HOLDFAST_)|^(DATABASE_URL|REDIS_URL)(_FILE)?$|KEY|TOKEN|SECRET|PASS|_PWD|CREDENTIAL|AUTH(?!OR)|COOKIE|PRIVATE|_PAT$|_HEADERS$/i;
/** A URL with a user or password in it, a private key, or the tokens of well-known services. */
const SECRET_VALUE =
  /:\/\/[^\s/@]+@|-----BEGIN [A-Z ]*PRIVATE KEY|^(sk-|gh[pousr]_|github_pat_|glpat-|xox[abprs]-|AKIA|ASIA|AIza|eyJ[\w-]+\.eyJ)/;

/** True for a variable that no command of an agent may see. */
export function isSecretVariable(name: string, value: string): boolean {
  return SECRET_NAME.test(name) || SECRET_VALUE.test(value);
}

// Secrets that Holdfast makes for itself: written once, readable by the owner alone, the same for all processes that start at the
// same time.

export interface StoredSecret {
  secret: string;
  path: string;
  wasGenerated: boolean;
}

/** Moves a secret that earlier versions kept elsewhere. Safe when many processes start at the same time. */
export async function adoptSecretFile(from: string, to: string): Promise<void> {
  try {
    await access(from);
    await makePrivateFolder(dirname(to));
    await link(from, to);
    await unlink(from);
  } catch (error) {
    // ENOENT: there is none, or another process has moved it. EEXIST: the new place has one, which is in use.
    if (!hasCode(error, 'ENOENT') && !hasCode(error, 'EEXIST')) throw error;
  }
}

/**
 * The secret in `<folder>/<name>`; made by `generate` and stored with mode 0600 when there is none. The file appears whole or not
 * at all (written aside, then linked, which fails if another process was first), so no process ever reads half a secret.
 */
export async function ensureSecretFile(folder: string, name: string, generate: () => string): Promise<StoredSecret> {
  const path = join(folder, name);
  const existing = await readSecret(path);
  if (existing !== undefined) return { secret: existing, path, wasGenerated: false };
  await makePrivateFolder(folder);
  const aside = `${path}.${process.pid}.${randomBytes(6).toString('hex')}`;
  const secret = generate();
  await writeFile(aside, `${secret}\n`, { mode: 0o600, flag: 'wx' });
  try {
    await link(aside, path);
    return { secret, path, wasGenerated: true };
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error;
    const winner = await readSecret(path);
    if (winner === undefined) throw new SecretFileError(path, 'is empty', error);
    return { secret: winner, path, wasGenerated: false };
  } finally {
    await unlink(aside);
  }
}

/** The stored secret; undefined when there is no file. Tightens the mode when others may read it. */
async function readSecret(path: string): Promise<string | undefined> {
  try {
    const secret = decodeText(await readFile(path))?.trim();
    if (secret === undefined) throw new SecretFileError(path, NOT_TEXT);
    if (secret === '') throw new SecretFileError(path, 'is empty');
    await chmod(path, 0o600).catch(() => undefined);
    return secret;
  } catch (error) {
    // ENOTDIR: so is the folder, which cannot be made.
    if (hasCode(error, 'ENOENT') || hasCode(error, 'ENOTDIR')) return undefined;
    throw error;
  }
}

/** A secret's file that is there but of no use; delete it to have a new one made. */
class SecretFileError extends Error {
  readonly code = 'secret_file';

  constructor(path: string, fault: string, cause?: unknown) {
    super(`${path} ${fault}`, { cause });
    this.name = 'SecretFileError';
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
