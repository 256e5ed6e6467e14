// `POST /v1/batches`: a submission as JSON or as lines, with its Idempotency-Key. A key of lines is
// bound to the hash of what was read, so it is known only at the end; a request whose key was used
// before reads its body for the hash alone.
import type { Readable } from 'node:stream';
import {
  agentOf,
  defaultAgentOf,
  modelFault,
  modelRefOf,
  reachableAgents,
  toolPolicyFault,
  UnknownAgentError,
} from '../../config.ts';
import type { Principal } from '../../api/key-ring.ts';
import { ownerOf, reachesAgent } from '../../core/scope.ts';
import { nestOptions } from '../../core/input-options.ts';
import { given } from '../../core/json.ts';
import { modelOfRef } from '../../core/models.ts';
import type { NewBatch } from './store/upload.ts';
import type { KeyedRequest } from '../../database/idempotency.ts';
import { batches } from './views/batches.ts';
import { newId } from '../../ids.ts';
import { UPLOAD_HOURS, type LineFormat } from './rules/batch.ts';
import { recommendedWay } from './rules/estimate.ts';
import { toDollars, toMicros } from '../../core/prices.ts';
import { estimateBatch, submitBatch, type BatchSubmission, type RefusedBatch } from './submit-batch.ts';
import type { Answer } from '../../api/answer.ts';
import { itemsOfLines, itemsOfList } from './read-items.ts';
import { LineReader } from '../../api/upload.ts';
import { answerOnce, answerUpload } from '../../api/idempotency-key.ts';
import type { ApiContext } from '../../api/context.ts';
import { toReceiver } from '../../api/deliver-to.ts';
import { requireFound, fieldProblem, modelProblem, Problem } from '../../api/problem.ts';
import type { BatchSettings } from './contract.ts';

/** Items in flight: those that wait for a batch of the provider take no slot. */
const CONCURRENCY_DEFAULTS = { live: 64, 'provider-batch': 10_000, auto: 10_000 };

interface SubmitRequest {
  settings: BatchSettings;
  principal: Pick<Principal, 'name' | 'owner' | 'scope'>;
  idempotency: KeyedRequest | null;
  /** True: nothing is stored, and the cost is estimated. */
  isDryRun: boolean;
}

/** The lines of a request that were not read yet. */
interface Upload {
  body: Readable;
  isGzip: boolean;
  format: LineFormat | undefined;
  /** The settings as they came, which the key is bound to. */
  query: object;
}

export function answerList(context: ApiContext, request: SubmitRequest, list: readonly unknown[]): Promise<Answer> {
  const { idempotency, isDryRun } = request;
  const items = itemsOfList(list);
  if (isDryRun) return estimate(context, request, { items });
  return answerOnce(context.views, idempotency, {
    perform: () => submit(context, request, { items, key: () => idempotency }),
    answer: (made) => readAnswer(context, made),
  });
}

export function answerLines(context: ApiContext, request: SubmitRequest, upload: Upload): Promise<Answer> {
  const { limits } = context.config;
  const { body, isGzip, format, query } = upload;
  const reader = new LineReader(body, { isGzip, limits, hoursMax: UPLOAD_HOURS });
  const items = itemsOfLines(reader.lines(), limits.jsonDepth);
  if (request.isDryRun) return estimate(context, request, { items, format });
  return answerUpload(context.views, request.idempotency, {
    content: items,
    sha256: () => reader.sha256(),
    boundTo: (lines) => ({ query, lines }),
    perform: (bind) => submit(context, request, { items, format, key: () => bind(reader.sha256()) }),
    answer: (made) => readAnswer(context, made),
  });
}

async function estimate(
  context: ApiContext,
  request: SubmitRequest,
  read: Pick<BatchSubmission, 'items' | 'format'>,
): Promise<Answer> {
  const batch = buildNewBatch(context, request);
  const result = await estimateBatch(context.service, { batch, ...read }, context.measurePrompt);
  if (result.kind !== 'estimated') throw toRefusal(result, context.config.limits.batchItems);
  const { items, inputTokens, outputTokens, micros } = result.estimate;
  const providerBatch = { at100: toDollars(micros.at100), at90: toDollars(micros.at90), at50: toDollars(micros.at50) };
  const body = {
    items,
    tokens: { input: inputTokens, output: outputTokens },
    costUsd: { live: toDollars(micros.live), providerBatch },
    recommended: recommendedWay(result.estimate),
  };
  return { status: 200, body };
}

