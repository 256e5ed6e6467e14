// Models that no worker calls for a time, because their provider has asked to wait, or because they are away.
import type { BlockView } from '../../contract/model-blocks.ts';
import type { z } from 'zod';
import { liftBlocks } from '../../service/operate-service.ts';
import { listBlocks } from '../../store/views/model-blocks.ts';
import { defineEffect, defineRead, type Route } from '../route.ts';
import * as schemas from '../../contract/model-blocks.ts';

const getBlocks = defineRead({
  operationId: 'listModelBlocks',
  path: '/v1/model-blocks',
  summary:
    'The models that no worker calls until a given time, because their provider has asked for that or they do not answer',
  shows: { description: 'All blocks, by model', schema: schemas.modelBlocks },
  read: async (_request, { context }) => ({ items: await listBlocks(context.views) }),
});

const postUnblock = defineEffect<
  '/v1/models/unblock',
  { lifted: BlockView[] },
  z.ZodType,
  typeof schemas.unblockRequest
>({
  operationId: 'unblockModels',
  path: '/v1/models/unblock',
  summary: 'Lift the block of a model; without one, all blocks. The turns that wait for it resume',
  body: schemas.unblockRequest,
  answers: { 200: { description: 'The blocks that were lifted, and the remaining ones', schema: schemas.unblocked } },
  perform: ({ body, idempotency }, { context }) => liftBlocks(context.service, body.model ?? null, idempotency),
  async answer({ lifted }, _request, { context }) {
    return { status: 200, body: { lifted, remaining: await listBlocks(context.views) } };
  },
});

export const modelBlockRoutes: Route[] = [getBlocks, postUnblock];
