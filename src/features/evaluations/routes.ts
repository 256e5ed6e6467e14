// Evaluations: started, shown with their results, controlled, deleted.
import { isUuid } from '../../core/ids.ts';
import { deleted } from '../../contract/answers.ts';
import type { ApiContext } from '../../api/context.ts';
import { isItemNumber } from '../../api/cursor.ts';
import { conflict, fieldProblem, notFound, requireFound } from '../../api/problem.ts';
import { defineEffect, defineList, defineRead, defineRoute, type Route } from '../../api/route.ts';
import * as schemas from './contract.ts';
import { controlEvaluation, deleteEvaluation, type EvaluationVerb } from './control-evaluation.ts';
import type { EvaluationSpec } from './rules/runs.ts';
import { startEvaluation } from './start-evaluation.ts';
import { evaluations, readCompared } from './views/evaluations.ts';
import { listResults } from './views/results.ts';

const conflictDoc = { description: 'Its state does not allow it' };

const postEvaluation = defineEffect({
  operationId: 'startEvaluation',
  belongs: 'service',
  path: '/v1/evaluations',
  summary: 'Ask the items of a data set again, with one or several candidates, and grade each run',
  body: schemas.evaluationRequest,
  answers: { 201: { description: 'The evaluation', schema: schemas.evaluation } },
  async perform({ body, principal, idempotency }, { context }) {
    const result = await startEvaluation(context.service, { request: body, createdBy: principal.name, idempotency });
    switch (result.kind) {
      case 'started':
        return { id: result.id };
      case 'unknown_dataset':
        throw fieldProblem(
          'dataset',
          `expected the name or the id of a data set, got "${body.dataset}", and there is none of it; GET /v1/datasets lists them`,
        );
      case 'invalid':
        throw fieldProblem(result.path, result.message);
      default:
        return result satisfies never;
    }
  },
  show: ({ id }, _request, { context }) => findEvaluation(context, id),
});

const getEvaluations = defineList({
  operationId: 'listEvaluations',
  belongs: 'service',
  path: '/v1/evaluations',
  summary: 'Evaluations, newest first',
  filter: schemas.evaluationFilter,
  shows: { description: 'A page of evaluations', item: schemas.evaluation },
  list({ query: { status, dataset } }, page, { context }) {
    const named = dataset !== undefined && isUuid(dataset) ? { datasetId: dataset } : { datasetName: dataset };
    return evaluations.list(context.views, { status, ...named }, page);
  },
});

const getEvaluation = defineRead({
  operationId: 'getEvaluation',
  belongs: 'service',
  path: '/v1/evaluations/{id}',
  summary: 'One evaluation with its progress, and once it has ended, with its results',
  shows: { description: 'The evaluation', schema: schemas.evaluation },
  read: ({ params }, { context }) => findEvaluation(context, params.id),
});

const getResults = defineList({
  operationId: 'listEvaluationResults',
  belongs: 'service',
  path: '/v1/evaluations/{id}/results',
  summary: 'What came of each item with all its runs, the worst first; also while it runs, when places still change',
  filter: schemas.resultFilter,
  shows: { description: 'A page of items', item: schemas.evaluationResult },
  pages: { isKey: isItemNumber },
  async list({ params: { id }, query: { candidate: name, tag, change } }, page, { context }) {
    const compared = requireFound(await readCompared(context.views, id), `evaluation ${id}`);
    const candidate = chooseCandidate(compared.spec, name);
    if (change !== undefined && candidate === 0) {
      const message = `expected a candidate that is compared with the baseline, and "${compared.spec.candidates[0]?.name}" is the baseline itself; ask without it`;
      throw fieldProblem('change', message, 'invalid_query');
    }
    return listResults(context.views, compared, { candidate, tags: tag, change }, page);
  },
});

/** The index of a candidate. Throws `Problem` 400 for a name that none has. */
function chooseCandidate({ candidates }: Pick<EvaluationSpec, 'candidates'>, name: string | undefined): number {
  if (name === undefined) return Math.min(1, candidates.length - 1);
  const names = candidates.map((one) => one.name);
  if (names.includes(name)) return names.indexOf(name);
  throw fieldProblem('candidate', `expected one of ${names.join(', ')}, got "${name}"`, 'invalid_query');
}

const removeEvaluation = defineRoute({
  operationId: 'deleteEvaluation',
  belongs: 'service',
  method: 'DELETE',
  path: '/v1/evaluations/{id}',
  summary: 'Delete an ended evaluation with its results; its batches and sessions stay as long as others',
  answers: { 200: { description: 'Deleted', schema: deleted }, 409: { description: 'It has not ended' } },
  async handle({ params: { id } }, { context }) {
    const hasEnded = requireFound(await deleteEvaluation(context.service.database, id), `evaluation ${id}`);
    if (!hasEnded) throw conflict('The evaluation has not ended, so it cannot be deleted. Cancel it first.');
    return { status: 200, body: { deleted: true } };
  },
});

function commandRoute(verb: EvaluationVerb, summary: string): Route {
  const path = `/v1/evaluations/{id}/${verb}` as '/v1/evaluations/{id}/pause';
  return defineEffect<typeof path, unknown>({
    operationId: `${verb}Evaluation`,
    belongs: 'service',
    path,
    summary,
    answers: { 200: { description: 'The evaluation as it is now', schema: schemas.evaluation }, 409: conflictDoc },
    async perform({ params: { id }, idempotency }, { context }) {
      const result = await controlEvaluation(context.service, { id, verb, idempotency });
      if (result.kind === 'unknown') throw notFound(`evaluation ${id}`);
      if (result.kind === 'refused') throw conflict(result.text);
      return result;
    },
    show: (_result, { params }, { context }) => findEvaluation(context, params.id),
  });
}

const pauseEvaluation = commandRoute('pause', 'Pause an evaluation: runs in flight finish, and no other run starts');

const resumeEvaluation = commandRoute('resume', 'Resume a paused evaluation');

const cancelEvaluation = commandRoute(
  'cancel',
  'Cancel an evaluation: no other run starts, runs in flight are stopped, and what has ended is graded',
);

async function findEvaluation({ views }: ApiContext, id: string): Promise<schemas.EvaluationView> {
  return requireFound(await evaluations.find(views, id), `evaluation ${id}`);
}

export const routes: Route[] = [
  postEvaluation,
  getEvaluations,
  getEvaluation,
  getResults,
  removeEvaluation,
  pauseEvaluation,
  resumeEvaluation,
  cancelEvaluation,
];
