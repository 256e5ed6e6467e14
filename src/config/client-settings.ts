// What the command line needs to know of its environment: where the service is, which key opens it, whether to colour. Kept apart
// from the configuration because a client must start fast and work where there is no configuration file.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { decodeText } from '../core/text.ts';
import { ConfigError } from './config-error.ts';
import { resolveDataDir, HOST, PORT, type Environment } from './process-environment.ts';
import { readSecretFiles } from './read-secret-files.ts';

/** The variables that only the command line reads. */
export const CLIENT_VARIABLES = [
  {
    env: 'HOLDFAST_URL',
    unset: 'host and port, or the address in the data directory',
    description: 'the address of the service, for the command line',
  },
] as const;

/** The file of the data directory that says where the service listens, written at each start of an api role. */
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
 * Where the service is and which key opens it. First what the command line says, then HOLDFAST_URL and HOLDFAST_API_KEY, then host and
 * port, then what the data directory says. Throws `ConfigError` when HOLDFAST_API_KEY_FILE names no file with a key.
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

/** A host to connect to: a server that listens on all addresses is reached on loopback; IPv6 addresses are in brackets. */
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

/** A file that is not there or not for us to read counts as nothing: the API's answer then says that a key is missing. */
function readLine(path: string): string | undefined {
  try {
    return decodeText(readFileSync(path))?.trim() || undefined;
  } catch {
    return undefined;
  }
}
