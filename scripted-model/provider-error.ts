// The errors that the scripted model answers with. Their types, messages and bodies here are those
// of the Messages API; the other wires write them in their own way.

/** What is known about an error; each wire fills in what is absent. */
interface Fault {
  status: number;
  message: string;
  type?: string | null;
  errorCode?: string | null;
  /** The field that is at fault, as OpenAI names it. */
  param?: string | null;
  retryAfter?: string | null;
  retryAfterMs?: string | null;
}

/** Thrown while a request is checked; becomes the answer. */
export class ProviderError extends Error {
  readonly code = 'provider_error';
  readonly status: number;
  readonly type: string | null;
  readonly errorCode: string | null;
  readonly param: string | null;
  readonly retryAfter: string | null;
  readonly retryAfterMs: string | null;

  constructor(fault: Fault) {
    super(fault.message);
    this.name = 'ProviderError';
    this.status = fault.status;
    this.type = fault.type ?? null;
    this.errorCode = fault.errorCode ?? null;
    this.param = fault.param ?? null;
    this.retryAfter = fault.retryAfter ?? null;
    this.retryAfterMs = fault.retryAfterMs ?? null;
  }
}

const TYPES: ReadonlyMap<number, string> = new Map([
  [400, 'invalid_request_error'],
  [401, 'authentication_error'],
  [402, 'billing_error'],
  [403, 'permission_error'],
  [404, 'not_found_error'],
  [409, 'conflict_error'],
  [413, 'request_too_large'],
  [429, 'rate_limit_error'],
  [504, 'timeout_error'],
  [529, 'overloaded_error'],
]);

/** The API's message when a script gives only a status. */
const MESSAGES: ReadonlyMap<number, string> = new Map([
  [400, 'messages: Invalid request'],
  [401, 'invalid x-api-key'],
  [402, 'Your credit balance is too low to access the Anthropic API.'],
  [403, 'Your API key does not have permission to use the specified resource.'],
  [404, 'Not found'],
  [413, 'Request exceeds the maximum size'],
  [429, 'This request would exceed your rate limit of input tokens per minute.'],
  [500, 'Internal server error'],
  [529, 'Overloaded'],
]);

/** The error type that the API gives with a status, unless the error has one. */
export function typeOf({ type, status }: ProviderError): string {
  return type ?? TYPES.get(status) ?? (status >= 500 ? 'api_error' : 'invalid_request_error');
}

/** The message of a status when the script gives none. */
export function messageOfStatus(status: number): string {
  return MESSAGES.get(status) ?? `Error ${status}`;
}

/** A refusal of the request itself: 400 `invalid_request_error`. */
export function invalidRequest(message: string): ProviderError {
  return new ProviderError({ status: 400, type: 'invalid_request_error', message });
}

/** The JSON body of an error answer, and of an error event inside a stream. */
export function errorBody(error: ProviderError, requestId: string): string {
  const details = error.errorCode === null ? {} : { details: { error_code: error.errorCode } };
  return JSON.stringify({
    type: 'error',
    error: { type: typeOf(error), message: error.message, ...details },
    request_id: requestId,
  });
}

/** The headers that say when to try again. */
export function retryHeaders({ retryAfter, retryAfterMs }: ProviderError): Record<string, string> {
  return {
    ...(retryAfter === null ? {} : { 'retry-after': retryAfter }),
    ...(retryAfterMs === null ? {} : { 'retry-after-ms': retryAfterMs }),
  };
}
