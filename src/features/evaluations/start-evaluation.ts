// Starts an evaluation: checks what is asked for, fills in what was left out, and stores it. The
// rounds of schedulers do the rest.
import { isAgent, modelFault } from '../../config.ts';
import { toMicros } from '../../core/prices.ts';
import type { KeyedRequest } from '../../database/idempotency.ts';
import { newId } from '../../ids.ts';
import type { Service } from '../../kernel/use-cases/service.ts';
import type { EvaluationRequest } from './contract.ts';
import { findNameFault, nameGrader } from './rules/graders.ts';
import { listJudging, type EvaluationSpec } from './rules/runs.ts';
import { countPart, createEvaluation, type PartOfAgent } from './store/evaluations.ts';
import { findDataset } from './views/datasets.ts';

export interface NewEvaluationRequest {
  request: EvaluationRequest;
  /** The caller, as `admin` or `key:<name>`. */
  createdBy: string;
  idempotency: KeyedRequest | null;
}

/** What is wrong with a request, and with which field of it. */
export interface EvaluationFault {
  path: string;
  message: string;
}

export type StartedEvaluation =
  | { kind: 'started'; id: string }
  | { kind: 'unknown_dataset' }
  | ({ kind: 'invalid' } & EvaluationFault);

const REPEATS = 3;
const EFFECT = 5;
const CONCURRENCY = 16;

/** Stores it. Rejects with a taken key (`isKeyTaken`). */
export async function startEvaluation(
  service: Pick<Service, 'config' | 'database'>,
  { request, createdBy, idempotency }: NewEvaluationRequest,
): Promise<StartedEvaluation> {
  const { database } = service;
  const { name = null, dataset: wanted, version: asked, costCap, ...rest } = request;
  const dataset = await findDataset(database.views, wanted);
  if (dataset === null) return { kind: 'unknown_dataset' };
  const version = asked ?? dataset.version;
  if (version > dataset.version || version === 0) {
    const message = `expected a version from 1 to ${dataset.version} of the data set "${dataset.name}", got ${version}`;
    return { kind: 'invalid', path: asked === undefined ? 'dataset' : 'version', message };
  }
  const spec = completeSpec(rest);
  const parts = await countPart(database, { datasetId: dataset.id, version, ...spec });
  const fault = findNamesFault(spec) ?? findPartFault(service, spec, parts) ?? findModelFault(service, spec, parts);
  if (fault !== null) return { kind: 'invalid', ...fault };
  const id = newId<string>();
  const isStored = await createEvaluation(
    database,
    {
      id,
      name,
      datasetId: dataset.id,
      version,
      spec,
      maxCostMicros: costCap === undefined ? null : toMicros(costCap),
      batchId: newId<string>(),
      judgingBatchId: newId<string>(),
      createdBy,
    },
    idempotency,
  );
  return isStored ? { kind: 'started', id } : { kind: 'unknown_dataset' };
}

function completeSpec(request: Omit<EvaluationRequest, 'name' | 'dataset' | 'version' | 'costCap'>): EvaluationSpec {
  const [first] = request.graders;
  return {
    split: 'work',
    // A request has at least one grader.
    primary: nameGrader(first!),
    repeats: REPEATS,
    effect: EFFECT,
    unknownCalls: 'diverge',
    via: 'live',
    concurrency: CONCURRENCY,
    ...request,
  };
}

function findNamesFault({ candidates, graders, primary }: EvaluationSpec): EvaluationFault | null {
  const names = candidates.map(({ name }) => name);
  const twice = names.findIndex((name, index) => names.indexOf(name) < index);
  if (twice >= 0) {
    const message = `another candidate has the name "${names[twice]}"; give each a name of its own`;
    return { path: `candidates[${twice}].name`, message };
  }
  const ofGraders = findNameFault(graders, undefined);
  if (ofGraders !== null) return { path: 'graders', message: ofGraders };
  const ofPrimary = findNameFault(graders, primary);
  return ofPrimary === null ? null : { path: 'primary', message: ofPrimary };
}

/** What keeps the items of a part from being run as is asked for; null: nothing. */
function findPartFault(
  { config }: Pick<Service, 'config'>,
  { split, tags, candidates, graders, repeats, via }: EvaluationSpec,
  parts: readonly PartOfAgent[],
): EvaluationFault | null {
  const items = parts.reduce((sum, { ready, copying }) => sum + ready + copying, 0);
  if (items === 0) {
    const withTags = tags === undefined ? '' : ` with the tags ${JSON.stringify(tags)}`;
    const message = `no item of this version can be run in the part "${split}"${withTags}; add items, or choose another part`;
    return { path: 'dataset', message };
  }
  const unknown = parts.find(({ agentId, ready, copying }) => ready + copying > 0 && !isAgent(config, agentId));
  if (unknown !== undefined) {
    const message = `its items are of the agent "${unknown.agentId}", which the configuration does not have`;
    return { path: 'dataset', message };
  }
  if (via === 'provider-batch' && parts.some(({ hasCalls }) => hasCalls)) {
    const message = 'some items have recorded calls of tools, and "provider-batch" is for items without; use "live"';
    return { path: 'via', message };
  }
  const most = config.limits.batchItems;
  const ofEach = `${items} items, ${candidates.length} candidates and ${repeats} repeats`;
  const runs = items * candidates.length * repeats;
  if (runs > most) {
    const message = `${ofEach} are ${runs} runs, and ${most} are allowed (limits.batchItems); ask for fewer`;
    return { path: 'repeats', message };
  }
  const judgements = listJudging(graders).reduce((sum, { grader, parts }) => {
    const judged = grader.mode === 'pair' ? candidates.length - 1 : candidates.length;
    return sum + items * judged * repeats * parts.length;
  }, 0);
  if (judgements <= most) return null;
  const message = `the graders of type "model" would make ${judgements} judgements of ${ofEach}, and ${most} are allowed (limits.batchItems); ask for fewer`;
  return { path: 'graders', message };
}

function findModelFault(
  { config }: Pick<Service, 'config'>,
  { candidates, graders }: EvaluationSpec,
  parts: readonly PartOfAgent[],
): EvaluationFault | null {
  const named = [
    ...candidates.map(({ model }, index) => ({ path: `candidates[${index}].model`, model })),
    ...graders.map((grader, index) => ({
      path: `graders[${index}].model`,
      model: grader.type === 'model' ? grader.model : undefined,
    })),
  ];
  for (const { path, model } of named) {
    if (model === undefined) continue;
    for (const { agentId } of parts) {
      const message = modelFault(config, agentId, model);
      if (message !== null) return { path, message };
    }
  }
  return null;
}
