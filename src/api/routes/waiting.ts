// Waiting messages, and their reasons.
import { z } from 'zod';
import { LANES } from '../../config/choices.ts';
import { listWaiting } from '../../store/views/waiting.ts';
import { listAnswer, pageRequestOf } from '../cursor.ts';
import { parseSessionKey } from '../path-parameters.ts';
import { defineRoute, type Route } from '../route.ts';
import { countText, pageQuery, sessionKeyText } from '../../contract/queries.ts';
import { waitingList } from '../../contract/waiting.ts';

const getWaiting = defineRoute({
  operationId: 'listWaiting',
  method: 'GET',
  path: '/v1/waiting',
  summary: 'All waiting messages, oldest first, with the reason why they wait',
  query: z.strictObject({
    ...pageQuery,
    lane: z.enum(LANES).optional().describe('Only messages of sessions in this lane'),
    session: sessionKeyText.optional().describe('Only messages of this session'),
    batch: z.uuid().optional().describe('Only messages of this batch'),
    textChars: countText.optional().describe('The maximum length of `text`; `GET /v1/messages/{id}` has all of it'),
  }),
  answers: { 200: { description: 'A page of waiting messages, and how many there are', schema: waitingList } },
  async handle(request, { context }) {
    const { query } = request;
    const filter = {
      lane: query.lane,
      sessionKey: query.session === undefined ? undefined : parseSessionKey(query.session, 'session'),
      batchId: query.batch?.toLowerCase(),
      textCharsMax: query.textChars,
    };
    const page = await listWaiting(context.views, filter, pageRequestOf(request, context));
    return listAnswer(request, page);
  },
});

export const waitingRoutes: Route[] = [getWaiting];
