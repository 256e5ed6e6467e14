// What an error of a package means: the refusal of a provider, an answer that cannot be read, or a
// connection that broke off.
import type { APICallError } from '@ai-sdk/provider';
import { given, isObject } from '../../core/json.ts';
import { cutHead } from '../../core/text.ts';
import { readRetryAfter } from '../../network/retry-after.ts';
import { ModelError } from '../model.ts';
import { cutAnswer, malformedAnswer } from '../post.ts';
import { StreamFault } from '../stream/stream-event.ts';
import { unusable } from './apis.ts';
import { readRefusal, type RefusedRequest } from './rules/read-refusal.ts';

/** The error of a call. Errors that are already in their final form stay as they are. */
export function toModelError(error: unknown, sent?: RefusedRequest): unknown {
  const known = [error, error instanceof Error ? error.cause : undefined].find(
    (one) => one instanceof ModelError || one instanceof StreamFault,
  );
  if (known !== undefined) return known;
  // Each copy of the package has a class of its own; the name is the same. Without its import
  // nothing is loaded before the first call.
  if (error instanceof Error && error.name === 'AI_APICallError') return toRefusal(error as APICallError, sent);
  if (!(error instanceof Error)) return refusalIn(error, { cause: error, sent });
  if (/^AI_Load(?:APIKey|Setting)Error$/.test(error.name)) return unusable(error.message, 'authentication_error');
  // A chunk that breaks the form that the package expects may be an error of the server.
  if ('value' in error && isRefusal(error.value)) return refusalIn(error.value, { cause: error, sent });
  return isOfPackage(error) ? malformedAnswer(error.message, error) : cutAnswer(error);
}

function isRefusal(chunk: unknown): boolean {
  if (!isObject(chunk)) return false;
  const { response } = chunk;
  return 'error' in chunk || chunk['type'] === 'error' || (isObject(response) && isObject(response['error']));
}

function isOfPackage({ name }: Error): boolean {
  return name.startsWith('AI_') || name === 'SyntaxError';
}

function toRefusal(error: APICallError, sent?: RefusedRequest): ModelError {
  const { statusCode: status = null, responseHeaders = {}, responseBody = '', message } = error;
  if (status !== null && status < 300) return malformedAnswer(message, error);
  const headers = new Headers(responseHeaders);
  const { waitMs, ...read } = readRefusal({
    status,
    body: parsed(responseBody),
    fallback: message,
    ...given({ sent }),
  });
  return new ModelError({
    ...read,
    status,
    retryAfterMs: readRetryAfter(headers, Date.now()) ?? waitMs,
    requestId: headers.get('x-request-id') ?? headers.get('request-id'),
    cause: error,
  });
}

/**
 * An error that the server sends inside its answer. `status`: null where the answer had begun well.
 */
export function refusalIn(
  body: unknown,
  { status = null, cause, sent }: { status?: number | null; cause: unknown; sent?: RefusedRequest | undefined },
): ModelError {
  const text = typeof body === 'string' ? parsed(body) : body;
  const fallback = isObject(text) ? JSON.stringify(text) : String(text);
  const { waitMs, ...read } = readRefusal({ status: null, body: text, fallback, ...given({ sent }) });
  const message = cutHead(read.message, MESSAGE_CHARS_MAX);
  return new ModelError({ ...read, message, status, retryAfterMs: waitMs, cause });
}

/** An answer that is not understood may be of any length. */
const MESSAGE_CHARS_MAX = 2000;

export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
