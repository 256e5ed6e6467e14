// Checks a batch as the API does when it is created: the number of requests, their `custom_id`s and
// that each has parameters. What the parameters say is checked only when the batch has ended.
import { invalidRequest } from '../provider-error.ts';
import { isRecord } from '../wire.ts';

export interface BatchRequest {
  custom_id: string;
  params: Record<string, unknown>;
}

const REQUESTS_MAX = 100_000;
const CUSTOM_ID = /^[a-zA-Z0-9_-]{1,64}$/;

/** The requests of a new batch. Throws `ProviderError` 400. */
export function validateBatch(body: unknown): BatchRequest[] {
  const requests: unknown = isRecord(body) ? body['requests'] : undefined;
  if (!Array.isArray(requests)) throw invalidRequest('requests: Field required');
  if (requests.length === 0) throw invalidRequest('requests: List should have at least 1 item after validation, not 0');
  if (requests.length > REQUESTS_MAX) throw invalidRequest(`requests: List should have at most ${REQUESTS_MAX} items`);
  const seen = new Set<string>();
  return requests.map((request: unknown, index) => {
    const at = `requests.${index}`;
    if (!isRecord(request)) throw invalidRequest(`${at}: Input should be an object`);
    const { custom_id: customId, params } = request;
    if (typeof customId !== 'string' || !CUSTOM_ID.test(customId))
      throw invalidRequest(`${at}.custom_id: String should match pattern '${CUSTOM_ID.source}'`);
    if (seen.has(customId)) throw invalidRequest(`${at}.custom_id: custom_id "${customId}" is used more than once`);
    if (!isRecord(params)) throw invalidRequest(`${at}.params: Field required`);
    seen.add(customId);
    return { custom_id: customId, params };
  });
}
