// The command line's way to the service: HTTP only, one key, every failure turned into an error with an exit code and a fix.
import { Readable } from 'node:stream';
import { loadClientSettings, type ClientSettings } from '../config/client-settings.ts';
import { CliError, EXIT, type ExitCode } from './cli-error.ts';

/** Requests that do not wait for anything are answered within this time or the service is not well. */
const REQUEST_TIMEOUT_MS = 30_000;
const ERROR_TEXT_CHARS_MAX = 500;

export interface ApiClient {
  readonly settings: ClientSettings;
  /** The parsed JSON answer. Throws `CliError` for anything but a 2xx. */
  request<Answer>(method: string, path: string, options?: RequestOptions): Promise<ApiAnswer<Answer>>;
  /** The open answer of a stream; the caller reads its body. Throws `CliError` for anything but a 2xx. */
  open(path: string, options: { headers: Record<string, string>; signal: AbortSignal }): Promise<Response>;
}

interface RequestOptions {
  /** Sent as JSON. */
  body?: unknown;
  /** Sent as it is, in place of a body. */
  stream?: Readable;
  headers?: Record<string, string>;
  /** How long the answer may take; longer than the requested `wait`. */
  timeoutMs?: number;
  signal?: AbortSignal;
}

interface ApiAnswer<Answer> {
  status: number;
  body: Answer;
}

/** What the flags of every client command say. */
export interface ClientFlags {
  url?: string | undefined;
  apiKey?: string | undefined;
}

/** A client of the service that flags, environment and data directory point to. */
export function connectApi(flags: ClientFlags): ApiClient {
  const settings = loadClientSettings(flags);
  if (!URL.canParse(settings.url) || !/^https?:$/.test(new URL(settings.url).protocol)) {
    throw new CliError({
      code: 'bad_url',
      exitCode: EXIT.usage,
      message: `${JSON.stringify(settings.url)} (from ${settings.urlSource}) is not a URL of a service`,
      fix: 'pass one such as --url http://127.0.0.1:7420',
    });
  }
  const send = (method: string, path: string, init: RequestInit) => sendRequest(settings, method, path, init);
  return {
    settings,
    async request<Answer>(method: string, path: string, options: RequestOptions = {}) {
      const timeout = AbortSignal.timeout(options.timeoutMs ?? REQUEST_TIMEOUT_MS);
      const response = await send(method, path, {
        ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
        ...(options.stream === undefined ? {} : { body: Readable.toWeb(options.stream), duplex: 'half' }),
        headers: {
          ...(options.body === undefined ? {} : { 'content-type': 'application/json' }),
          ...options.headers,
        },
        signal: options.signal === undefined ? timeout : AbortSignal.any([timeout, options.signal]),
      });
      const text = await readText(settings, response);
      // The service describes its answers in `/openapi.json`; the client has no second description to check them against.
      return { status: response.status, body: parseAnswer(settings, response, text) as Answer };
    },
    open: (path, options) => send('GET', path, options),
  };
}

/** `path` of a query: names and values escaped, absent values left out. */
export function pathWithQuery(path: string, query: Record<string, string | number | undefined>): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) parameters.set(name, String(value));
  const search = parameters.toString();
  return search === '' ? path : `${path}?${search}`;
}

async function sendRequest(
  settings: ClientSettings,
  method: string,
  path: string,
  init: RequestInit,
): Promise<Response> {
  const url = new URL(path.slice(1), settings.url.endsWith('/') ? settings.url : `${settings.url}/`);
  const headers = new Headers(init.headers);
  if (settings.apiKey !== undefined) headers.set('authorization', `Bearer ${settings.apiKey}`);
  let response: Response;
  try {
    response = await fetch(url, { ...init, method, headers, redirect: 'error' });
  } catch (error) {
    throw unreachable(settings, error);
  }
  if (response.ok) return response;
  throw refusal(settings, response, await readText(settings, response));
}

async function readText(settings: ClientSettings, response: Response): Promise<string> {
  try {
    return await response.text();
  } catch (error) {
    throw unreachable(settings, error);
  }
}

