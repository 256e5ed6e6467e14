// The processes.
import { drainWorker } from '../../kernel/use-cases/operate-service.ts';
import { workers } from '../../kernel/views/workers.ts';
import { isOfPage } from '../key-ring.ts';
import { requireFound, notFound, Problem } from '../problem.ts';
import { defineEffect, defineList, type Route } from '../route.ts';
import { worker } from '../../contract/workers.ts';
import { WORKERS_SHOWN } from '../services.ts';

const getWorkers = defineList({
  operationId: 'listWorkers',
  belongs: 'service',
  path: '/v1/workers',
  summary: 'The processes of the service, newest first',
  shows: { description: 'A page of processes', item: worker },
  pages: { itemsDefault: WORKERS_SHOWN },
  async list({ reply }, page, { context, services }) {
    const isFirst = page.after === null && page.limit === WORKERS_SHOWN;
    return isFirst && isOfPage(reply.request) ? services.pages.readWorkers() : workers.list(context.views, {}, page);
  },
});

const postDrain = defineEffect<'/v1/workers/{id}/drain', { id: string }>({
  operationId: 'drainWorker',
  belongs: 'service',
  path: '/v1/workers/{id}/drain',
  summary: 'Drain a process: it notices within 3 s, finishes or releases its turns, and ends',
  answers: {
    202: { description: 'The updated process', schema: worker },
    409: { description: 'The process is lost' },
  },
  async perform({ params: { id }, idempotency }, { context }) {
    const result = await drainWorker(context.service.database, { id, idempotency });
    if (result.kind === 'unknown') throw notFound(`worker ${id}`);
    if (result.kind === 'lost')
      throw new Problem(
        'conflict',
        `The worker ${id} is lost: it has not reported since ${result.seenAt.toISOString()} and cannot be drained. ` +
          'Its turns wait until another worker claims them, after its leases have expired.',
      );
    return { id };
  },
  show: async ({ id }, _request, { context }) =>
    requireFound(await workers.find(context.views, id), `worker ${id}: it has drained and ended`),
});

export const workerRoutes: Route[] = [getWorkers, postDrain];
