// The one error of the client: what the service refused, or why there is no answer.

/** One field that does not fit. */
export interface ErrorField {
  /** Such as `schedule.expr`; empty for the whole. */
  path: string;
  message: string;
}

interface ErrorFacts {
  code: string;
  status?: number | null;
  title: string;
  detail: string;
  fix: string;
  errors?: ErrorField[];
  requestId?: string | null;
  retryAfterMs?: number | null;
  problem?: Record<string, unknown> | null;
  cause?: unknown;
}

const DETAIL_CHARS_MAX = 500;

/**
 * Thrown by every function of the client, but for an abort, which throws the reason of its signal.
 */
export class HoldfastError extends Error {
  /**
   * The stable code of the problem, such as `not_found`. Without one: `http_502` for an answer that
   * is no problem document, `connection_failed`, `no_answer_in_time`, `not_holdfast` (the answer is
   * not of this API) or `stream_broken`.
   */
  readonly code: string;
  /** The HTTP status; null when there was no answer. */
  readonly status: number | null;
  /** What the code means. */
  readonly title: string;
  /** What is wrong with this request. */
  readonly detail: string;
  /** What to do next. */
  readonly fix: string;
  /** The first field that does not fit; null when the problem names none. */
  readonly field: string | null;
  /** Every field that does not fit. */
  readonly errors: readonly ErrorField[];
  /** By this id the log of the service names the request. */
  readonly requestId: string | null;
  /** When the request may be sent again, as the service says. */
  readonly retryAfterMs: number | null;
  /** The body of the answer, if it was a JSON object. */
  readonly problem: Readonly<Record<string, unknown>> | null;

  constructor(facts: ErrorFacts) {
    super(`${facts.detail || facts.title} ${facts.fix}`, { cause: facts.cause });
    this.name = 'HoldfastError';
    this.code = facts.code;
    this.status = facts.status ?? null;
    this.title = facts.title;
    this.detail = facts.detail;
    this.fix = facts.fix;
    this.errors = facts.errors ?? [];
    this.field = this.errors[0]?.path ?? null;
    this.requestId = facts.requestId ?? null;
    this.retryAfterMs = facts.retryAfterMs ?? null;
    this.problem = facts.problem ?? null;
  }
}

/** The error of an answer that is not a 2xx. */
export function parseRefusal(response: Response, text: string): HoldfastError {
  const problem = parseObject(text);
  const status = response.status;
  return new HoldfastError({
    code: readText(problem?.['code']) ?? `http_${status}`,
    status,
    title: readText(problem?.['title']) ?? (response.statusText || `HTTP ${status}`),
    detail: readText(problem?.['detail']) ?? (problem === null ? text.trim().slice(0, DETAIL_CHARS_MAX) : ''),
    fix: readText(problem?.['fix']) ?? suggestFix(status),
    errors: readErrors(problem?.['errors']),
    requestId: readText(problem?.['requestId']) ?? response.headers.get('x-request-id'),
    retryAfterMs: parseSeconds(response.headers.get('retry-after')),
    problem,
  });
}

/** The error of a request that got no answer. */
export function connectionError(url: string, cause: unknown): HoldfastError {
  return new HoldfastError({
    code: 'connection_failed',
    title: 'The service cannot be reached',
    detail: `Cannot reach ${url}: ${explainError(cause)}.`,
    fix: 'Check that the service runs and that the address is right.',
    cause,
  });
}

/** The error of a request that was not answered within its time. */
export function deadlineError(url: string, timeoutMs: number): HoldfastError {
  return new HoldfastError({
    code: 'no_answer_in_time',
    title: 'No answer in time',
    detail: `${url} did not answer within ${timeoutMs} ms.`,
    fix: 'Try again, or allow more time with timeoutMs.',
  });
}

/** The error of an open answer that broke off, or that carried nothing for too long. */
export function brokenStream(what: string, cause: unknown): HoldfastError {
  return new HoldfastError({
    code: 'stream_broken',
    title: 'The stream broke',
    detail: `${what} broke: ${cause instanceof Error ? cause.message : String(cause)}.`,
    fix: 'Resume after the last item that was received.',
    cause,
  });
}

/** The error of an answer that this API does not give. */
export function foreignAnswerError(url: string, status: number, cause: unknown): HoldfastError {
  return new HoldfastError({
    code: 'not_holdfast',
    status,
    title: 'The answer is not of this API',
    detail: `${url} answered ${status} with a body that is not JSON.`,
    fix: 'Check that a Holdfast service listens at this address, and that no proxy answers instead.',
    cause,
  });
}

/** Why a request failed, in the words of what is below it. */
export function explainError(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  if (!(cause instanceof Error)) return String(cause);
  const code = 'code' in cause && typeof cause.code === 'string' ? cause.code : undefined;
  return cause.message || (code ?? cause.name);
}

function suggestFix(status: number): string {
  switch (status) {
    case 400:
    case 413:
    case 415:
      return 'Correct the named fields.';
    case 401:
    case 403:
      return 'Pass a key of this service that may do this.';
    case 404:
      return 'Check the name or id, and that it was not deleted.';
    case 409:
      return 'Read the current state, and send the request again when it allows it.';
    case 422:
      return 'Use a new idempotency key for another body.';
    case 429:
    case 502:
    case 503:
    case 504:
      return 'Try again later.';
    default:
      return 'Read the log of the service.';
  }
}

function parseObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    // The fields of an object that came as JSON may be anything.
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}

function readErrors(value: unknown): ErrorField[] {
  if (!Array.isArray(value)) return [];
  return value.map((each: { path?: unknown; message?: unknown } | null) => ({
    path: readText(each?.path) ?? '',
    message: readText(each?.message) ?? '',
  }));
}

function readText(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

/**
 * `Retry-After` in milliseconds. A date is not read: it would depend on the clock of this machine.
 */
function parseSeconds(header: string | null): number | null {
  return header !== null && /^\d{1,6}$/.test(header) ? Number(header) * 1000 : null;
}
