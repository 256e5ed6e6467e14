// The environment of this process before there is a configuration: the variables, the secrets in
// files that they name, and what the command line reads. It loads nothing heavy, because a client
// must start fast and work where there is no configuration file.
import { resolve, join } from 'node:path';
import { readFileSync, statSync } from 'node:fs';
import { decodeText, NOT_TEXT } from '../core/text.ts';
import { type ConfigIssue, ConfigError } from './config-error.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** The defaults that the command line needs as well. */
export const DATA_DIR = './.holdfast';
export const HOST = '127.0.0.1';
export const PORT = 7420;

/**
 * The data directory, absolute. The only setting that the command line needs before it needs a
 * configuration.
 */
export function resolveDataDir(env: Environment, cwd: string): string {
  return resolve(cwd, env['HOLDFAST_DATA_DIR']?.trim() || DATA_DIR);
}

/** The environment of this process; commands of agents see it without its secrets. */
export function processEnvironment(): Environment {
  return process.env;
}

/**
 * Adds to the environment of this process what it was given in another way, and removes the
 * variable that said so.
 */
export function takeEnvironment(variables: Readonly<Record<string, string>>, mark: string): void {
  Object.assign(process.env, variables);
  delete process.env[mark];
}

// Secrets from files: `DATABASE_URL_FILE` names a file that holds the value of DATABASE_URL, as
// secrets of Docker, Kubernetes and systemd are mounted. What is read here counts as if the
// variable itself were set.

/** The variables whose value can be in a file. */
export const FILE_VARIABLES = [
  'DATABASE_URL',
  'REDIS_URL',
  'HOLDFAST_API_KEY',
  'ANTHROPIC_API_KEY',
  'OPENAI_API_KEY',
  'GOOGLE_GENERATIVE_AI_API_KEY',
  'GEMINI_API_KEY',
  'XAI_API_KEY',
  'OPENROUTER_API_KEY',
  'BRAVE_API_KEY',
  'TAVILY_API_KEY',
  'EXA_API_KEY',
] as const;

const SECRET_BYTES_MAX = 65_536;

/**
 * A copy of the environment with the content of each file, without white space at both ends, and
 * every fault. `names` limits the variables that are read. Relative paths start in `cwd`.
 */
export function readSecretFiles(
  env: Environment,
  cwd: string,
  names: readonly string[] = FILE_VARIABLES,
): { env: Environment; issues: ConfigIssue[] } {
  const read: Record<string, string> = {};
  const issues: ConfigIssue[] = [];
  for (const name of names) {
    const variable = findFileVariable(name, env);
    const file = variable === undefined ? undefined : env[variable]?.trim();
    if (variable === undefined || file === undefined) continue;
    const path = resolve(cwd, file);
    const allowed = `the path of a file that holds the value of ${name}`;
    const content = env[name]?.trim() ? { fault: `is set together with ${name}: unset one of them` } : readText(path);
    if ('text' in content) read[name] = content.text;
    else issues.push({ path: variable, value: path, allowed, message: `${content.fault}; allowed: ${allowed}` });
  }
  return { env: { ...env, ...read }, issues };
}

/** The variable that names the file of `name` when it is set: `DATABASE_URL_FILE`. */
export function findFileVariable(name: string, env: Environment): string | undefined {
  const variable = `${name}_FILE`;
  const isOffered = FILE_VARIABLES.some((each) => each === name);
  return isOffered && env[variable]?.trim() ? variable : undefined;
}

/** The text of a file without white space at both ends, or what is wrong with the file. */
export function readText(path: string): { text: string } | { fault: string } {
  try {
    const stats = statSync(path);
    if (!stats.isFile()) return { fault: `names ${path}, which is not a file` };
    if (stats.size > SECRET_BYTES_MAX) return { fault: `names ${path}, which has more than ${SECRET_BYTES_MAX} bytes` };
    const text = decodeText(readFileSync(path))?.trim();
    if (text === undefined) return { fault: `names ${path}, which ${NOT_TEXT}` };
    return text === '' ? { fault: `names ${path}, which is empty` } : { text };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    if (code === 'ENOENT') return { fault: `names ${path}, which does not exist` };
    return { fault: `names ${path}, which cannot be read (${code})` };
  }
}

