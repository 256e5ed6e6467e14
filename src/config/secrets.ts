// Secrets (G31): which variables and settings are secret, how a setting is shown without them, how
// they are taken out of texts, and those that Holdfast makes for itself.
import { randomBytes, createHash } from 'node:crypto';
import { access, chmod, link, readFile, unlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { decodeText, NOT_TEXT, cutHead } from '../core/text.ts';
import { makePrivateFolder } from './places.ts';

/**
 * Names of variables are judged first, then values, since a password also hides in a URL under an
 * innocent name.
 */
const VARIABLE_NAME =
  /^(ANTHROPIC_|HOLDFAST_)|^(DATABASE_URL|REDIS_URL)(_FILE)?$|KEY|TOKEN|SECRET|PASS|_PWD|CREDENTIAL|AUTH(?!OR)|COOKIE|PRIVATE|_PAT$|_HEADERS$/i;
/** A URL with a user or password in it, a private key, or the tokens of well-known services. */
const VARIABLE_VALUE =
  /:\/\/[^\s/@]+@|-----BEGIN [A-Z ]*PRIVATE KEY|^(sk-|gh[pousr]_|github_pat_|glpat-|xox[abprs]-|AKIA|ASIA|AIza|eyJ[\w-]+\.eyJ)/;

/** True for a variable that no command of an agent may see. */
export function isSecretVariable(name: string, value: string): boolean {
  return VARIABLE_NAME.test(name) || VARIABLE_VALUE.test(value);
}

// Settings as they may be shown: a secret only by a fingerprint, and of addresses no password, no
// query and no path that lets in.

const FINGERPRINT_DIGITS = 8;

/**
 * A secret as it may be shown. The fingerprint is the beginning of its SHA-256 in hex: equal
 * secrets have equal ones.
 */
export interface ShownSecret {
  isSet: boolean;
  /** Null: it is not set. */
  fingerprint: string | null;
}

const SECRET_NAME = /secret|password|credential|token(?!s)|api[_-]?key|^keys?$|authorization|cookie/i;
/**
 * A command names the key that it calls with; a plugin's own settings, and the environment of an
 * MCP server, may be anything.
 */
const SECRET_PLACE =
  /\.headers\.|^mcp\.servers\.[^.]+\.env\.|\.heartbeat\.when\.command$|^plugins\.entries\.[^.]+\.config\./;
/**
 * Addresses whose path is not a secret. Those of webhooks often are: who knows the path may call
 * them.
 */
const OPEN_PATH = /^runtime\.|\.baseUrl$|\.publicUrl$/;

/** True for a setting whose value is a secret, set or not. */
export function isSecret(path: string, value: unknown): boolean {
  const name = path.slice(path.lastIndexOf('.') + 1);
  if (typeof value === 'boolean' || (Array.isArray(value) && value.length === 0)) return false;
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return false;
  return SECRET_NAME.test(name) || (SECRET_PLACE.test(path) && value !== null);
}

/** A secret by its fingerprint. */
export function shownSecret(value: unknown): ShownSecret {
  if (value === null || value === undefined || value === '') return { isSet: false, fingerprint: null };
  const bytes = typeof value === 'string' ? value : JSON.stringify(value);
  return { isSet: true, fingerprint: createHash('sha256').update(bytes).digest('hex').slice(0, FINGERPRINT_DIGITS) };
}

/** A value that is not a secret, with hidden parts removed from its texts. */
export function shownValue(path: string, value: unknown, redact: (text: string) => string): unknown {
  if (Array.isArray(value)) return value.map((each) => shownValue(path, each, redact));
  if (typeof value !== 'string') return value;
  const mayHidePath = /url$/i.test(path) && !OPEN_PATH.test(path);
  // An address may have characters that end one within a text: a password with a quotation mark.
  if (ADDRESS.test(value) && URL.canParse(value)) return redact(shownUrl(value, mayHidePath));
  return redact(value.replaceAll(ADDRESS_IN_TEXT, (url) => shownUrl(url, mayHidePath)));
}

const CENSOR = '[secret]';
const ADDRESS = /^\s*[a-z][a-z0-9+.-]*:\/\//i;
const ADDRESS_IN_TEXT = /[a-z][a-z0-9+.-]*:\/\/[^\s"'<>]+/gi;

/**
 * An address without its password, the values of its query and its fragment, and on demand without
 * its path.
 */
function shownUrl(text: string, mayHidePath: boolean): string {
  if (!URL.canParse(text)) return text.replace(/:\/\/.*@/, `://${CENSOR}@`);
  const { protocol, username, password, host, pathname, searchParams, hash } = new URL(text);
  const isDatabase = /^(?:postgres(?:ql)?|rediss?):$/.test(protocol);
  const isPathHidden = pathname.includes('@') || (mayHidePath && pathname.length > 1);
  if (username === '' && password === '' && searchParams.size === 0 && hash === '' && !isPathHidden) return text;
  const name = password === '' && !isDatabase && username !== '' ? CENSOR : username;
  const user = username === '' && password === '' ? '' : `${name}${password === '' ? '' : `:${CENSOR}`}@`;
  const query = [...searchParams].map(([key, value]) => {
    const isOpen = isDatabase && !SECRET_NAME.test(key) && !/pass|sslkey/i.test(key);
    return `${key}=${isOpen ? value : CENSOR}`;
  });
  const path = isPathHidden ? `/${CENSOR}` : pathname;
  return `${protocol}//${user}${host}${path}${query.length > 0 ? `?${query.join('&')}` : ''}${hash === '' ? '' : `#${CENSOR}`}`;
}

// Takes known secrets out of texts, in every form in which another system may repeat them: plain,
// as JSON or a URL writes them, and within base64. For texts that are stored or shown although
// others wrote them, above all errors of providers and receivers (G31).

const REDACTED = '[redacted]';
/** Shorter secrets would take ordinary words out of texts. */
const SECRET_CHARS_MIN = 6;
const WEBHOOK_PREFIX = 'whsec_';
/** The largest part of a text that is searched; the rest is dropped. */
const TEXT_CHARS_MAX = 16_384;

/** A text without the secrets, and no longer than 16,384 characters. */
export type Redact = (text: string) => string;

/** The function that takes these secrets out of a text. */
export function createRedact(secrets: readonly string[]): Redact {
  const forms = secrets.flatMap(listForms);
  if (forms.length === 0) return (text) => cutHead(text, TEXT_CHARS_MAX);
  const pattern = compilePattern(forms);
  const formCharsMax = Math.max(...forms.map((form) => form.length));
  return (text) => {
    if (text.length <= TEXT_CHARS_MAX) return text.replace(pattern, REDACTED);
    // A secret that the cut goes through is no longer recognised: the last characters go with it.
    const kept = text.slice(0, TEXT_CHARS_MAX + formCharsMax).replace(pattern, REDACTED);
    return cutHead(kept, Math.min(TEXT_CHARS_MAX, kept.length - formCharsMax));
  };
}

/** Regular expressions that match these secrets in all of their forms, the longest first. */
export function secretPatterns(secrets: readonly string[]): string[] {
  return toSources(secrets.flatMap(listForms));
}

function compilePattern(forms: readonly string[]): RegExp {
  return new RegExp(toSources(forms).join('|'), 'g');
}

function toSources(forms: readonly string[]): string[] {
  const byLength = [...new Set(forms)].toSorted((a, b) => b.length - a.length);
  return byLength.map((form) => form.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`));
}

/** A secret in each of its forms; none for one that is too short. */
function listForms(secret: string): string[] {
  if (secret.length < SECRET_CHARS_MIN) return [];
  // The key of a webhook secret is the part after its prefix.
  if (secret.startsWith(WEBHOOK_PREFIX)) return listForms(secret.slice(WEBHOOK_PREFIX.length));
  const json = JSON.stringify(secret).slice(1, -1);
  const url = encodeURIComponent(secret);
  const base64 = listBase64(secret);
  return [
    secret,
    json,
    json.replaceAll('/', String.raw`\/`),
    url,
    url.replaceAll(/%[0-9A-F]{2}/g, (escape) => escape.toLowerCase()),
    url.replaceAll('%20', '+'),
    ...base64,
    ...base64.map((text) => text.replaceAll('+', '-').replaceAll('/', '_')),
    ...base64.map(encodeURIComponent),
  ];
}

/**
 * The characters that a secret becomes in base64, wherever it begins in what was encoded: three
 * bytes are four characters, so there are three. Characters that also depend on the text before or
 * after it are left out.
 */
function listBase64(secret: string): string[] {
  return [0, 1, 2].map((bytesBefore) => {
    const encoded = Buffer.concat([Buffer.alloc(bytesBefore), Buffer.from(secret)]);
    const begin = Math.ceil((bytesBefore * 8) / 6);
    return encoded.toString('base64').slice(begin, Math.floor((encoded.length * 8) / 6));
  });
}

// Secrets that Holdfast makes for itself: written once, readable by the owner alone, the same for
// all processes that start at the same time.

export interface StoredSecret {
  secret: string;
  path: string;
  wasGenerated: boolean;
}

/**
 * Moves a secret that earlier versions kept elsewhere. Safe when many processes start at the same
 * time.
 */
export async function adoptSecretFile(from: string, to: string): Promise<void> {
  try {
    await access(from);
    await makePrivateFolder(dirname(to));
    await link(from, to);
    await unlink(from);
  } catch (error) {
    // ENOENT: there is none, or another process has moved it. EEXIST: the new place has one, which
    // is in use.
    if (!hasCode(error, 'ENOENT') && !hasCode(error, 'EEXIST')) throw error;
  }
}

/**
 * The secret in `<folder>/<name>`; made by `generate` and stored with mode 0600 when there is none.
 * The file appears whole or not at all (written aside, then linked, which fails if another process
 * was first), so no process ever reads half a secret.
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

/**
 * The stored secret; undefined when there is no file. Tightens the mode when others may read it.
 */
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
