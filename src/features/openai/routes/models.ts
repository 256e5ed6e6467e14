// The models of the OpenAI-compatible endpoints.
import { z } from 'zod';
import { OPENAI_FORM } from '../error-shape.ts';
import { chooseModel, modelNames } from '../models.ts';
import { atBothPlaces } from '../list-part.ts';
import { defineRoute, type Route } from '../../../api/route.ts';

/** Models have no date of their own, but clients require one. */
const CREATED = 1_767_225_600;

const model = z.looseObject({
  id: z.string().describe('The name of the model, for `model` of a request'),
  object: z.literal('model').describe('Always `model`'),
  created: z.int().describe('When it was created, in seconds since the epoch'),
  owned_by: z.string().describe('Always `holdfast`'),
});

function toModel(id: string): z.output<typeof model> {
  return { id, object: 'model', created: CREATED, owned_by: 'holdfast' };
}

const listModels = defineRoute({
  operationId: 'listModels',
  belongs: 'list',
  method: 'GET',
  path: '/v1/models',
  summary: 'The names that OpenAI-compatible requests can use as model',
  form: OPENAI_FORM,
  answers: {
    200: {
      description: 'All of them',
      schema: z.strictObject({
        object: z.literal('list').describe('Always `list`'),
        data: z.array(model).describe('The models that requests can name'),
      }),
    },
  },
  async handle({ principal: { scope } }, { context }) {
    return { status: 200, body: { object: 'list', data: modelNames(context.config, scope).map(toModel) } };
  },
});

const getModel = defineRoute({
  operationId: 'getModel',
  belongs: 'list',
  method: 'GET',
  path: '/v1/models/{model}',
  summary: 'A name that OpenAI-compatible requests can use as model, or a model of a provider',
  form: OPENAI_FORM,
  answers: { 200: { description: 'The model', schema: model } },
  async handle({ params, principal: { scope } }, { context }) {
    const { agent } = chooseModel(context.config, scope, { name: params.model });
    return { status: 200, body: { ...toModel(params.model), agent: agent.id } };
  },
});

export const routes: Route[] = atBothPlaces([listModels, getModel]);
