// System events: one-line facts for a session's next prompt.
import { z } from 'zod';
import { enqueueEvent } from '../../kernel/use-cases/post-message.ts';
import { findSession } from '../../kernel/views/sessions.ts';
import { systemEvents } from '../../kernel/views/system-events.ts';

import { requireFound } from '../problem.ts';
import { defineEffect, defineList, type Route } from '../route.ts';
import { enqueued, systemEventRequest } from '../../contract/answers.ts';
import { systemEvent } from '../../contract/views.ts';
import { mayAct } from '../../core/key-role.ts';
import { EVERYTHING } from '../../core/scope.ts';
import type { Principal } from '../key-ring.ts';

const postSystemEvent = defineEffect({
  operationId: 'queueSystemEvent',
  belongs: 'session',
  path: '/v1/sessions/{key}/system-events',
  isAudited: false,
  summary: "Add a system event to the session's next prompt",
  body: systemEventRequest,
  answers: { 202: { description: 'The event was stored, or it equals the last waiting event', schema: enqueued } },
  async perform({ params, body, principal, idempotency }, { context }) {
    return enqueueEvent(context.service, { sessionKey: params.key, ...toFact(body, principal), idempotency });
  },
  show: async ({ disposition, id, createdAt }, { params, body, principal }) => ({
    event: { id, sessionKey: params.key, ...toFact(body, principal), createdAt },
    disposition,
  }),
});

/**
 * The fact that a request names, as it is stored. A program with a key of a lower role often passes
 * on what others have written, and one with a key of a part of the service is never trusted.
 */
function toFact(body: z.output<typeof systemEventRequest>, { role, scope }: Pick<Principal, 'role' | 'scope'>) {
  const { text, contextKey = null, trusted = mayAct(role, 'admin') } = body;
  return { text: text.trim(), contextKey, trusted: trusted && scope === EVERYTHING };
}

const getSystemEvents = defineList({
  operationId: 'listSystemEvents',
  belongs: 'session',
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
    const isQueued = query.state === 'all' ? undefined : true;
    return systemEvents.list(context.views, { sessionId: found.id, isQueued }, page);
  },
});

export const systemEventRoutes: Route[] = [postSystemEvent, getSystemEvents];
