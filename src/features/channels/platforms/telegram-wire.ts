// What can go wrong between Holdfast and Telegram, and what that says about whether a request was
// carried out.
import { GrammyError, HttpError } from 'grammy';
import { given } from '../../../core/json.ts';
import { PlatformError } from '../platform.ts';
import { noAnswer, refuseAborted } from './requests.ts';

/** Telegram refuses the styles of a text. */
export const ABOUT_STYLES = /entit(?:y|ies)/i;

/** The new id of the group that a refusal names. */
const MOVED = new WeakMap<PlatformError, string>();

/**
 * A group that became a supergroup has another id, which the refusal names; nothing was sent to the
 * old one.
 */
export async function intoChat<Result>(chatId: string, send: (chatId: string) => Promise<Result>): Promise<Result> {
  try {
    return await send(chatId);
  } catch (error) {
    const moved = error instanceof PlatformError ? MOVED.get(error) : undefined;
    if (moved === undefined) throw error;
    return send(moved);
  }
}

/** Sends a request. Rejects with `PlatformError`. */
export async function ask<Result>(
  method: string,
  signal: AbortSignal,
  call: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  refuseAborted(method, signal);
  try {
    return await call(signal);
  } catch (error) {
    throw toPlatformError(method, error);
  }
}

function toPlatformError(method: string, error: unknown): unknown {
  if (error instanceof HttpError) {
    return noAnswer({ platform: 'Telegram', method }, error.error as { code?: string; name?: string });
  }
  if (!(error instanceof GrammyError)) return error;
  const { error_code: status, description, parameters } = error;
  const { retry_after: seconds, migrate_to_chat_id: moved } = parameters;
  const failure = new PlatformError(kindOf(status), `Telegram refused ${method}: ${status} ${description}`, {
    status,
    ...given({ retryAfterMs: seconds === undefined ? undefined : seconds * 1_000 }),
  });
  if (moved !== undefined) MOVED.set(failure, String(moved));
  return failure;
}

// A 5xx can come from a gateway after the server has carried the request out, so whether it was is
// unknown. Another process that polls, or a webhook, is a 409: that may end.
function kindOf(status: number): PlatformError['kind'] {
  if (status === 401 || status === 404) return 'unauthorized';
  if (status === 409 || status === 420 || status === 429) return 'later';
  return status >= 500 ? 'unknown' : 'refused';
}

// grammY declares the signal of another package, which this one fits.
export function wire(signal: AbortSignal): never {
  return signal as never;
}
