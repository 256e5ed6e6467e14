// System events: one-line facts for a session's next prompt.
import { z } from 'zod';
import { enqueueEvent } from '../../kernel/use-cases/post-message.ts';
import { findSession } from '../../kernel/views/sessions.ts';
import { listSystemEvents } from '../../kernel/views/system-events.ts';

import { requireFound } from '../problem.ts';
import { defineEffect, defineList, type Route } from '../route.ts';
import { enqueued, systemEventRequest } from '../../contract/answers.ts';
import { systemEvent } from '../../contract/views.ts';

const postSystemEvent = defineEffect({
  operationId: 'queueSystemEvent',
  path: '/v1/sessions/{key}/system-events',
  isAudited: false,
  summary: "Add a system event to the session's next prompt",
  body: systemEventRequest,
  answers: { 202: { description: 'The event was stored, or it equals the last waiting event', schema: enqueued } },
  async perform({ params, body, idempotency }, { context }) {
    return enqueueEvent(context.service, { sessionKey: params.key, ...toFact(body), idempotency });
  },
  show: async ({ disposition, id, createdAt }, { params, body }) => ({
    event: { id, sessionKey: params.key, ...toFact(body), createdAt },
    disposition,
  }),
});

/** The fact that a request names, as it is stored. */
function toFact(body: z.output<typeof systemEventRequest>) {
  return { text: body.text.trim(), contextKey: body.contextKey ?? null, trusted: body.trusted ?? true };
}

const getSystemEvents = defineList({
  operationId: 'listSystemEvents',
  path: '/v1/sessions/{key}/system-events',
  summary: 'The waiting system events, oldest first; with state=all, also those that were consumed or dropped',
  filter: {
    state: z
      .enum(['queued', 'all'])
      .optional()
      .describe('`all`: also those that were consumed or dropped; absent: queued'),
  },
  shows: { description: 'A page of events', item: systemEvent },
  async list({ params, query }, page, { context }) {
    const found = requireFound(await findSession(context.views, params.key), `session ${params.key}`);
    return listSystemEvents(context.views, { sessionId: found.id, isAll: query.state === 'all' }, page);
  },
});

export const systemEventRoutes: Route[] = [postSystemEvent, getSystemEvents];
