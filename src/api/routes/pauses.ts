// What does not run now: paused work, and models that are not called.
import type { PauseView } from '../../contract/pauses.ts';
import type { z } from 'zod';
import { agentOf } from '../../config.ts';
import { liftBlocks, pause, resumeWork } from '../../kernel/use-cases/operate-service.ts';
import { listBlocks, listPauses, PAUSES_MAX, type PauseScope } from '../../kernel/views/pauses.ts';
import { parseSessionKey } from '../parse-json.ts';
import { conflict } from '../problem.ts';
import { defineEffect, defineRead, type Route } from '../route.ts';
import * as schemas from '../../contract/pauses.ts';
import type { BlockView } from '../../contract/model-blocks.ts';
import * as blocks from '../../contract/model-blocks.ts';

const postPause = defineEffect<'/v1/pause', PauseView, z.ZodType, typeof schemas.pauseRequest>({
  operationId: 'pause',
  belongs: 'service',
  path: '/v1/pause',
  summary: 'Pause a lane, an agent, a session, a combination of them, or everything. Running turns finish',
  body: schemas.pauseRequest,
  answers: {
    200: { description: 'The pause; one of the same scope stays as it was', schema: schemas.pause },
    409: { description: `There are ${PAUSES_MAX} pauses` },
  },
  async perform({ body, principal, idempotency }, { context }) {
    const facts = { reason: body.reason ?? null, by: principal.name, idempotency };
    // Throws for one that is not in the configuration.
    if (body.agent !== undefined) agentOf(context.config, body.agent);
    const made = await pause(context.service.database, toScope(body), facts);
    if (made === null)
      throw conflict(`There are already ${PAUSES_MAX} pauses, the largest number. End some of them first.`);
    return made;
  },
});

const postResume = defineEffect<'/v1/resume', { ended: PauseView[] }, z.ZodType, typeof schemas.resumeRequest>({
  operationId: 'resume',
  belongs: 'service',
  path: '/v1/resume',
  summary: 'End the pause with exactly this lane, agent and session; without any of them, end all pauses',
  body: schemas.resumeRequest,
  answers: { 200: { description: 'The ended pauses and the remaining ones', schema: schemas.resumed } },
  perform: ({ body, idempotency }, { context }) => resumeWork(context.service, toScope(body), idempotency),
  show: async ({ ended }, _request, { context }) => ({ ended, remaining: await listPauses(context.views) }),
});

const getPauses = defineRead({
  operationId: 'listPauses',
  belongs: 'service',
  path: '/v1/pauses',
  summary: 'The pauses, oldest first',
  shows: { description: 'All pauses', schema: schemas.pauses },
  read: async (_request, { context }) => ({ items: await listPauses(context.views) }),
});

function toScope({ lane, agent, session }: z.output<typeof schemas.resumeRequest>): PauseScope {
  return {
    lane: lane ?? null,
    agent: agent ?? null,
    session: session === undefined ? null : parseSessionKey(session, 'session'),
  };
}

const getBlocks = defineRead({
  operationId: 'listModelBlocks',
  belongs: 'service',
  path: '/v1/model-blocks',
  summary:
    'The models that no worker calls until a given time, because their provider has asked for that or they do not answer',
  shows: { description: 'All blocks, by model', schema: blocks.modelBlocks },
  read: async (_request, { context }) => ({ items: await listBlocks(context.views) }),
});

const postUnblock = defineEffect<
  '/v1/models/unblock',
  { lifted: BlockView[] },
  z.ZodType,
  typeof blocks.unblockRequest
>({
  operationId: 'unblockModels',
  belongs: 'service',
  path: '/v1/models/unblock',
  summary: 'Lift the block of a model; without one, all blocks. The turns that wait for it resume',
  body: blocks.unblockRequest,
  answers: { 200: { description: 'The blocks that were lifted, and the remaining ones', schema: blocks.unblocked } },
  perform: ({ body, idempotency }, { context }) => liftBlocks(context.service, body.model ?? null, idempotency),
  show: async ({ lifted }, _request, { context }) => ({ lifted, remaining: await listBlocks(context.views) }),
});

export const pauseRoutes: Route[] = [getPauses, postPause, postResume];
export const modelBlockRoutes: Route[] = [getBlocks, postUnblock];
