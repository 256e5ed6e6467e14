// The tool exists if a provider is configured.
import { listSearchProviders } from '../../config/providers.ts';
import type { Service } from '../../kernel/use-cases/service.ts';
import { type Tool, errorOutcome, textOutcome, type ToolCall } from '../../tools/tool.ts';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import type { SearchAccess } from '../../config.ts';
import { count } from '../../config/schema-scalars.ts';
import { cutHead } from '../../core/text.ts';
import { defineTool } from '../../tools/define-tool.ts';
import { markOf, untrusted, UNTRUSTED_CHARS_MAX } from '../../tools/untrusted-result.ts';
import { FRESHNESS, PROVIDERS, type WebHit, type WebQuery, describeStatus } from './providers.ts';
import { sendGuarded } from '../../network/guarded-request.ts';
import { isPublicAddress } from '../../network/public-address.ts';

export function createSearchTools({ config: { tools } }: Pick<Service, 'config'>): Tool[] {
  const providers = listSearchProviders(tools);
  if (providers.length === 0) return [];
  return [createWebSearchTool({ providers, timeoutSeconds: tools.search.timeoutSeconds })];
}

// The `web_search` tool: asks the configured providers in their order until one answers. What it
// finds is untrusted (G29). Answers are kept for 15 minutes in the process, so that an agent that
// asks again costs no quota; a provider that has failed is asked last for a minute.

const COUNT_DEFAULT = 5;
const COUNT_MAX = 20;
const QUERY_CHARS_MAX = 400;
const TITLE_CHARS_MAX = 200;
const URL_CHARS_MAX = 500;
const TEXT_CHARS_MAX = 900;
const DATE_CHARS_MAX = 40;

const KEPT_MS = 900_000;
const KEPT_MAX = 500;
const REST_MS = 60_000;

export interface WebSearchOptions {
  /** In the order in which they are asked; at least one. */
  providers: readonly SearchAccess[];
  /** For each provider. */
  timeoutSeconds: number;
}

interface KeptAnswer {
  /** The title of the provider that has answered. */
  by: string;
  hits: readonly WebHit[];
}

export function createWebSearchTool({ providers, timeoutSeconds }: WebSearchOptions): Tool {
  const titles = providers.map(({ name }) => PROVIDERS[name].title).join(', ');
  const kept = new LRUCache<string, KeptAnswer>({ max: KEPT_MAX, ttl: KEPT_MS });
  const resting = new LRUCache<string, true>({ max: providers.length, ttl: REST_MS });
  const timeoutMs = timeoutSeconds * 1000;

  /** What the first provider that answers has found, and why others have not. */
  async function search(query: WebQuery, call: ToolCall): Promise<{ found: KeptAnswer | null; faults: string[] }> {
    const faults: string[] = [];
    const inOrder = providers.toSorted((a, b) => Number(resting.has(a.name)) - Number(resting.has(b.name)));
    for (const access of inOrder) {
      const { title } = PROVIDERS[access.name];
      try {
        const { traceparent, signal } = call;
        const hits = await askProvider(access, query, { traceparent, timeoutMs, signal });
        resting.delete(access.name);
        return { found: { by: title, hits: hits.slice(0, query.count) }, faults };
      } catch (error) {
        if (!(error instanceof SearchFault)) throw error;
        resting.set(access.name, true);
        faults.push(`${title}: ${error.message}`);
      }
    }
    return { found: null, faults };
  }

  return defineTool({
    name: 'web_search',
    description: `Search the web (${titles}). Returns titles, addresses and excerpts of pages.`,
    summary: `Search the web (${titles})`,
    input: z.strictObject({
      query: z.string().trim().min(1).max(QUERY_CHARS_MAX).describe('What to search for'),
      count: count(1, COUNT_MAX).optional().describe(`How many results; default ${COUNT_DEFAULT}`),
      freshness: z.enum(FRESHNESS).optional().describe('Only pages of the last day, week, month or year'),
    }),
    // Searching changes nothing and may happen twice, but a query can carry away what the agent has
    // read.
    isIdempotent: true,
    isReadOnly: false,
    timeoutMs: timeoutMs * providers.length + timeoutMs,
    async run({ query: words, count: hitsMax = COUNT_DEFAULT, freshness }, call) {
      const query: WebQuery = { query: words, count: hitsMax, freshness };
      const key = JSON.stringify([words, hitsMax, freshness]);
      const known = kept.get(key);
      if (known !== undefined) return textOutcome(describe(known, ['answered before'], call));
      const { found, faults } = await search(query, call);
      if (found === null) return errorOutcome(`web_search: no provider has answered. ${faults.join('; ')}.`);
      kept.set(key, found);
      return textOutcome(describe(found, faults, call));
    },
  });
}

function describe({ by, hits }: KeptAnswer, notes: readonly string[], call: ToolCall): string {
  const head = `${hits.length} ${hits.length === 1 ? 'result' : 'results'} by ${by}${notes.length === 0 ? '' : ` [${notes.join('; ')}]`}`;
  if (hits.length === 0) return head;
  const blocks = hits.map(({ title, url, text, date }, at) =>
    [
      `${at + 1}. ${cutHead(inLine(title), TITLE_CHARS_MAX)}`,
      cutHead(inLine(url), URL_CHARS_MAX),
      ...(date === null ? [] : [cutHead(inLine(date), DATE_CHARS_MAX)]),
      cutHead(inLine(text), TEXT_CHARS_MAX),
    ].join('\n'),
  );
  return `${head}\n${untrusted('Search results', cutHead(blocks.join('\n\n'), UNTRUSTED_CHARS_MAX), markOf(call))}`;
}

/** Without line breaks, so that a result cannot look like two. */
function inLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim();
}

// One request to one provider. It reaches public addresses only, unless the operator has named the
// address; a redirect is not followed, because it would carry the key elsewhere.

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
