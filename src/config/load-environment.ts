// Reads the environment variables of docs/configuration.md: text to checked values, every fault listed. An empty variable is an unset one.
import { resolve } from 'node:path';
import { type ConfigIssue, describeValue } from './config-error.ts';
import { API_KEY, API_KEY_TEXT, LANES, TRACE_SAMPLERS, type Lane, type LogFormat, type LogLevel } from './choices.ts';
import { LOG_FILES, parseLogFiles, type LogFileLimits } from './log-file-limits.ts';
import { readSecretFiles } from './read-secret-files.ts';
import type { RuntimeSettings } from './runtime-type.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

const LEASE_MS_MIN = 500;
const LANE_SIZE_MAX = 1000;
const TIMER_MS_MAX = 2_147_483_647;
const LOG_LEVELS: readonly LogLevel[] = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'];
const LOG_FORMATS: readonly LogFormat[] = ['pretty', 'json'];

/** The environment's part of `runtime`, before the file had its say; `concurrency` holds only the lanes that were named. */
export type EnvironmentSettings = Omit<RuntimeSettings, 'configPath' | 'concurrency'> & {
  configFile?: string;
  concurrency: Partial<Record<Lane, number>>;
  issues: ConfigIssue[];
};

/** Checks the environment. `isTty` decides the log format when HOLDFAST_LOG_FORMAT does not. */
export function loadEnvironment(given: Environment, cwd: string, isTty: boolean): EnvironmentSettings {
  const { env, issues } = readSecretFiles(given, cwd);
  const reader = environmentReader(env, issues);
  const settings: EnvironmentSettings = {
    dataDir: dataDirOf(env, cwd),
    host: reader.text('HOLDFAST_HOST') ?? '127.0.0.1',
    port: reader.whole('HOLDFAST_PORT', 0, 65_535) ?? 7420,
    leaseMs: reader.whole('HOLDFAST_LEASE_MS', LEASE_MS_MIN, TIMER_MS_MAX) ?? 15_000,
    reconcileMs: reader.whole('HOLDFAST_RECONCILE_MS', 10, TIMER_MS_MAX) ?? 1000,
    concurrency: readConcurrency(reader),
    logLevel: reader.oneOf('HOLDFAST_LOG_LEVEL', LOG_LEVELS) ?? 'info',
    logFormat: reader.oneOf('HOLDFAST_LOG_FORMAT', LOG_FORMATS) ?? (isTty ? 'pretty' : 'json'),
    logFiles: readLogFiles(reader),
    issues,
  };
  const optional = {
    metricsPort: reader.whole('HOLDFAST_METRICS_PORT', 0, 65_535),
    configFile: reader.text('HOLDFAST_CONFIG'),
    databaseUrl: reader.url('DATABASE_URL', ['postgres:', 'postgresql:']),
    redisUrl: reader.url('REDIS_URL', ['redis:', 'rediss:']),
    apiKey: reader.matching('HOLDFAST_API_KEY', API_KEY, API_KEY_TEXT),
    anthropicApiKey: reader.matching('ANTHROPIC_API_KEY', /^[\x21-\x7e]{1,4096}$/, 'visible ASCII characters'),
    anthropicBaseUrl: reader.url('ANTHROPIC_BASE_URL', ['http:', 'https:']),
    ...readTracing(reader),
  };
  // Optional means absent, not undefined.
  return Object.assign(
    settings,
    Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== undefined)),
  );
}

const LOG_FILES_DEFAULT = '10x10MB';

function readLogFiles(reader: EnvironmentReader): LogFileLimits | null {
  const allowed = 'off, or a count and a size such as 10x10MB';
  const text = reader.matching('HOLDFAST_LOG_FILES', LOG_FILES, allowed) ?? LOG_FILES_DEFAULT;
  return parseLogFiles(text);
}

