// Scores: given, listed, counted, removed.
import { z } from 'zod';
import { fieldProblem, notFound, Problem, requireFound } from '../../api/problem.ts';
import { parseSessionKey } from '../../api/parse-json.ts';
import { defineEffect, defineList, defineRead, defineRoute, type Route } from '../../api/route.ts';
import { timeText } from '../../config/schema-scalars.ts';
import { nameText, sessionKeyText } from '../../contract/queries.ts';
import { COUNTED_BY, score, scoreCounts, scoreRemoved, scoreRequest } from '../../contract/scores.ts';
import { removeScore, setScore } from './use-cases.ts';
import { countScores, scores, type ScoreFilter } from './views.ts';
import { item } from '../../api/belongs.ts';
import type { Principal } from '../../api/key-ring.ts';
import { isOtherCaller } from '../../core/key-role.ts';

const rangeQuery = {
  session: sessionKeyText.optional().describe('Only scores of this session'),
  agent: nameText.optional().describe('Only scores of turns of this agent'),
  score: nameText.optional().describe('Only scores of this name'),
  since: timeText.optional().describe('Only scores that were given at this time or later'),
  until: timeText.optional().describe('Only scores that were given before this time'),
};

function toFilter(query: z.output<z.ZodObject<typeof rangeQuery>>, { scope }: Principal) {
  const { session, agent, score: name, since, until } = query;
  return {
    scope,
    sessionKey: session === undefined ? undefined : parseSessionKey(session, 'session'),
    agentId: agent,
    name,
    since: since === undefined ? undefined : new Date(since),
    until: until === undefined ? undefined : new Date(until),
  } satisfies ScoreFilter;
}

/** True for the author of a score that the caller may not know. */
function isHidden(author: string, { name, scope }: Principal): boolean {
  return scope !== null && isOtherCaller(author, name);
}

const getScores = defineList({
  operationId: 'listScores',
  belongs: 'list',
  path: '/v1/scores',
  summary: 'What people think of turns, newest first',
  filter: {
    ...rangeQuery,
    turn: z.uuid().optional().describe('Only scores of this turn'),
    author: nameText.optional().describe('Only scores of this author, their `by`'),
  },
  shows: { description: 'A page of scores', item: score },
  async list({ query, principal }, page, { context }) {
    const { turn: turnId, author } = query;
    if (author !== undefined && isHidden(author, principal))
      throw fieldProblem('author', `expected a person or the key itself, which is ${principal.name}`, 'invalid_query');
    return scores.list(context.views, { ...toFilter(query, principal), turnId, author }, page);
  },
});

const getCounts = defineRead({
  operationId: 'countScores',
  belongs: 'list',
  path: '/v1/scores/counts',
  summary: 'How many scores are good and bad, by their names, agents, authors or days',
  query: z.strictObject({
    ...rangeQuery,
    by: z.enum(COUNTED_BY).optional().describe('What makes a group; absent: `score`'),
  }),
  shows: { description: 'The groups', schema: scoreCounts },
  read: ({ query, principal }, { context }) =>
    countScores(context.views, { by: query.by ?? 'score', caller: principal.name }, toFilter(query, principal)),
});

const postScore = defineEffect({
  operationId: 'setScore',
  belongs: item('turn'),
  path: '/v1/turns/{id}/scores',
  summary: 'Say what a person thinks of a turn; it replaces what the same person has said under the same name',
  body: scoreRequest,
  answers: {
    200: { description: 'The score', schema: score },
    404: { description: 'There is no such turn, or the message is not one of it' },
  },
  async perform({ params: { id: turnId }, body, principal, idempotency }, { context }) {
    const { score: name, value, note = null, messageId = null, by: author = principal.name } = body;
    if (isOtherCaller(author, principal.name))
      throw fieldProblem('by', 'is the name of another key. Send the name of a person, or leave it out');
    const given = { turnId, messageId, name, value, note, author };
    const id = await setScore(context.service, given, idempotency);
    if (id !== null) return { id };
    throw notFound(messageId === null ? `turn ${turnId}` : `message ${messageId} of the turn ${turnId}`);
  },
  show: async ({ id }: { id: string }, _request, { context }) =>
    requireFound(await scores.find(context.views, id), `score ${id}`),
});

const deleteScore = defineRoute({
  operationId: 'removeScore',
  belongs: item('score'),
  method: 'DELETE',
  path: '/v1/scores/{id}',
  summary: 'Remove a score',
  answers: {
    200: { description: 'It is removed', schema: scoreRemoved },
    403: { description: 'The key is for a part of the service, and another key gave the score' },
  },
  async handle({ params: { id }, principal }, { context }) {
    // The author of a score never changes.
    const found = await scores.find(context.views, id);
    if (found !== null && isHidden(found.by ?? '', principal))
      throw new Problem(
        'forbidden',
        'Another key gave this score. Remove it with that key, or with one for everything.',
      );
    if (!(await removeScore(context.service, id))) throw notFound(`score ${id}`);
    return { status: 200, body: { id } };
  },
});

export const routes: Route[] = [getScores, getCounts, postScore, deleteScore];
