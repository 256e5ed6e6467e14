// Dead letters: what could not be finished and waits for a person, grouped by its error.
import { z } from 'zod';
import { discardOpenLetters, redriveLetters } from '../../service/redrive-letters.ts';
import { DEAD_LETTER_STATES, listDeadLetterGroups } from '../../store/views/dead-letters.ts';
import { listAnswer, pageRequestOf } from '../cursor.ts';
import { defineEffect, defineRoute, type Route } from '../route.ts';
import { listOf } from '../schemas/answers.ts';
import { pageQuery } from '../schemas/queries.ts';
import { deadLetterGroup, discardedLetters, letterFilter, redrivenLetters } from '../schemas/dead-letters.ts';

const ITEMS_DEFAULT = 50;
const groupKey = z.tuple([z.string(), z.string()]);

const getDeadLetters = defineRoute({
  method: 'GET',
  path: '/v1/dead-letters',
  summary: 'Dead letters by kind and error, each group with its newest letters',
  query: z.strictObject({ ...pageQuery, state: z.enum(DEAD_LETTER_STATES).optional() }),
  answers: { 200: { description: 'A page of groups', schema: listOf(deadLetterGroup) } },
  async handle({ query, list }, { context }) {
    const bounds = { itemsDefault: ITEMS_DEFAULT, itemsMax: context.config.limits.pageItems, isKey: isGroupKey };
    const page = await listDeadLetterGroups(
      context.views,
      { state: query.state ?? 'open' },
      pageRequestOf(list, query, bounds),
    );
    return { status: 200, body: listAnswer(list, page) };
  },
});

function isGroupKey(text: string): boolean {
  try {
    return groupKey.safeParse(JSON.parse(text)).success && !text.includes('\\u0000');
  } catch {
    return false;
  }
}

const redrive = defineEffect({
  path: '/v1/dead-letters/redrive',
  summary: 'Retry the turns and send the deliveries of open dead letters again, at most 500 in one request',
  body: letterFilter,
  answers: { 200: { description: 'The result for each letter', schema: redrivenLetters } },
  perform: async ({ body, idempotency }, { context }) => redriveLetters(context.service, body, idempotency),
  answer: async (redriven) => ({ status: 200, body: redriven }),
});

const discard = defineEffect({
  path: '/v1/dead-letters/discard',
  summary: 'Discard open dead letters',
  body: letterFilter,
  answers: { 200: { description: 'How many letters were discarded', schema: discardedLetters } },
  perform: async ({ body, idempotency }, { context }) => ({
    discarded: await discardOpenLetters(context.service, body, idempotency),
  }),
  answer: async (discarded) => ({ status: 200, body: discarded }),
});

export const deadLetterRoutes: Route[] = [getDeadLetters, redrive, discard];