function parseAnswer(settings: ClientSettings, response: Response, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new CliError({
      code: 'not_holdfast',
      exitCode: EXIT.cannotReach,
      message: `${settings.url} answered ${response.status} with an answer that is not JSON`,
      fix: `check that a Holdfast service listens there (the address is from ${settings.urlSource})`,
      cause: error,
    });
  }
}

/** No answer, or one that broke off. An abort of the caller passes through as it is. */
function unreachable(settings: ClientSettings, error: unknown): unknown {
  if (error instanceof Error && error.name === 'AbortError') return error;
  const isTimeout = error instanceof Error && error.name === 'TimeoutError';
  const reason = isTimeout ? 'no answer in time' : reasonOf(error);
  return new CliError({
    code: isRefused(error) ? 'service_not_running' : 'service_unreachable',
    exitCode: EXIT.cannotReach,
    message: `cannot reach ${settings.url} (from ${settings.urlSource}): ${reason}`,
    fix: 'start the service with "npm start", or pass --url; "holdfast doctor" gives details',
    cause: error,
  });
}

function isRefused(error: unknown): boolean {
  return reasonOf(error).includes('ECONNREFUSED');
}

function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  if (!(cause instanceof Error)) return String(cause);
  const code = 'code' in cause && typeof cause.code === 'string' ? cause.code : undefined;
  return cause.message || (code ?? cause.name);
}

function refusal(settings: ClientSettings, response: Response, text: string): CliError {
  const problem = parseProblem(text);
  const detail = textOf(problem, 'detail') ?? textOf(problem, 'title') ?? text.slice(0, ERROR_TEXT_CHARS_MAX);
  const faults = Array.isArray(problem?.['errors'])
    ? problem['errors'].map(
        (each: { path?: string; message?: string }) => `\n  ${each.path ?? ''} ${each.message ?? ''}`,
      )
    : [];
  const { exitCode, fix } = meaningOf(response, settings);
  return new CliError({
    code: textOf(problem, 'code') ?? `http_${response.status}`,
    exitCode,
    message: `${detail || response.statusText}${faults.join('')}${requestText(response, problem)}`,
    fix,
    ...(problem === undefined ? {} : { problem }),
  });
}

/** By this id the log of the service names what went wrong inside. */
function requestText(response: Response, problem: Record<string, unknown> | undefined): string {
  if (response.status < 500) return '';
  const id = textOf(problem, 'requestId') ?? response.headers.get('x-request-id');
  return id === null ? '' : ` (request ${id})`;
}

/** What a status means for the person at the terminal. */
function meaningOf(response: Response, settings: ClientSettings): { exitCode: ExitCode; fix: string } {
  const wait = response.headers.get('retry-after');
  switch (response.status) {
    case 400:
    case 413:
    case 415:
      return { exitCode: EXIT.usage, fix: 'correct the fields named above; --help shows the allowed values' };
    case 401:
    case 403:
      return {
        exitCode: EXIT.notAllowed,
        fix:
          settings.apiKey === undefined
            ? `pass --api-key, set HOLDFAST_API_KEY, or run where the service's data directory is (looked in ${settings.dataDir})`
            : 'pass the key of this service with --api-key or HOLDFAST_API_KEY',
      };
    case 404:
      return {
        exitCode: EXIT.notFound,
        fix: 'check the name; "holdfast sessions list" and "holdfast turns list" show the existing ones',
      };
    case 409:
    case 422:
      return {
        exitCode: EXIT.conflict,
        fix: 'check its current state and try again, with a new --idempotency-key if the text changed',
      };
    case 429:
      return { exitCode: EXIT.failed, fix: `try again${wait === null ? ' later' : ` in ${wait} s`}` };
    case 502:
    case 503:
    case 504:
      return {
        exitCode: EXIT.cannotReach,
        fix: `try again${wait === null ? '' : ` in ${wait} s`}; "holdfast doctor" says what is missing`,
      };
    default:
      return { exitCode: EXIT.failed, fix: 'read the log of the service' };
  }
}

function parseProblem(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

function textOf(problem: Record<string, unknown> | undefined, field: string): string | undefined {
  const value = problem?.[field];
  return typeof value === 'string' && value !== '' ? value : undefined;
}
