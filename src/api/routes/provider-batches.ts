// What was submitted to the provider.
import { z } from 'zod';
import { isUuid } from '../../core/ids.ts';
import { SUBMISSION_STATUSES } from '../../core/provider-batch/submission-status.ts';
import { listProviderBatches } from '../../store/views/provider-batches.ts';
import { listAnswer, pageRequestOf } from '../cursor.ts';
import { defineRoute, type Route } from '../route.ts';
import { listOf } from '../schemas/answers.ts';
import { providerBatch } from '../schemas/provider-batches.ts';
import { pageQuery } from '../schemas/queries.ts';

const ITEMS_DEFAULT = 50;

const getProviderBatches = defineRoute({
  method: 'GET',
  path: '/v1/provider-batches',
  summary: 'Batches that were submitted to the provider, newest first',
  query: z.strictObject({ ...pageQuery, status: z.enum(SUBMISSION_STATUSES).optional() }),
  answers: { 200: { description: 'A page of submissions', schema: listOf(providerBatch) } },
  async handle({ query, list }, { context }) {
    const bounds = { itemsDefault: ITEMS_DEFAULT, itemsMax: context.config.limits.pageItems, isKey: isUuid };
    const page = await listProviderBatches(context.views, { status: query.status }, pageRequestOf(list, query, bounds));
    return { status: 200, body: listAnswer(list, page) };
  },
});

export const providerBatchRoutes: Route[] = [getProviderBatches];
