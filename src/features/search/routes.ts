// The search for words.
import { timeText } from '../../config/schema-scalars.ts';
import { z } from 'zod';
import { parseSessionKey } from '../../api/parse-json.ts';
import { fieldProblem } from '../../api/problem.ts';
import { isSessionSeen } from '../../api/belongs.ts';
import { defineList, type Route } from '../../api/route.ts';
import { sessionKeyText } from '../../contract/queries.ts';
import { searchHit } from '../../contract/search.ts';
import { findSession } from '../../kernel/views/sessions.ts';
import { parseQuery, QUERY_WORDS_MAX, SEARCH_KINDS, type SearchQuery } from './rules.ts';
import { listHits } from './views.ts';

const QUERY_CHARS_MAX = 200;
const HITS_DEFAULT = 20;

const REFUSALS = {
  'no-words': 'has no words; search for at least one letter or digit',
  'only-excluded': 'has only words that are left out; add a word to look for, without a minus sign',
  'too-many-words': `has too many words; search for at most ${QUERY_WORDS_MAX}`,
} as const;

function requireQuery(q: string): SearchQuery {
  const query = parseQuery(q);
  if (typeof query === 'string') throw fieldProblem('q', REFUSALS[query], 'invalid_query');
  return query;
}

const dateOf = (time: string | undefined): Date | undefined => (time === undefined ? undefined : new Date(time));

const getHits = defineList({
  operationId: 'search',
  belongs: 'list',
  path: '/v1/search',
  summary: 'Find words in messages, replies and errors, newest first',
  filter: {
    q: z
      .string()
      .trim()
      .min(1)
      .max(QUERY_CHARS_MAX)
      .describe(
        'The words: each has to be there, and a word also finds those that begin with it. "These words" in quotation marks are found next to each other, -word leaves out',
      ),
    kind: z.enum(SEARCH_KINDS).optional().describe('Only messages, replies or errors'),
    session: sessionKeyText.optional().describe('Only this session'),
    since: timeText.optional().describe('Only what was written at this time or later'),
    until: timeText.optional().describe('Only what was written before this time'),
  },
  shows: { description: 'A page of hits', item: searchHit },
  pages: { itemsDefault: HITS_DEFAULT },
  async list({ query: { q, kind, session, since, until }, principal: { scope } }, page, { context: { views } }) {
    const query = requireQuery(q);
    const key = session === undefined ? undefined : parseSessionKey(session, 'session');
    const found = key === undefined ? undefined : await findSession(views, key);
    const isOutside = key !== undefined && !(await isSessionSeen(key, scope, views));
    if (found === null || isOutside) return { items: [], next: null };
    const sessionId = found?.id;
    return listHits(views, { scope, query, kind, sessionId, since: dateOf(since), until: dateOf(until) }, page);
  },
});

export const routes: Route[] = [getHits];