/** The data directory, absolute. The only setting that the command line needs before it needs a configuration. */
export function dataDirOf(env: Environment, cwd: string): string {
  return resolve(cwd, env['HOLDFAST_DATA_DIR']?.trim() || '.holdfast');
}

/** The variables of OpenTelemetry that decide whether there are traces; the exporter reads the others itself. */
function readTracing(reader: EnvironmentReader) {
  const isOff = reader.text('OTEL_SDK_DISABLED')?.toLowerCase() === 'true';
  if (isOff || reader.text('OTEL_TRACES_EXPORTER') === 'none') return {};
  const traceEndpoint = ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT']
    .map((name) => reader.url(name, ['http:', 'https:']))
    .find((url) => url !== undefined);
  const ratio = reader.matching('OTEL_TRACES_SAMPLER_ARG', /^(?:0|1|0?\.\d{1,15}|1\.0+)$/, 'a number from 0 to 1');
  return {
    traceEndpoint,
    traceSampler: reader.oneOf('OTEL_TRACES_SAMPLER', TRACE_SAMPLERS),
    traceRatio: ratio === undefined ? undefined : Number(ratio),
  };
}

function readConcurrency(reader: EnvironmentReader): Partial<Record<Lane, number>> {
  const name = 'HOLDFAST_CONCURRENCY';
  const text = reader.text(name);
  if (text === undefined) return {};
  const toSize = (part: string) => (/^\d{1,4}$/.test(part) && Number(part) <= LANE_SIZE_MAX ? Number(part) : undefined);
  const forAll = toSize(text);
  if (forAll !== undefined) return Object.fromEntries(LANES.map((lane) => [lane, forAll]));
  const sizes: Partial<Record<Lane, number>> = {};
  for (const part of text.split(',')) {
    const [laneText, sizeText] = part.split('=').map((side) => side.trim());
    const lane = LANES.find((each) => each === laneText);
    const size = toSize(sizeText ?? '');
    if (lane === undefined || size === undefined) {
      reader.refuse(
        name,
        text,
        `0 to ${LANE_SIZE_MAX} for every lane, or a list such as "main=8,cron=2" (lanes: ${LANES.join(', ')})`,
      );
      return {};
    }
    sizes[lane] = size;
  }
  return sizes;
}

type EnvironmentReader = ReturnType<typeof environmentReader>;

/** Reads one variable at a time; an invalid one is added to `issues` and counts as unset. */
function environmentReader(env: Environment, issues: ConfigIssue[]) {
  const refuse = (name: string, value: string, allowed: string): undefined => {
    issues.push({ path: name, value, allowed, message: `is ${describeValue(name, value)}; allowed: ${allowed}` });
  };
  const text = (name: string): string | undefined => env[name]?.trim() || undefined;
  const matching = (name: string, pattern: RegExp, allowed: string): string | undefined => {
    const value = text(name);
    return value === undefined || pattern.test(value) ? value : refuse(name, value, allowed);
  };
  const whole = (name: string, min: number, max: number): number | undefined => {
    const value = text(name);
    if (value === undefined) return undefined;
    const isFine = /^\d{1,10}$/.test(value) && Number(value) >= min && Number(value) <= max;
    return isFine ? Number(value) : refuse(name, value, `a whole number from ${min} to ${max}`);
  };
  const oneOf = <Choice extends string>(name: string, choices: readonly Choice[]): Choice | undefined => {
    const value = text(name)?.toLowerCase();
    if (value === undefined) return undefined;
    return choices.find((choice) => choice === value) ?? refuse(name, value, choices.join(', '));
  };
  const url = (name: string, protocols: readonly string[]): string | undefined => {
    const value = text(name);
    if (value === undefined) return undefined;
    const isFine = URL.canParse(value) && protocols.includes(new URL(value).protocol);
    return isFine
      ? value
      : refuse(name, value, `a URL that begins with ${protocols.map((each) => `${each}//`).join(' or ')}`);
  };
  return { text, matching, whole, oneOf, url, refuse };
}
