// The providers as one table: address, headers, and how their answers are read. What an answer
// lacks is left out; an answer of another form throws.
import { z } from 'zod';
import type { SearchProviderName } from '../../config/schema-tools.ts';

export const FRESHNESS = ['day', 'week', 'month', 'year'] as const;

export interface WebQuery {
  query: string;
  count: number;
  freshness?: (typeof FRESHNESS)[number] | undefined;
}

export interface WebHit {
  title: string;
  url: string;
  text: string;
  /** The date as the provider writes it; null when it gives none. */
  date: string | null;
}

export interface SearchRequest {
  /** Added to the address of the provider. */
  path: string;
  headers: Record<string, string>;
  /** Absent: a GET. */
  body?: object;
}

interface SearchProvider {
  /** For people and models. */
  title: string;
  /** Null: the configuration names it. */
  baseUrl: string | null;
  request: (query: WebQuery, apiKey: string, nowMs: number) => SearchRequest;
  hits: (answer: unknown) => WebHit[];
}

const text = z.string().nullish();
const resultsOf = <Shape extends z.ZodRawShape>(shape: Shape) => z.object({ results: z.array(z.object(shape)) });
const DAYS = { day: 1, week: 7, month: 30, year: 365 } as const;
const DAY_MS = 86_400_000;

const braveAnswer = z.object({
  web: resultsOf({ title: text, url: text, description: text, page_age: text, age: text }).nullish(),
});
const tavilyAnswer = resultsOf({ title: text, url: text, content: text, published_date: text });
const exaAnswer = resultsOf({
  title: text,
  url: text,
  text,
  highlights: z.array(z.string()).nullish(),
  publishedDate: text,
});
const searxngAnswer = resultsOf({ title: text, url: text, content: text, publishedDate: text });

export const PROVIDERS: Readonly<Record<SearchProviderName, SearchProvider>> = {
  brave: {
    title: 'Brave API',
    baseUrl: 'https://api.search.brave.com',
    request: ({ query, count, freshness }, apiKey) => ({
      path: `/res/v1/web/search?${params({ q: query, count: String(count), text_decorations: 'false', freshness: freshness && `p${freshness.charAt(0)}` })}`,
      headers: { 'x-subscription-token': apiKey },
    }),
    hits: (answer) =>
      (braveAnswer.parse(answer).web?.results ?? []).map((hit) =>
        toHit({ ...hit, text: hit.description, date: hit.page_age ?? hit.age }),
      ),
  },
  tavily: {
    title: 'Tavily API',
    baseUrl: 'https://api.tavily.com',
    request: ({ query, count, freshness }, apiKey) => ({
      path: '/search',
      headers: { authorization: `Bearer ${apiKey}` },
      body: { query, max_results: count, ...(freshness === undefined ? {} : { time_range: freshness }) },
    }),
    hits: (answer) =>
      tavilyAnswer.parse(answer).results.map((hit) => toHit({ ...hit, text: hit.content, date: hit.published_date })),
  },
  exa: {
    title: 'Exa API',
    baseUrl: 'https://api.exa.ai',
    request: ({ query, count, freshness }, apiKey, nowMs) => ({
      path: '/search',
      headers: { 'x-api-key': apiKey },
      body: {
        query,
        numResults: count,
        contents: { highlights: true },
        ...(freshness === undefined
          ? {}
          : { startPublishedDate: new Date(nowMs - DAYS[freshness] * DAY_MS).toISOString() }),
      },
    }),
    hits: (answer) =>
      exaAnswer
        .parse(answer)
        .results.map((hit) =>
          toHit({ ...hit, text: hit.highlights?.join(' … ') ?? hit.text, date: hit.publishedDate }),
        ),
  },
  searxng: {
    title: 'SearXNG',
    baseUrl: null,
    // It has no parameter for the number of results.
    request: ({ query, freshness }) => ({
      path: `/search?${params({ q: query, format: 'json', time_range: freshness })}`,
      headers: {},
    }),
    hits: (answer) =>
      searxngAnswer.parse(answer).results.map((hit) => toHit({ ...hit, text: hit.content, date: hit.publishedDate })),
  },
};

function params(values: Record<string, string | undefined>): string {
  const given = Object.entries(values).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, value]],
  );
  return new URLSearchParams(given).toString();
}

type Written = string | null | undefined;

function toHit(hit: { title?: Written; url?: Written; text?: Written; date?: Written }): WebHit {
  return { title: hit.title ?? '', url: hit.url ?? '', text: hit.text ?? '', date: hit.date ?? null };
}

/** Why a provider has not answered, by the status of its answer. */
export function describeStatus(status: number): string {
  if (status === 401 || status === 403) return `it refuses the access (${status})`;
  // Tavily has two of its own for limits of the plan.
  if ([402, 429, 432, 433].includes(status)) return `its quota or rate is used up (${status})`;
  return `it answers with the status ${status}`;
}
