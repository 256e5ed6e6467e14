// The log: pino to stderr, JSON lines, pretty only when asked for (a terminal). Secrets are removed twice, by the name of the field and by
// their value wherever it appears, because an error message of a driver may carry what no field name betrays (G31).
import { createRequire } from 'node:module';
import { hostname } from 'node:os';
import { pino, type DestinationStream, type Logger as PinoLogger } from 'pino';
import type { LogFormat, LogLevel } from './config/choices.ts';
import { secretPatterns } from './config/redact-secrets.ts';

export type Logger = PinoLogger;

export interface LoggerOptions {
  level: LogLevel;
  format: LogFormat;
  name: string;
  /** The roles of this process, on every line: `api`, `worker,scheduler`; absent: none. */
  role?: string;
  /**
   * Known secret values, see `secretsOf`; each is replaced wherever it appears in a line. Shorter than 6 characters are ignored. A function
   * returns the same list until the secrets change.
   */
  secrets?: readonly string[] | (() => readonly string[]);
  /** Where they go as well, always as JSON; absent: nowhere. */
  files?: DestinationStream | undefined;
  /** Where the lines go; absent: stderr. */
  destination?: DestinationStream;
}

const CENSOR = '[redacted]';

const SECRET_FIELDS = [
  'authorization',
  'Authorization',
  'cookie',
  'set-cookie',
  'proxy-authorization',
  'x-api-key',
  'apiKey',
  'api_key',
  'secret',
  'displaySecret',
  'password',
  'passwd',
  'token',
  'accessToken',
  'databaseUrl',
  'redisUrl',
  'connectionString',
];

/** A logger. Its format and level are fixed for its life; children (`logger.child({ turnId })`) share its redaction. */
export function createLogger(options: LoggerOptions): Logger {
  const destination = options.destination ?? toStderr(options.format);
  const { secrets = [] } = options;
  return pino(
    {
      name: options.name,
      level: options.level,
      base: {
        name: options.name,
        ...(options.role === undefined ? {} : { role: options.role }),
        process: `${hostname()}:${process.pid}`,
      },
      timestamp: pino.stdTimeFunctions.isoTime,
      redact: { paths: redactPaths(), censor: CENSOR },
    },
    withoutSecrets(
      options.files === undefined ? destination : both(destination, options.files),
      typeof secrets === 'function' ? secrets : () => secrets,
    ),
  );
}

function both(first: DestinationStream, second: DestinationStream): DestinationStream {
  return {
    write(line: string) {
      first.write(line);
      second.write(line);
    },
  };
}

/** The fields at the top of a line, and one and two levels below it. */
function redactPaths(): string[] {
  return SECRET_FIELDS.flatMap((field) => {
    const step = /^\w+$/.test(field) ? `.${field}` : `["${field}"]`;
    const top = /^\w+$/.test(field) ? field : `["${field}"]`;
    return [top, `*${step}`, `*.*${step}`];
  });
}

/** Replaces known secret values and things shaped like keys in finished lines. */
function withoutSecrets(destination: DestinationStream, secrets: () => readonly string[]): DestinationStream {
  const toPattern = (list: readonly string[]) => new RegExp([...secretPatterns(list), ...KEY_SHAPES].join('|'), 'g');
  let known = secrets();
  let pattern = toPattern(known);
  return {
    write(line: string) {
      const now = secrets();
      if (now !== known) [known, pattern] = [now, toPattern(now)];
      destination.write(line.replace(pattern, CENSOR));
    },
  };
}

/** Keys that are recognised by their form: Anthropic's, webhook secrets, our own, bearer headers, passwords in URLs. */
const KEY_SHAPES = [
  String.raw`sk-ant-[\w-]{8,}`,
  String.raw`whsec_[\w+/=]{8,}`,
  String.raw`\bhf_[\w-]{20,}`,
  String.raw`(?<=[Bb]earer )[\w.~+/=-]{8,}`,
  String.raw`(?<=(?:postgres|postgresql|redis|rediss|https?):\/\/[^\s:/@"]{0,200}:)[^\s/@"]{1,200}(?=@)`,
];

/** stderr, synchronously: a line written just before an exit is not lost. The pretty printer is loaded only when it is used. */
function toStderr(format: LogFormat): DestinationStream {
  if (format === 'json') return pino.destination({ dest: 2, sync: true });
  const pretty = createRequire(import.meta.url)('pino-pretty') as (options: object) => DestinationStream;
  return pretty({ destination: 2, sync: true, translateTime: 'SYS:HH:MM:ss.l', ignore: 'process' });
}
