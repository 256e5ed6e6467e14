// Requests of people to write to an agent in a direct chat, and decisions about them.
import { deleted } from '../../contract/answers.ts';
import { pairing, pairingStatus, type PairingView } from '../../contract/pairings.ts';
import { notFound, Problem } from '../../api/problem.ts';
import { defineEffect, defineList, defineRoute, type Route } from '../../api/route.ts';
import { decideAboutPairing, removePairing } from './pairings.ts';
import { pairings } from './views/pairings.ts';

const getPairings = defineList({
  operationId: 'listPairings',
  belongs: 'service',
  path: '/v1/pairings',
  summary: 'People who have asked to write to an agent in a direct chat, newest first',
  filter: { status: pairingStatus.exactOptional().describe('Only those with this status') },
  shows: { description: 'A page of requests', item: pairing },
  list: ({ query }, page, { context }) => pairings.list(context.views, query, page),
});

const decision = (verb: 'approve' | 'deny', status: 'approved' | 'denied', summary: string): Route =>
  defineEffect({
    operationId: `${verb}Pairing`,
    belongs: 'service',
    path: `/v1/pairings/{id}/${verb}`,
    summary,
    answers: {
      200: { description: 'Decided', schema: pairing },
      409: { description: '`already_decided`: it was decided before' },
      410: { description: '`expired`: it was not decided in time' },
    },
    async perform({ params: { id }, principal, idempotency }, { context }) {
      const by = principal.name === '' ? 'an operator' : principal.name;
      const result = await decideAboutPairing(context.service, { id }, { status, by }, idempotency);
      if (result.kind === 'unknown') throw unknown(id);
      if (result.kind === 'closed') throw closed(result.pairing);
      return { status };
    },
    async show(_result, { params: { id } }, { context }) {
      const found = await pairings.find(context.views, id);
      if (found === null) throw unknown(id);
      return found;
    },
  });

const deletePairing = defineRoute({
  operationId: 'deletePairing',
  belongs: 'service',
  method: 'DELETE',
  path: '/v1/pairings/{id}',
  summary: 'Delete a request, whatever was decided: the person may not write any more, and can ask again',
  answers: { 200: { description: 'Deleted', schema: deleted } },
  async handle({ params: { id } }, { context }) {
    if (!(await removePairing(context.service, id))) throw unknown(id);
    return { status: 200, body: { deleted: true } };
  },
});

function unknown(id: string): Problem {
  return notFound(`pairing ${id}. GET /v1/pairings lists them`);
}

function closed({ id, status, decidedBy }: PairingView): Problem {
  if (status === 'expired')
    return new Problem('expired', `The pairing ${id} has expired. The person gets a new code with its next message.`);
  const by = decidedBy === null ? '' : ` by ${decidedBy}`;
  return new Problem(
    'already_decided',
    `The pairing ${id} was ${status}${by}. To decide again, delete it; the person then asks again.`,
  );
}

export const routes: Route[] = [
  getPairings,
  decision('approve', 'approved', 'Let a person write to the agent. The first decision holds; the person is notified'),
  decision('deny', 'denied', 'Do not let a person write. The first decision holds; the person is not notified'),
  deletePairing,
];
