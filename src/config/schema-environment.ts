// The environment variables: each with what it may hold, its default, its meaning, and the setting
// of `runtime` that it decides.
import { resolve } from 'node:path';
import { z } from 'zod';
import { checked } from './check-input.ts';
import { API_KEY, API_KEY_TEXT, optional, parsed } from './schema-scalars.ts';
import { LANES, type Lane } from '../core/session-key.ts';
import type { ConfigIssue } from './config-error.ts';
import { DATA_DIR, HOST, PORT, type Environment, readSecretFiles } from './process-environment.ts';

declare module 'zod' {
  interface GlobalMeta {
    env?: string | readonly string[];
    unset?: string;
  }
}

export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** The samplers of OTEL_TRACES_SAMPLER. */
export const TRACE_SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;
export type TraceSampler = (typeof TRACE_SAMPLERS)[number];

export type LogFormat = 'pretty' | 'json';

const TIMER_MS_MAX = 2_147_483_647;
const LANE_SIZE_MAX = 1000;

const matching = (pattern: RegExp, allowed: string) =>
  parsed(z.string(), allowed, (text) => (pattern.test(text) ? text : undefined));

const whole = (min: number, max: number) =>
  parsed(z.string(), `a whole number from ${min} to ${max}`, (text) =>
    /^\d{1,10}$/.test(text) && Number(text) >= min && Number(text) <= max ? Number(text) : undefined,
  );

const oneOf = <const Choice extends string>(choices: readonly Choice[]) =>
  parsed(z.string(), choices.join(', '), (text) => choices.find((choice) => choice === text.toLowerCase()));

const url = (...protocols: string[]) =>
  parsed(z.string(), `a URL that begins with ${protocols.map((each) => `${each}//`).join(' or ')}`, (text) =>
    URL.canParse(text) && protocols.includes(new URL(text).protocol) ? text : undefined,
  );

const key = matching(/^[\x21-\x7e]{1,4096}$/, 'visible ASCII characters');

const ratio = matching(/^(?:0|1|0?\.\d{1,15}|1\.0+)$/, 'a number from 0 to 1');

const LOG_FILES = /^(?:off|([1-9]\d{0,3})x([1-9]\d{0,5})(kB|MB|GB))$/;
const UNITS: Record<string, number> = { kB: 1_000, MB: 1_000_000, GB: 1_000_000_000 };

/** How many log files are kept, and how large one becomes. */
export interface LogFileLimits {
  count: number;
  bytes: number;
}

/** Parses `10x10MB`; null: no log files (`off`). */
export const logFiles = parsed(
  z.string(),
  'off, or a count and a size such as 10x10MB',
  (text): LogFileLimits | null | undefined => {
    const [found, files, size, unit = ''] = LOG_FILES.exec(text) ?? [];
    if (found === 'off') return null;
    return found === undefined ? undefined : { count: Number(files), bytes: Number(size) * (UNITS[unit] ?? 0) };
  },
);

const concurrency = parsed(
  z.string(),
  `0 to ${LANE_SIZE_MAX} for every lane, or a list such as "main=8,cron=2" (lanes: ${LANES.join(', ')})`,
  (text): Partial<Record<Lane, number>> | undefined => {
    const sizes = text.includes('=') ? text.split(',') : LANES.map((lane) => `${lane}=${text}`);
    const entries = sizes.map((part) => part.split('=').map((side) => side.trim()));
    const isFine = ([lane = '', size = '']: string[]) =>
      LANES.some((each) => each === lane) && /^\d{1,4}$/.test(size) && Number(size) <= LANE_SIZE_MAX;
    return entries.every(isFine) ? Object.fromEntries(entries.map(([lane, size]) => [lane, Number(size)])) : undefined;
  },
);

/**
 * A setting that a variable decides, of several the first that is set. `unset`: what happens
 * without, for the reference.
 */
const variable = <Schema extends z.ZodType>(env: string | string[], schema: Schema, unset?: string) =>
  schema.meta({ env, ...(unset === undefined ? {} : { unset }) });

