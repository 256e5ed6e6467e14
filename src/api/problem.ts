// Every error that the API returns, as RFC 9457 problem details with a stable `code`. The registry
// is the only place where a code gets its status and title. Details name the sent and the allowed
// values, and never a secret, a query or a stack (G31).
import { withDeadline } from '../clock.ts';

/** Code to status and title; the code never changes its meaning. */
export const PROBLEMS = {
  invalid_json: { status: 400, title: 'The body is not valid JSON' },
  invalid_body: { status: 400, title: 'The body is not valid' },
  invalid_query: { status: 400, title: 'The query is not valid' },
  invalid_header: { status: 400, title: 'A header is not valid' },
  invalid_session_key: { status: 400, title: 'The session key is not valid' },
  invalid_items: { status: 400, title: 'The items are not valid' },
  invalid_request: { status: 400, title: 'The request is not valid' },
  unauthorized: { status: 401, title: 'A valid API key is required' },
  forbidden: { status: 403, title: 'The request is not allowed' },
  context_length_exceeded: { status: 400, title: 'The conversation is too long for the model' },
  not_found: { status: 404, title: 'Not found' },
  model_not_found: { status: 404, title: 'The model does not exist' },
  unknown_agent: { status: 404, title: 'The agent does not exist' },
  method_not_allowed: { status: 405, title: 'The path does not support this method' },
  request_timeout: { status: 408, title: 'The body did not arrive in time' },
  conflict: { status: 409, title: 'The current state does not allow the request' },
  already_decided: { status: 409, title: 'It was decided before' },
  expired: { status: 410, title: 'Its time is over' },
  body_too_large: { status: 413, title: 'The body is too large' },
  misdirected: { status: 421, title: 'The request is for another host' },
  unsupported_media_type: { status: 415, title: 'The body must be application/json' },
  idempotency_mismatch: { status: 422, title: 'The Idempotency-Key was used with another body' },
  too_many_attempts: { status: 429, title: 'Too many requests with a wrong API key' },
  too_many_requests: { status: 429, title: 'A limit of the API key or token is reached' },
  insufficient_quota: { status: 429, title: 'A budget is used up' },
  rate_limit_exceeded: { status: 429, title: 'The provider limits the rate of requests' },
  inbox_full: { status: 429, title: 'The inbox is full' },
  spawn_limit: { status: 429, title: 'Too many subagents are active' },
  internal: { status: 500, title: 'Internal error' },
  turn_failed: { status: 500, title: 'The turn failed' },
  overloaded: { status: 503, title: 'Too many requests are in flight' },
  database_unavailable: { status: 503, title: 'The database cannot be reached' },
  read_timeout: { status: 503, title: 'The read took too long' },
  timeout: { status: 503, title: 'The request took too long' },
  wait_ended: { status: 504, title: 'The turn did not end in time' },
} as const satisfies Record<string, { status: number; title: string }>;

export type ProblemCode = keyof typeof PROBLEMS;

/** One invalid field: `history[0].body`; empty for the whole body. */
export interface FieldError {
  path: string;
  message: string;
}

/** Thrown anywhere in a request; becomes its answer. */
export class Problem extends Error {
  readonly code: ProblemCode;
  readonly errors: FieldError[] | undefined;
  /** The time until a retry is useful; becomes `Retry-After`, in whole seconds. */
  readonly retryAfterMs: number | undefined;

  constructor(
    code: ProblemCode,
    detail: string,
    more: { errors?: FieldError[]; retryAfterMs?: number; cause?: unknown } = {},
  ) {
    super(detail, { cause: more.cause });
    this.name = 'Problem';
    this.code = code;
    this.errors = more.errors;
    this.retryAfterMs = more.retryAfterMs;
  }

  get status(): number {
    return PROBLEMS[this.code].status;
  }
}

/** The body of a problem. `instance` is the requested path. */
export function problemBody(problem: Problem, instance: string, requestId: string): string {
  return JSON.stringify({
    type: `urn:holdfast:problem:${problem.code}`,
    title: PROBLEMS[problem.code].title,
    status: problem.status,
    detail: problem.message,
    instance,
    code: problem.code,
    requestId,
    ...(problem.errors === undefined ? {} : { errors: problem.errors }),
  });
}

export function notFound(what: string): Problem {
  return new Problem('not_found', `There is no ${what}.`);
}

/** The value; throws that there is none if it is null. */
export function requireFound<Found>(found: Found | null, subject: string): Found {
  if (found === null) throw notFound(subject);
  return found;
}

/** The problem for a model that no provider serves. */
export function modelProblem(fault: string): Problem {
  const message = `${fault.charAt(0).toUpperCase()}${fault.slice(1)}.`;
  return new Problem('invalid_body', `model: ${message}`, { errors: [{ path: 'model', message }] });
}

/** The problem for a field whose value cannot be used. */
export function fieldProblem(path: string, message: string, code: ProblemCode = 'invalid_body'): Problem {
  return new Problem(code, `${path}: ${message}.`, { errors: [{ path, message }] });
}

export function overloaded(detail: string): Problem {
  return new Problem('overloaded', detail, { retryAfterMs: 1000 });
}

export function conflict(detail: string): Problem {
  return new Problem('conflict', detail);
}

// No request hangs: a request that exceeds its deadline is answered 503, even if its work is still
// running.

/**
 * The result of `work`, or a 503 problem after `ms`. The work itself continues; its late result is
 * ignored.
 */
export function answerWithin<Result>(work: Promise<Result>, ms: number, detail: string): Promise<Result> {
  return withDeadline({ ms, late: () => new Problem('timeout', detail, { retryAfterMs: 1000 }) }, () => work);
}
