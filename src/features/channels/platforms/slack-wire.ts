// What can go wrong between Holdfast and Slack, and what that says about whether a request was carried out.
import { ErrorCode, LogLevel, WebClient, type Logger, type WebClientOptions } from '@slack/web-api';
import { given } from '../../../core/json.ts';
import { PlatformError } from '../platform.ts';
import { noAnswer } from './no-answer.ts';

/** Errors of Slack that say that the token is not valid. A right that is missing concerns one method, whose calls are refused. */
const UNAUTHORIZED = new Set([
  'account_inactive',
  'ekm_access_denied',
  'invalid_auth',
  'not_allowed_token_type',
  'not_authed',
  'org_login_required',
  'token_expired',
  'token_revoked',
]);
const LATER = new Set(['ratelimited', 'rate_limited', 'request_timeout', 'service_unavailable', 'team_added_to_org']);
/** Slack says of these that some of the request may have been carried out. */
const UNKNOWN = new Set(['fatal_error', 'internal_error']);

/** The client logs what it sends, which has secrets in it. */
export const SILENT: Logger = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  setLevel() {},
  getLevel: () => LogLevel.ERROR,
  setName() {},
};

/** How Slack is asked: once, without the retries and waits of the client, which know nothing of the outbox. */
export function clientOptions(baseUrl: string | undefined): WebClientOptions {
  return {
    logger: SILENT,
    retryConfig: { retries: 0 },
    rejectRateLimitedCalls: true,
    allowAbsoluteUrls: false,
    ...given({ slackApiUrl: baseUrl === undefined ? undefined : `${baseUrl.replace(/\/$/, '')}/api/` }),
  };
}

export type AskSlack = <Result>(
  method: string,
  signal: AbortSignal,
  call: (client: WebClient) => Promise<Result>,
) => Promise<Result>;

/** A client takes no signal for a call. */
export function fetchUntil(signal: AbortSignal): NonNullable<WebClientOptions['fetch']> {
  return (url, init) => {
    const signals = [signal, ...(init?.signal === undefined ? [] : [init.signal])];
    return fetch(url, { ...init, signal: AbortSignal.any(signals) });
  };
}

/** Asks with a token. Rejects with `PlatformError`. Each call has a client of its own, which its signal ends. */
export function createAsk(token: string, baseUrl: string | undefined): AskSlack {
  const options = clientOptions(baseUrl);
  return async (method, signal, call) => {
    if (signal.aborted) throw new PlatformError('later', `${method} was not sent: ${String(signal.reason)}`);
    const client = new WebClient(token, { ...options, fetch: fetchUntil(signal) });
    try {
      return await call(client);
    } catch (error) {
      throw toPlatformError(method, error);
    }
  };
}

interface Failure {
  code?: string;
  message?: string;
  data?: { error?: string; needed?: string };
  statusCode?: number;
  retryAfter?: number;
  original?: { cause?: { code?: string }; code?: string; name?: string };
}

/** The cause is not passed on: its text can contain the request, and that the token. */
export function toPlatformError(method: string, error: unknown): unknown {
  const { code, data, statusCode: status = null, retryAfter = 0, original } = (error ?? {}) as Failure;
  switch (code as ErrorCode) {
    case ErrorCode.RateLimitedError:
      return new PlatformError('later', `Slack limits ${method}`, { status: 429, retryAfterMs: retryAfter * 1_000 });
    case ErrorCode.PlatformError: {
      const { error: name = '', needed } = data ?? {};
      const rights = needed === undefined ? '' : `: the bot needs the scope ${needed}`;
      return new PlatformError(kindOf(name), `Slack refused ${method}: ${name}${rights}`, { status: 200 });
    }
    case ErrorCode.HTTPError:
      // A 5xx can come from a gateway after Slack has carried the request out.
      return new PlatformError((status ?? 0) >= 500 ? 'unknown' : 'refused', `Slack refused ${method}: ${status}`, {
        status,
      });
    case ErrorCode.RequestError: {
      const fault = { code: original?.cause?.code ?? original?.code, name: original?.name };
      return noAnswer({ platform: 'Slack', method }, fault);
    }
    // Faults of uploads before anything was sent, and what is no fault of Slack.
    case ErrorCode.FileUploadInvalidArgumentsError:
    case ErrorCode.FileUploadReadFileDataError:
    default:
      return error;
  }
}

function kindOf(name: string): PlatformError['kind'] {
  if (UNAUTHORIZED.has(name)) return 'unauthorized';
  if (LATER.has(name)) return 'later';
  return UNKNOWN.has(name) ? 'unknown' : 'refused';
}
