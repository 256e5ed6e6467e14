// Submissions to the provider.
import { z } from 'zod';
import { SUBMISSION_STATUSES } from '../../core/provider-batch/submission-status.ts';
import { forgetSubmission } from '../../service/forget-submission.ts';
import { listProviderBatches, viewProviderBatch } from '../../store/views/provider-batches.ts';
import { listAnswer, pageRequestOf } from '../cursor.ts';
import { requireFound, notFound, Problem } from '../problem.ts';
import { defineEffect, defineRoute, type Route } from '../route.ts';
import { listOf } from '../../contract/answers.ts';
import { providerBatch } from '../../contract/provider-batches.ts';
import { pageQuery } from '../../contract/queries.ts';

const getProviderBatches = defineRoute({
  operationId: 'listProviderBatches',
  method: 'GET',
  path: '/v1/provider-batches',
  summary: 'Batches that were submitted to the provider, newest first',
  query: z.strictObject({
    ...pageQuery,
    status: z.enum(SUBMISSION_STATUSES).optional().describe('Only submissions in this state'),
  }),
  answers: { 200: { description: 'A page of submissions', schema: listOf(providerBatch) } },
  async handle(request, { context }) {
    const { query } = request;
    const page = await listProviderBatches(context.views, { status: query.status }, pageRequestOf(request, context));
    return listAnswer(request, page);
  },
});

const forgetProviderBatch = defineEffect<'/v1/provider-batches/{id}/forget', { id: string }>({
  operationId: 'forgetProviderBatch',
  path: '/v1/provider-batches/{id}/forget',
  summary: 'Abandon a submission: it is no longer polled, and its requests are submitted again',
  answers: {
    200: { description: 'The updated submission', schema: providerBatch },
    409: { description: 'It is being sent, or its results were read' },
  },
  async perform({ params: { id }, idempotency }, { context }) {
    const result = await forgetSubmission(context.service, { id, idempotency });
    if (result.kind === 'unknown') throw notFound(`submission ${id}`);
    if (result.kind === 'refused')
      throw new Problem('conflict', `The submission is ${result.status}, so it cannot be abandoned.`);
    return { id };
  },
  async answer({ id }, _request, { context }) {
    return { status: 200, body: requireFound(await viewProviderBatch(context.views, id), `submission ${id}`) };
  },
});

export const providerBatchRoutes: Route[] = [getProviderBatches, forgetProviderBatch];
