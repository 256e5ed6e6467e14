// What can go wrong between Holdfast and Discord, and what that says about whether a request was carried out.
import {
  DiscordAPIError,
  HTTPError,
  RateLimitError,
  REST,
  type RequestData,
  type RequestMethod,
} from '@discordjs/rest';
import { PlatformError } from '../platform.ts';
import { noAnswer } from './no-answer.ts';

/** Sends a request. Rejects with `PlatformError`. */
export type AskDiscord = <Result = unknown>(
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  route: `/${string}`,
  request: RequestData & { signal: AbortSignal },
) => Promise<Result>;

/** Asks once, without the retries and waits of the client, which know nothing of the outbox. */
export function createAsk(token: string, baseUrl: string | undefined): AskDiscord {
  const rest = new REST({
    ...(baseUrl === undefined ? {} : { api: `${baseUrl.replace(/\/$/, '')}/api` }),
    retries: 0,
    rejectOnRateLimit: () => true,
    // The types of undici and of Node differ in what is not used here.
    makeRequest: (url, init) => fetch(url, init as never) as never,
  }).setToken(token);
  return async (method, route, request) => {
    // Without ids, and without the tokens of interactions.
    const what = `${method} ${route.replaceAll(/\/(?:\d+|[\w-]{30,})(?=\/|$)/g, '')}`;
    const { signal } = request;
    if (signal.aborted) throw new PlatformError('later', `${what} was not sent: ${String(signal.reason)}`);
    try {
      return (await rest.request({ ...request, method: method as RequestMethod, fullRoute: route })) as never;
    } catch (error) {
      // The client drops a token that was refused once.
      rest.setToken(token);
      throw toPlatformError(what, error);
    }
  };
}

/** Null: Discord refuses it, because the bot was removed from the server or the channel meanwhile. */
export async function nullIfRefused<Result>(asked: Promise<Result>): Promise<Result | null> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof PlatformError && error.kind === 'refused') return null;
    throw error;
  }
}

function toPlatformError(method: string, error: unknown): unknown {
  if (error instanceof RateLimitError)
    return new PlatformError('later', `Discord limits ${method}`, {
      status: 429,
      retryAfterMs: Math.ceil(error.retryAfter),
      isOfAccount: error.global,
    });
  if (error instanceof DiscordAPIError) {
    const { status, code, message } = error;
    // A right that is missing concerns one chat.
    const kind = status === 401 ? 'unauthorized' : 'refused';
    return new PlatformError(kind, `Discord refused ${method}: ${status} ${message} (${code})`, { status });
  }
  // A 5xx can come from a gateway after Discord has carried the request out.
  if (error instanceof HTTPError)
    return new PlatformError('unknown', `Discord refused ${method}: ${error.status}`, { status: error.status });
  if (!(error instanceof Error) || !/^(?:AbortError|TimeoutError|TypeError|SyntaxError)$/.test(error.name))
    return error;
  const { code } = (error.cause ?? {}) as { code?: string };
  return noAnswer({ platform: 'Discord', method }, { code, name: error.name });
}
