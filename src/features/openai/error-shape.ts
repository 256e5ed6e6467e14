// Errors in OpenAI's shape, for its clients: which of them they try again by themselves depends on
// the status and on `x-should-retry`.
import type { OpenAiError } from '../../contract/answers.ts';
import type { ForeignForm } from '../../api/route.ts';
import type { Problem, ProblemCode } from '../../api/problem.ts';

const PATHS =
  /^\/(?:openai\/v1\/|v1\/(?:chat\/completions|responses|models(?!\/(?:unblock|catalogue|probe)(?:\?|$)))(?:[/?]|$))/;

/** What OpenAI calls these; all other codes are ours. */
const CODES: Partial<Record<ProblemCode, string>> = {
  unauthorized: 'invalid_api_key',
  unknown_agent: 'model_not_found',
  inbox_full: 'rate_limit_exceeded',
  too_many_attempts: 'rate_limit_exceeded',
  too_many_requests: 'rate_limit_exceeded',
};

export function toOpenAiError({ code, status, message, errors }: Problem): OpenAiError {
  return {
    error: {
      message,
      type: toErrorType(code, status),
      param: errors?.[0]?.path || null,
      code: CODES[code] ?? code,
    },
  };
}

function toErrorType(code: ProblemCode, status: number): string {
  if (code === 'insufficient_quota') return 'insufficient_quota';
  if (status === 429) return 'rate_limit_error';
  return status >= 500 ? 'server_error' : 'invalid_request_error';
}

/**
 * The headers of a problem: OpenAI's clients repeat some requests by themselves, which helps with
 * some of these alone.
 */
function toOpenAiHeaders({ code, status }: Problem): Record<string, string> {
  const isLasting =
    code === 'insufficient_quota' || code === 'turn_failed' || (status < 500 && status !== 429 && status !== 408);
  return isLasting ? { 'x-should-retry': 'false' } : {};
}

/** The form of the routes for OpenAI's clients. */
export const OPENAI_FORM: ForeignForm = {
  isEnabled: ({ openai }) => openai.enabled,
  hasPath: (url) => PATHS.test(url),
  errorName: 'OpenAiError',
  errorText: 'The error, in the format of OpenAI',
  formatError: (problem) => ({ headers: toOpenAiHeaders(problem), body: toOpenAiError(problem) }),
};