// What the command line needs: where the service is, which key opens it, whether to colour.

/** The variables that only the command line reads. */
export const CLIENT_VARIABLES = [
  {
    env: 'HOLDFAST_URL',
    unset: 'host and port, or the address in the data directory',
    description: 'the address of the service, for the command line',
  },
] as const;

/**
 * The file of the data directory that says where the service listens, written at each start of an
 * api role.
 */
export const API_URL_FILE = 'api-url';

export interface ClientSettings {
  url: string;
  /** In words, for messages: `--url`, `HOLDFAST_URL`, a path, `the default`. */
  urlSource: string;
  /** Absent: none was found. */
  apiKey?: string;
  dataDir: string;
}

/**
 * Where the service is and which key opens it. First what the command line says, then HOLDFAST_URL
 * and HOLDFAST_API_KEY, then host and port, then what the data directory says. Throws `ConfigError`
 * when HOLDFAST_API_KEY_FILE names no file with a key.
 */
export function loadClientSettings(
  flags: { url?: string | undefined; apiKey?: string | undefined },
  env: Environment = process.env,
  cwd: string = process.cwd(),
): ClientSettings {
  const dataDir = resolveDataDir(env, cwd);
  const apiKey = flags.apiKey ?? resolveKey(env, cwd) ?? readLine(join(dataDir, 'api-key'));
  return { ...resolveUrl(flags.url, env, dataDir), ...(apiKey === undefined ? {} : { apiKey }), dataDir };
}

function resolveUrl(flag: string | undefined, env: Environment, dataDir: string): { url: string; urlSource: string } {
  if (flag !== undefined) return { url: flag, urlSource: '--url' };
  const fromEnv = readValue(env, 'HOLDFAST_URL');
  if (fromEnv !== undefined) return { url: fromEnv, urlSource: 'HOLDFAST_URL' };
  const port = readValue(env, 'HOLDFAST_PORT');
  const file = join(dataDir, API_URL_FILE);
  const stored = port === undefined || port === '0' ? readLine(file) : undefined;
  if (stored !== undefined) return { url: stored, urlSource: file };
  const host = readValue(env, 'HOLDFAST_HOST') ?? HOST;
  return {
    url: `http://${reachableHost(host)}:${port ?? PORT}`,
    urlSource: port === undefined ? 'the default' : 'HOLDFAST_PORT',
  };
}

/**
 * A host to connect to: a server that listens on all addresses is reached on loopback; IPv6
 * addresses are in brackets.
 */
export function reachableHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
}

/** What NO_COLOR, FORCE_COLOR and TERM say. */
export function terminalSettings(env: Environment = process.env): {
  color: 'auto' | 'always' | 'never';
  isDumb: boolean;
} {
  const isDumb = env['TERM'] === 'dumb';
  if (env['NO_COLOR']) return { color: 'never', isDumb };
  const forced = env['FORCE_COLOR'];
  if (forced === '0' || forced === 'false') return { color: 'never', isDumb };
  return { color: forced === undefined ? 'auto' : 'always', isDumb };
}

function readValue(env: Environment, name: string): string | undefined {
  return env[name]?.trim() || undefined;
}

function resolveKey(env: Environment, cwd: string): string | undefined {
  const read = readSecretFiles(env, cwd, ['HOLDFAST_API_KEY']);
  if (read.issues.length > 0) throw new ConfigError(read.issues);
  return readValue(read.env, 'HOLDFAST_API_KEY');
}

/**
 * A file that is not there or not for us to read counts as nothing: the API's answer then says that
 * a key is missing.
 */
function readLine(path: string): string | undefined {
  try {
    return decodeText(readFileSync(path))?.trim() || undefined;
  } catch {
    return undefined;
  }
}
