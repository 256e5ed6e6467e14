// What a call throws, as a `ModelError`: refusals with their status and code, faults of the network, and answers that were cut or made
// no sense.
import { APIError } from '@anthropic-ai/sdk';
import { readRetryAfter } from '../network/retry-after.ts';
import { StreamFault } from './stream/stream-event.ts';
import { ModelError } from './model.ts';

/** The error of a call. Errors that are already in their final form stay as they are. */
export function toModelError(error: unknown): unknown {
  if (error instanceof ModelError || error instanceof StreamFault) return error;
  if (error instanceof APIError) return refusal(error);
  if (error instanceof SyntaxError) return malformedAnswer('The answer is not JSON.', error);
  // The request was answered: the body did not arrive.
  return new ModelError({
    type: 'cut_stream',
    status: null,
    retryAfterMs: null,
    message: `The connection closed before the answer was complete: ${toMessage(error)}`,
    cause: error,
  });
}

/** The answer breaks the rules of its format. */
export function malformedAnswer(message: string, cause?: unknown): ModelError {
  return new ModelError({ type: 'malformed_stream', status: null, retryAfterMs: null, message, cause });
}

/** The request was not answered. */
export function networkError(cause: unknown): never {
  const message = `Connection error: ${toMessage(cause)}`;
  throw new ModelError({ type: 'network', status: null, retryAfterMs: null, message, cause });
}

/** An error that the provider sends instead of an answer, or inside one; the latter has no status. */
function refusal(error: APIError): ModelError {
  const { status, headers } = error;
  return new ModelError({
    type: error.type ?? (status === undefined ? 'api_error' : 'unknown_error'),
    status: status ?? null,
    retryAfterMs: status === undefined || headers === undefined ? null : readRetryAfter(headers, Date.now()),
    message: error.apiMessage ?? error.message,
    errorCode: error.errorCode,
    requestId: error.requestID ?? null,
    cause: error,
  });
}

function toMessage(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // Attempts at several addresses fail with an error that has a code and no message.
  return error.message || ('code' in error ? String(error.code) : error.name);
}
