// Submissions to the provider.
import { z } from 'zod';
import { SUBMISSION_STATUSES } from './rules/submission.ts';
import { forgetSubmission } from './follow-submission.ts';
import { submissions } from './views.ts';
import { conflict, requireFound, notFound } from '../../api/problem.ts';
import { defineEffect, defineList, type Route } from '../../api/route.ts';
import { providerBatch } from './contract.ts';

const getProviderBatches = defineList({
  operationId: 'listProviderBatches',
  belongs: 'service',
  path: '/v1/provider-batches',
  summary: 'Batches that were submitted to the provider, newest first',
  filter: {
    status: z.enum(SUBMISSION_STATUSES).optional().describe('Only submissions in this state'),
  },
  shows: { description: 'A page of submissions', item: providerBatch },
  list: ({ query }, page, { context }) => submissions.list(context.views, query, page),
});

const forgetProviderBatch = defineEffect<'/v1/provider-batches/{id}/forget', { id: string }>({
  operationId: 'forgetProviderBatch',
  belongs: 'service',
  path: '/v1/provider-batches/{id}/forget',
  summary: 'Abandon a submission: it is no longer polled, and its requests are submitted again',
  answers: {
    200: { description: 'The updated submission', schema: providerBatch },
    409: { description: 'It is being sent, or its results were read' },
  },
  async perform({ params: { id }, idempotency }, { context }) {
    const result = await forgetSubmission(context.service.database, { id, idempotency });
    if (result.kind === 'unknown') throw notFound(`submission ${id}`);
    if (result.kind === 'refused') throw conflict(`The submission is ${result.status}, so it cannot be abandoned.`);
    return { id };
  },
  show: async ({ id }, _request, { context }) =>
    requireFound(await submissions.find(context.views, id), `submission ${id}`),
});

export const routes: Route[] = [getProviderBatches, forgetProviderBatch];