async function submit(
  context: ApiContext,
  request: SubmitRequest,
  submission: Omit<BatchSubmission, 'batch'>,
): Promise<{ batchId: string }> {
  const batch = buildNewBatch(context, request);
  const result = await submitBatch(context.service, { batch, ...submission });
  if (result.kind !== 'started') throw toRefusal(result, context.config.limits.batchItems);
  return { batchId: result.batchId };
}

async function readAnswer({ views }: ApiContext, { batchId }: { batchId: string }): Promise<Answer> {
  return { status: 201, body: requireFound(await batches.find(views, batchId), `batch ${batchId}`) };
}

/** The row of a batch. Throws `Problem` for an unknown model. */
export function buildNewBatch(
  { config }: ApiContext,
  { settings, principal }: Pick<SubmitRequest, 'settings' | 'principal'>,
): NewBatch {
  const { name: createdBy, scope } = principal;
  const { agentId = defaultAgentOf(config, scope), model, thinking, promptMode, via = 'live' } = settings;
  const deliver = toReceiver(config, settings.deliver ?? null) ?? undefined;
  if (!reachesAgent(scope, agentId)) throw new UnknownAgentError(agentId, reachableAgents(config, scope));
  const agent = agentOf(config, agentId);
  const fault = model === undefined ? null : modelFault(config, agentId, model);
  if (fault !== null) throw modelProblem(fault);
  const { options } = nestOptions(settings);
  const policyFault = toolPolicyFault(config, options?.tools);
  if (policyFault !== null) throw fieldProblem(policyFault.path, policyFault.message);
  return {
    id: newId<string>(),
    name: settings.name ?? null,
    via,
    agentId,
    model: modelOfRef(modelRefOf(agent, model ?? agent.model) ?? agent.model).model,
    defaults: given({ model, thinking, promptMode, deliver, options }),
    concurrency: settings.concurrency ?? CONCURRENCY_DEFAULTS[via],
    weight: settings.weight ?? 1,
    pilot: settings.pilot ?? null,
    maxFailurePercent: settings.maxFailurePercent ?? config.batches.maxFailurePercent,
    maxCostMicros: settings.maxCostUsd === undefined ? null : toMicros(settings.maxCostUsd),
    deadlineSeconds: settings.deadlineSeconds ?? null,
    fallback: settings.fallback ?? 'live',
    cache: settings.cache ?? 'auto',
    createdBy,
    owner: ownerOf(principal),
    scope,
  };
}

function toRefusal(refused: RefusedBatch, itemsMax: number): Problem {
  switch (refused.kind) {
    case 'empty':
      return fieldProblem('items', 'the submission has no items; send at least one', 'invalid_items');
    case 'too_many':
      return new Problem('body_too_large', `A batch may have up to ${itemsMax} items (limits.batchItems). Split it.`);
    case 'late': {
      const detail = `The body took longer than ${UPLOAD_HOURS} h to arrive, so nothing was kept. Split the batch, or send it with gzip.`;
      return new Problem('request_timeout', detail);
    }
    case 'invalid': {
      const isUnknownAgent = refused.faults.every((fault) => fault.isUnknownAgent === true);
      const errors = refused.faults.map(({ path, message }) => ({ path, message }));
      const [first] = errors;
      const detail = `${first?.path ?? ''}: ${first?.message.replace(/\.$/, '') ?? ''}. Nothing was stored; correct the ${errors.length === 1 ? 'item' : 'items'} and submit the batch again.`;
      return new Problem(isUnknownAgent ? 'unknown_agent' : 'invalid_items', detail, { errors });
    }
    default:
      return refused satisfies never;
  }
}
