// One request to one provider. It reaches public addresses only, unless the operator has named the address; a redirect is not followed, because it would
// carry the key elsewhere.
import type { SearchAccess } from '../../config.ts';
import { sendGuarded } from '../../network/guarded-request.ts';
import { isPublicAddress } from '../../network/public-address.ts';
import { describeStatus, PROVIDERS, type WebHit, type WebQuery } from './providers.ts';

const ANSWER_BYTES_MAX = 2_097_152;

/** Why a provider has not answered, in words that repeat nothing of its answer. */
export class SearchFault extends Error {
  readonly code = 'search_failed';
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'SearchFault';
  }
}

export interface WebSearchCall {
  traceparent?: string | undefined;
  timeoutMs: number;
  signal: AbortSignal;
}

/** What the provider has found. Throws `SearchFault`, or the reason of the signal. */
export async function askProvider(
  { name, apiKey, baseUrl }: SearchAccess,
  query: WebQuery,
  { traceparent, timeoutMs, signal }: WebSearchCall,
): Promise<WebHit[]> {
  const provider = PROVIDERS[name];
  const { path, headers, body } = provider.request(query, apiKey ?? '', Date.now());
  // The configuration has the address of one that has none of its own.
  const base = baseUrl ?? provider.baseUrl ?? '';
  const url = new URL((base.endsWith('/') ? base.slice(0, -1) : base) + path);
  const timeout = AbortSignal.timeout(timeoutMs);
  try {
    const response = await sendGuarded({
      url,
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        accept: 'application/json',
        'user-agent': 'Holdfast',
        ...headers,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(traceparent === undefined ? {} : { traceparent }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      mayReach: baseUrl === null ? isPublicAddress : () => true,
      signal: AbortSignal.any([signal, timeout]),
    });
    const status = response.statusCode ?? 0;
    if (status !== 200) {
      response.destroy();
      throw new SearchFault(describeStatus(status));
    }
    return provider.hits(JSON.parse(await readText(response)));
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof SearchFault) throw error;
    if (timeout.aborted) throw new SearchFault(`it has not answered within ${timeoutMs / 1000} s`);
    if (error instanceof SyntaxError || (error as Error).name === 'ZodError')
      throw new SearchFault('its answer has another form than expected', error);
    throw new SearchFault(`it cannot be reached (${(error as NodeJS.ErrnoException).code ?? 'no connection'})`, error);
  }
}

async function readText(response: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  // Leaving the loop destroys the response.
  for await (const chunk of response) {
    bytes += chunk.length;
    if (bytes > ANSWER_BYTES_MAX) throw new SearchFault(`its answer is longer than ${ANSWER_BYTES_MAX} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