export const environmentSchema = z.object({
  databaseUrl: variable(
    'DATABASE_URL',
    optional(url('postgres:', 'postgresql:')),
    'embedded PostgreSQL 18 in the data directory',
  ).describe('PostgreSQL 15 or newer'),
  redisUrl: variable(
    'REDIS_URL',
    optional(url('redis:', 'rediss:')),
    "BullMQ's PostgreSQL backend, in the same database",
  ).describe('Redis 7, Valkey 8 or newer'),
  configPath: variable('HOLDFAST_CONFIG', optional(z.string()), '`./holdfast.json`, if it exists').describe(
    'the configuration file',
  ),
  dataDir: variable('HOLDFAST_DATA_DIR', z.string().default(DATA_DIR)).describe(
    'embedded database, generated keys and secrets, workspaces ([where root starts Holdfast](sandbox.md#outside-a-sandbox), perhaps a link to them); mode 0700',
  ),
  host: variable('HOLDFAST_HOST', z.string().default(HOST)).describe('the address on which the API listens'),
  port: variable('HOLDFAST_PORT', whole(0, 65_535).default(PORT)).describe(
    'the port of the API; 0 selects a free port and prints it',
  ),
  metricsPort: variable('HOLDFAST_METRICS_PORT', optional(whole(0, 65_535))).describe(
    'the port on which a process without the role api serves `/metrics` and `/healthz`, on the address of `HOLDFAST_HOST` and without a key; 0 selects a free port and prints it',
  ),
  apiKey: variable(
    'HOLDFAST_API_KEY',
    optional(matching(API_KEY, API_KEY_TEXT)),
    'generated once, in `api-key` in the data directory',
  )
    .describe('the admin key, 16 to 512 characters')
    .meta({ reload: 'the admin key, if it is in the file of `HOLDFAST_API_KEY_FILE`' }),
  leaseMs: variable('HOLDFAST_LEASE_MS', whole(500, TIMER_MS_MAX).default(15_000)).describe(
    'the lease of a session: how long the sessions of a crashed worker wait. Workers renew it after a third of this time; at least 500',
  ),
  reconcileMs: variable('HOLDFAST_RECONCILE_MS', whole(10, TIMER_MS_MAX).default(1000)).describe(
    'the interval at which the reconciler looks for sessions and deliveries whose job was lost; at least 10',
  ),
  concurrency: variable('HOLDFAST_CONCURRENCY', concurrency.default({}), '`lanes` of the file').describe(
    'the number of concurrent turns in one worker: `8`, or `main=8,batch=2`',
  ),
  logLevel: variable('HOLDFAST_LOG_LEVEL', oneOf(LOG_LEVELS).default('info')).describe(
    '`fatal`, `error`, `warn`, `info`, `debug`, `trace` or `silent`',
  ),
  logFormat: variable(
    'HOLDFAST_LOG_FORMAT',
    optional(oneOf(['pretty', 'json'])),
    '`pretty` on a terminal, else `json`',
  ).describe('the format of the log, which is written to stderr'),
  logFiles: variable('HOLDFAST_LOG_FILES', logFiles.prefault('10x10MB')).describe(
    'the number and maximum size (`kB`, `MB`, `GB`) of the [log files](operations.md#logs) in `logs/` of the data directory; `off` writes none',
  ),
  // OpenTelemetry's exporter reads its other variables itself.
  traceEndpoint: variable(
    ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT'],
    optional(url('http:', 'https:')),
  ),
  traceSampler: variable('OTEL_TRACES_SAMPLER', optional(oneOf(TRACE_SAMPLERS))),
  traceRatio: variable('OTEL_TRACES_SAMPLER_ARG', optional(ratio.transform(Number))),
  anthropicApiKey: variable('ANTHROPIC_API_KEY', optional(key), 'none: the scripted model answers').describe(
    "the key for Anthropic's API",
  ),
  anthropicBaseUrl: variable('ANTHROPIC_BASE_URL', optional(url('http:', 'https:')), "the SDK's default").describe(
    "the address of Anthropic's API",
  ),
  openaiApiKey: variable('OPENAI_API_KEY', optional(key)).describe('the key for the provider `openai`'),
  openaiBaseUrl: variable('OPENAI_BASE_URL', optional(url('http:', 'https:')), "OpenAI's").describe(
    'the address of the API of the provider `openai`',
  ),
  googleApiKey: variable(['GOOGLE_GENERATIVE_AI_API_KEY', 'GEMINI_API_KEY'], optional(key)).describe(
    'the key for the provider `google`',
  ),
  xaiApiKey: variable('XAI_API_KEY', optional(key)).describe('the key for the provider `xai`'),
  openrouterApiKey: variable('OPENROUTER_API_KEY', optional(key)).describe('the key for the provider `openrouter`'),
  braveApiKey: variable('BRAVE_API_KEY', optional(key)).describe('the key of Brave for `web_search`'),
  tavilyApiKey: variable('TAVILY_API_KEY', optional(key)).describe('the key of Tavily for `web_search`'),
  exaApiKey: variable('EXA_API_KEY', optional(key)).describe('the key of Exa for `web_search`'),
});

type Variables = z.output<typeof environmentSchema>;

/** The settings from the environment, with what the file says where no variable decides. */
export type RuntimeSettings = Omit<Variables, 'configPath' | 'concurrency' | 'logFormat'> & {
  /** Absolute path of the file that was read; null when there is none. */
  configPath: string | null;
  concurrency: Record<Lane, number>;
  logFormat: NonNullable<Variables['logFormat']>;
};

/** Which variables decide a setting of `runtime`. */
export function listVariables(setting: z.ZodType): readonly string[] {
  return [setting.meta()?.env ?? []].flat();
}

/** The variables of OpenTelemetry that decide whether there are traces. */
const TRACE_SETTINGS = /^trace/;

/**
 * Checks the environment; an empty variable is an unset one. The log format is left out when no
 * variable says it, and `concurrency` has only the lanes that were named.
 */
export function loadEnvironment(
  given: Environment,
  cwd: string,
): z.output<typeof environmentSchema> & { issues: ConfigIssue[] } {
  const { env, issues } = readSecretFiles(given, cwd);
  const isTraced =
    readText(env, 'OTEL_SDK_DISABLED')?.toLowerCase() !== 'true' && readText(env, 'OTEL_TRACES_EXPORTER') !== 'none';
  const variables: Record<string, string> = {};
  const texts: Record<string, string> = {};
  for (const [setting, schema] of Object.entries(environmentSchema.shape)) {
    if (TRACE_SETTINGS.test(setting) && !isTraced) continue;
    const name = listVariables(schema).find((each) => readText(env, each) !== undefined);
    if (name === undefined) continue;
    variables[setting] = name;
    texts[setting] = readText(env, name) ?? '';
  }
  const { output, issues: faults } = checked(environmentSchema, texts, (setting) => variables[setting] ?? setting);
  return { ...output, dataDir: resolve(cwd, output.dataDir), issues: [...issues, ...faults] };
}

function readText(env: Environment, name: string): string | undefined {
  return env[name]?.trim() || undefined;
}
