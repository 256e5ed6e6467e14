// The family of a session.
import { viewFamily } from '../../store/views/family.ts';
import { requireFound } from '../problem.ts';
import { defineRead, type Route } from '../route.ts';
import { family } from '../../contract/details.ts';

const getFamily = defineRead({
  operationId: 'getFamily',
  path: '/v1/sessions/{key}/family',
  summary: 'All subagent runs of the family of a session, with the usage of each',
  shows: { description: 'The runs, each after its parent', schema: family },
  read: async ({ params }, { context }) =>
    requireFound(await viewFamily(context.views, params.key), `session ${params.key}`),
});

export const familyRoutes: Route[] = [getFamily];
