// The errors of Gemini: an RPC status with its details.
import { ProviderError } from '../provider-error.ts';
import type { ModelWire } from './model-wire.ts';

const STATUSES: ReadonlyMap<number, string> = new Map([
  [400, 'INVALID_ARGUMENT'],
  [401, 'UNAUTHENTICATED'],
  [403, 'PERMISSION_DENIED'],
  [404, 'NOT_FOUND'],
  [409, 'ABORTED'],
  [429, 'RESOURCE_EXHAUSTED'],
  [499, 'CANCELLED'],
  [500, 'INTERNAL'],
  [503, 'UNAVAILABLE'],
  [504, 'DEADLINE_EXCEEDED'],
]);
const MESSAGES: ReadonlyMap<number, string> = new Map([
  [400, 'Request contains an invalid argument.'],
  [401, 'Request had invalid authentication credentials.'],
  [403, 'Your API key was reported as leaked. Please use another API key.'],
  [
    500,
    'An internal error has occurred. Please retry or report in https://developers.generativeai.google/guide/troubleshooting',
  ],
  [503, 'The model is overloaded. Please try again later.'],
  [504, 'The request timed out. Please try again.'],
]);
const NO_CREDIT = 'insufficient_quota';
const QUOTA =
  'You exceeded your current quota, please check your plan and billing details. For more information on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits.';
const RPC = 'type.googleapis.com/google.rpc.';
/** An error code of Google, such as `API_KEY_INVALID`. */
const REASON = /^[A-Z_]+$/;

export const GEMINI_ERRORS: Pick<ModelWire, 'messageOf' | 'errorHeaders' | 'errorBody'> = {
  messageOf: ({ status, errorCode, retryAfter }, model) => {
    if (errorCode === 'API_KEY_INVALID') return 'API key not valid. Please pass a valid API key.';
    if (status === 404) {
      return `models/${model} is not found for API version v1beta, or is not supported for generateContent. Call ListModels to see the list of available models and their supported methods.`;
    }
    if (status !== 429) return MESSAGES.get(status) ?? `Error ${status}`;
    if (errorCode === NO_CREDIT) return QUOTA;
    const metric = 'generativelanguage.googleapis.com/generate_content_paid_tier_input_token_count';
    return `${QUOTA}\n* Quota exceeded for metric: ${metric}, limit: 1000000, model: ${model}\nPlease retry in ${retryAfter ?? 2}s.`;
  },
  errorHeaders: () => ({}),
  errorBody: (error) => JSON.stringify(statusOf(error)),
};

export function statusOf(error: ProviderError): unknown {
  const { status: code, message, type } = error;
  const status = type !== null && REASON.test(type) ? type : (STATUSES.get(code) ?? 'UNKNOWN');
  const details = detailsOf(error);
  return { error: { code, message, status, ...(details.length > 0 && { details }) } };
}

function detailsOf({ status, message, param, errorCode, retryAfter }: ProviderError): unknown[] {
  if (param !== null) {
    return [{ '@type': `${RPC}BadRequest`, fieldViolations: [{ field: param, description: message }] }];
  }
  const reason = errorCode !== null && REASON.test(errorCode) ? errorCode : null;
  const info = reason === null ? [] : [{ '@type': `${RPC}ErrorInfo`, reason, domain: 'googleapis.com' }];
  if (status !== 429) return info;
  const url = 'https://ai.google.dev/gemini-api/docs/rate-limits';
  const help = { '@type': `${RPC}Help`, links: [{ description: 'Learn more about Gemini API quotas', url }] };
  if (errorCode === NO_CREDIT) return [help];
  return [...info, help, { '@type': `${RPC}RetryInfo`, retryDelay: `${retryAfter ?? 2}s` }];
}

/** A refusal of the request itself; `field` is the one that has no place there. */
export function refusedByGemini(message: string, field: string | null = null): ProviderError {
  return new ProviderError({ status: 400, message, param: field });
}
