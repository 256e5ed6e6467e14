// Ids by their ends: people see and copy the last digits of an id.
import { z } from 'zod';
import { isIdEnd } from '../../core/ids.ts';
import { ENDS_SEARCHED_MAX, findByEnd } from '../../kernel/views/find-things.ts';
import { defineRead, type Route } from '../route.ts';
import { foundIds, ID_KINDS } from '../../contract/answers.ts';
import { listText } from '../../contract/queries.ts';

const getIds = defineRead({
  operationId: 'findIds',
  belongs: 'service',
  path: '/v1/ids',
  summary: 'The things whose ids end with these digits, newest first, among the newest of each kind',
  query: z.strictObject({
    endsWith: z
      .string()
      .refine(isIdEnd, { error: 'expected 6 to 12 hexadecimal digits' })
      .describe('The end of an id: 6 to 12 digits'),
    kinds: listText(ID_KINDS).optional().describe('Only ids of these kinds; absent: of all'),
  }),
  shows: { description: 'The ids; more than one: pass more digits', schema: foundIds },
  async read({ query: { endsWith, kinds } }, { context }) {
    const items = await findByEnd(context.views, endsWith, kinds);
    return { items, lookedAt: ENDS_SEARCHED_MAX };
  },
});

export const idRoutes: Route[] = [getIds];
