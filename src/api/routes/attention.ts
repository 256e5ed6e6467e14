// What an operator decides about a problem: that it is known, or that it is not to be shown for a time.
import { markAttention } from '../../service/operate-service.ts';
import { notFound } from '../problem.ts';
import { readTroubles, withMarks } from '../read-overview.ts';
import { defineEffect, type Api, type Route } from '../route.ts';
import { acknowledgeRequest, attentionEntry, snoozeRequest, type AttentionEntry } from '../../contract/overview.ts';

/** How long a problem is snoozed if the request does not say, in seconds. */
const SNOOZE_SECONDS = 3_600;

const answers = {
  200: { description: 'The problem with the decision', schema: attentionEntry },
  404: { description: 'There is no such problem, or it has ended' },
};

const postAcknowledge = defineEffect({
  operationId: 'acknowledgeAttention',
  path: '/v1/attention/{attentionId}/acknowledge',
  summary: 'Acknowledge a problem: until it ends, it is not counted and stands last',
  body: acknowledgeRequest,
  answers,
  async perform({ params: { attentionId }, body, principal, idempotency }, { context, services }) {
    const { count } = await entryOf({ context, services }, attentionId);
    const decision = { id: attentionId, seconds: null, count, reason: body.reason ?? null, by: principal.name };
    await markAttention(context.service, decision, idempotency);
    return { id: attentionId };
  },
  answer,
});

const postSnooze = defineEffect({
  operationId: 'snoozeAttention',
  path: '/v1/attention/{attentionId}/snooze',
  summary: 'Snooze a problem: for so many seconds, it is not counted and stands last; 0 ends what was decided before',
  body: snoozeRequest,
  answers,
  async perform({ params: { attentionId }, body, principal, idempotency }, { context, services }) {
    const { count } = await entryOf({ context, services }, attentionId);
    const { seconds = SNOOZE_SECONDS, reason = null } = body;
    await markAttention(context.service, { id: attentionId, seconds, count, reason, by: principal.name }, idempotency);
    return { id: attentionId };
  },
  answer,
});

async function answer({ id }: { id: string }, _request: unknown, api: Api) {
  return { status: 200, body: await entryOf(api, id) };
}

/** Read now: what was shown a second ago may have ended. */
async function entryOf({ context, services }: Api, id: string): Promise<AttentionEntry> {
  const { items } = await withMarks(context, await readTroubles(context, services.readReadiness()));
  const found = items.find((item) => item.id === id);
  if (found === undefined)
    throw notFound(`problem ${id}: it has ended, or never existed. GET /v1/attention lists them`);
  return found;
}

export const attentionRoutes: Route[] = [postAcknowledge, postSnooze];
