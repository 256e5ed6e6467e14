// The family of a session.
import { viewFamily } from '../../store/views/family.ts';
import { requireFound } from '../problem.ts';
import { defineRoute, type Route } from '../route.ts';
import { family } from '../../contract/details.ts';

const getFamily = defineRoute({
  operationId: 'getFamily',
  method: 'GET',
  path: '/v1/sessions/{key}/family',
  summary: 'All subagent runs of the family of a session, with the usage of each',
  answers: { 200: { description: 'The runs, each after its parent', schema: family } },
  async handle({ params }, { context }) {
    return { status: 200, body: requireFound(await viewFamily(context.views, params.key), `session ${params.key}`) };
  },
});

export const familyRoutes: Route[] = [getFamily];
