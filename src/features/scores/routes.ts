// Scores: given, listed, counted, removed.
import { z } from 'zod';
import { notFound, requireFound } from '../../api/problem.ts';
import { parseSessionKey } from '../../api/parse-json.ts';
import { defineEffect, defineList, defineRead, defineRoute, type Route } from '../../api/route.ts';
import { timeText } from '../../config/schema-scalars.ts';
import { nameText, sessionKeyText } from '../../contract/queries.ts';
import { COUNTED_BY, score, scoreCounts, scoreRemoved, scoreRequest, SCORE_SIGNS } from '../../contract/scores.ts';
import { deleteScore, setScore } from './use-cases.ts';
import { countScores, scores, type ScoreFilter } from './views.ts';
import { item } from '../../api/belongs.ts';
import { isScoreSeen } from './views.ts';

const rangeQuery = {
  session: sessionKeyText.optional().describe('Only scores of this session'),
  agent: nameText.optional().describe('Only scores of turns of this agent'),
  since: timeText.optional().describe('Only scores that were given at this time or later'),
  until: timeText.optional().describe('Only scores that were given before this time'),
};

function toFilter(query: z.output<z.ZodObject<typeof rangeQuery>>) {
  const { session, agent, since, until } = query;
  return {
    sessionKey: session === undefined ? undefined : parseSessionKey(session, 'session'),
    agentId: agent,
    since: since === undefined ? undefined : new Date(since),
    until: until === undefined ? undefined : new Date(until),
  } satisfies ScoreFilter;
}

const getScores = defineList({
  operationId: 'listScores',
  belongs: 'service',
  path: '/v1/scores',
  summary: 'What people think of turns, newest first',
  filter: {
    ...rangeQuery,
    turn: z.uuid().optional().describe('Only scores of this turn'),
    author: nameText.optional().describe('Only scores of this author'),
    label: nameText.optional().describe('Only scores with this label'),
    score: z.enum(SCORE_SIGNS).optional().describe('`good`: only scores above 0; `bad`: below 0'),
  },
  shows: { description: 'A page of scores', item: score },
  list: ({ query }, page, { context }) => {
    const { turn: turnId, author, label, score: sign } = query;
    return scores.list(context.views, { ...toFilter(query), turnId, author, label, sign }, page);
  },
});

const getCounts = defineRead({
  operationId: 'countScores',
  belongs: 'service',
  path: '/v1/scores/counts',
  summary: 'How many scores are good and bad, by agent, label, author or day',
  query: z.strictObject({
    ...rangeQuery,
    by: z.enum(COUNTED_BY).optional().describe('What makes a group; absent: `agent`'),
  }),
  shows: { description: 'The groups', schema: scoreCounts },
  read: ({ query }, { context }) => countScores(context.views, query.by ?? 'agent', toFilter(query)),
});

const postScore = defineEffect({
  operationId: 'setScore',
  belongs: 'service',
  path: '/v1/scores',
  summary: 'Say what a person thinks of a turn or a message; it replaces what the same author said of it',
  body: scoreRequest,
  answers: {
    200: { description: 'The score', schema: score },
    404: { description: 'There is no such turn or message, or no turn has answered the message yet' },
  },
  async perform({ body, principal, idempotency }, { context }) {
    const { turnId = null, messageId = null, score: value = null, label = null, note = null } = body;
    const { author = principal.name } = body;
    const given = { turnId, messageId, score: value, label, note, author };
    const id = await setScore(context.service, given, idempotency);
    if (id !== null) return { id };
    throw notFound(turnId === null ? `turn of the message ${messageId}. Wait until it is answered` : `turn ${turnId}`);
  },
  show: async ({ id }: { id: string }, _request, { context }) =>
    requireFound(await scores.find(context.views, id), `score ${id}`),
});

const removeScore = defineRoute({
  operationId: 'removeScore',
  belongs: item('score', isScoreSeen),
  method: 'DELETE',
  path: '/v1/scores/{id}',
  summary: 'Remove a score',
  answers: { 200: { description: 'It is removed', schema: scoreRemoved } },
  async handle({ params: { id } }, { context }) {
    if (!(await deleteScore(context.service, id))) throw notFound(`score ${id}`);
    return { status: 200, body: { id } };
  },
});

export const routes: Route[] = [getScores, getCounts, postScore, removeScore];
