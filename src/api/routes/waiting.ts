// Waiting messages, and their reasons.
import { z } from 'zod';
import { LANES } from '../../config/choices.ts';
import { isUuid } from '../../core/ids.ts';
import { listWaiting } from '../../store/views/waiting.ts';
import { listAnswer, pageRequestOf } from '../cursor.ts';
import { parseSessionKey } from '../path-parameters.ts';
import { defineRoute, type Route } from '../route.ts';
import { countText, pageQuery, sessionKeyText } from '../schemas/queries.ts';
import { waitingList } from '../schemas/waiting.ts';

const ITEMS_DEFAULT = 50;

const getWaiting = defineRoute({
  method: 'GET',
  path: '/v1/waiting',
  summary: 'All waiting messages, oldest first, with the reason why they wait',
  query: z.strictObject({
    ...pageQuery,
    lane: z.enum(LANES).optional(),
    session: sessionKeyText.optional(),
    batch: z.uuid().optional(),
    textChars: countText.optional(),
  }),
  answers: { 200: { description: 'A page of waiting messages, and how many there are', schema: waitingList } },
  async handle({ query, list }, { context }) {
    const bounds = { itemsDefault: ITEMS_DEFAULT, itemsMax: context.config.limits.pageItems, isKey: isUuid };
    const filter = {
      lane: query.lane,
      sessionKey: query.session === undefined ? undefined : parseSessionKey(query.session, 'session'),
      batchId: query.batch?.toLowerCase(),
      textCharsMax: query.textChars,
    };
    const page = await listWaiting(context.views, filter, pageRequestOf(list, query, bounds));
    return { status: 200, body: { ...listAnswer(list, page), count: page.count, isCapped: page.isCapped } };
  },
});

export const waitingRoutes: Route[] = [getWaiting];
