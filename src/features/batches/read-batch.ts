// `POST /v1/batches`: a submission as JSON or as lines, with its Idempotency-Key. A key of lines is
// bound to the hash of what was read, so it is known only at the end; a request whose key was used
// before reads its body for the hash alone.
import type { Readable } from 'node:stream';
import { agentOf, modelFault, modelRefOf, toolPolicyFault } from '../../config.ts';
import { nestOptions } from '../../core/input-options.ts';
import { modelOfRef } from '../../core/models.ts';
import type { NewBatch } from './store/upload.ts';
import type { KeyedRequest } from '../../database/idempotency.ts';
import { batches } from './views/batches.ts';
import { newId } from '../../ids.ts';
import { UPLOAD_HOURS } from './rules/batch.ts';
import { recommendedWay } from './rules/estimate.ts';
import { toDollars, toMicros } from '../../core/prices.ts';
import { estimateBatch, submitBatch, type ReadResult, type SubmitResult } from './submit-batch.ts';
import type { LineFormat } from './rules/foreign-lines.ts';
import type { Answer } from '../../api/answer.ts';
import { itemsOfLines, itemsOfList } from './batch-items.ts';
import { LineReader } from '../../api/batch-lines.ts';
import { sha256OfJson, answerOnce, answerUpload } from '../../api/idempotency-key.ts';
import type { ApiContext } from '../../api/context.ts';
import { toReceiver } from '../../api/deliver-to.ts';
import { requireFound, fieldProblem, modelProblem, Problem } from '../../api/problem.ts';
import type { BatchSettings } from '../../contract/batch-requests.ts';

/** Items in flight: those that wait for a batch of the provider take no slot. */
const CONCURRENCY_DEFAULTS = { live: 64, 'provider-batch': 10_000, auto: 10_000 };
const DEFAULT_AGENT = 'main';

export interface SubmitRequest {
  settings: BatchSettings;
  createdBy: string;
  idempotency: KeyedRequest | null;
}

/** The lines of a request that were not read yet. */
export interface Upload {
  body: Readable;
  isGzip: boolean;
  /** Lines of another format are refused; null: each line may have any. */
  format: LineFormat | null;
  /** The settings as they came, which the key is bound to. */
  query: object;
}

export function submitList(context: ApiContext, request: SubmitRequest, items: readonly unknown[]): Promise<Answer> {
  const { views } = context;
  const { idempotency } = request;
  return answerOnce(views, idempotency, {
    perform: () =>
      submit(context, request, {
        items: itemsOfList(items),
        finish: () => ({ idempotency, sha256: sha256OfJson(items) }),
        format: 'json',
      }),
    answer: (result) => readAnswer(context, result.batchId),
  });
}

export function submitLines(context: ApiContext, request: SubmitRequest, upload: Upload): Promise<Answer> {
  const { views, config } = context;
  const reader = new LineReader(upload.body, { isGzip: upload.isGzip, limits: config.limits, hoursMax: UPLOAD_HOURS });
  const items = itemsOfLines(reader.lines(), { depthMax: config.limits.jsonDepth, format: upload.format });
  return answerUpload(views, request.idempotency, {
    content: items,
    sha256: () => reader.sha256(),
    boundTo: (lines) => ({ query: upload.query, lines }),
    perform(bind) {
      const finish = () => {
        const sha256 = reader.sha256();
        return { idempotency: bind(sha256), sha256 };
      };
      return submit(context, request, { items, finish, format: 'ndjson' });
    },
    answer: ({ batchId }) => readAnswer(context, batchId),
  });
}

/** The estimated cost of the items of a JSON body. */
export function estimateList(context: ApiContext, request: SubmitRequest, items: readonly unknown[]): Promise<Answer> {
  return estimate(context, request, itemsOfList(items));
}

/** The same of lines. */
export function estimateLines(context: ApiContext, request: SubmitRequest, upload: Upload): Promise<Answer> {
  const { limits } = context.config;
  const reader = new LineReader(upload.body, { isGzip: upload.isGzip, limits, hoursMax: UPLOAD_HOURS });
  return estimate(
    context,
    request,
    itemsOfLines(reader.lines(), { depthMax: limits.jsonDepth, format: upload.format }),
  );
}

async function estimate(
  context: ApiContext,
  request: SubmitRequest,
  items: AsyncIterable<ReadResult>,
): Promise<Answer> {
  const { config, service } = context;
  const batch = buildNewBatch(context, request, 'ndjson');
  const result = await estimateBatch(
    service,
    { batch, items, itemsMax: config.limits.batchItems },
    context.measurePrompt,
  );
  if (result.kind !== 'estimated') throw toRefusal(result, config.limits.batchItems);
  const { items: count, inputTokens, outputTokens, liveMicros, batchMicros } = result.estimate;
  const { at100, at90, at50 } = batchMicros;
  const providerBatch = { at100: toDollars(at100), at90: toDollars(at90), at50: toDollars(at50) };
  const body = {
    items: count,
    tokens: { input: inputTokens, output: outputTokens },
    costUsd: { live: toDollars(liveMicros), providerBatch },
    recommended: recommendedWay(result.estimate),
  };
  return { status: 200, body };
}

interface Source {
  items: AsyncIterable<ReadResult>;
  finish: () => { idempotency: KeyedRequest | null; sha256: string };
  format: NewBatch['format'];
}

async function submit(context: ApiContext, request: SubmitRequest, source: Source): Promise<{ batchId: string }> {
  const { config, service } = context;
  const batch = buildNewBatch(context, request, source.format);
  const { items, finish } = source;
  const result = await submitBatch(service, { batch, items, finish, itemsMax: config.limits.batchItems });
  if (result.kind !== 'started') throw toRefusal(result, config.limits.batchItems);
  return { batchId: result.batchId };
}

/** The row of a batch. Throws `Problem` for an unknown model. */
export function buildNewBatch(
  { config }: ApiContext,
  { settings, createdBy }: SubmitRequest,
  format: NewBatch['format'],
): NewBatch {
  const { agentId = DEFAULT_AGENT, model, thinking, promptMode, via = 'live' } = settings;
  const deliver = toReceiver(config, settings.deliver ?? null);
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
    defaults: {
      ...(model === undefined ? {} : { model }),
      ...(thinking === undefined ? {} : { thinking }),
      ...(promptMode === undefined ? {} : { promptMode }),
      ...(deliver === null ? {} : { deliver }),
      ...(options === undefined ? {} : { options }),
    },
    concurrency: settings.concurrency ?? CONCURRENCY_DEFAULTS[via],
    weight: settings.weight ?? 1,
    pilot: settings.pilot ?? null,
    maxFailurePercent: settings.maxFailurePercent ?? config.batches.maxFailurePercent,
    maxCostMicros: settings.maxCostUsd === undefined ? null : toMicros(settings.maxCostUsd),
    deadlineSeconds: settings.deadlineSeconds ?? null,
    fallback: settings.fallback ?? 'live',
    cache: settings.cache ?? 'auto',
    format,
    createdBy,
  };
}

function toRefusal(result: Exclude<SubmitResult, { kind: 'started' }>, itemsMax: number): Problem {
  switch (result.kind) {
    case 'empty':
      return fieldProblem('items', 'the submission has no items; send at least one', 'invalid_items');
    case 'too_many':
      return new Problem('body_too_large', `A batch may have up to ${itemsMax} items (limits.batchItems). Split it.`);
    case 'late': {
      const detail = `The body took longer than ${UPLOAD_HOURS} h to arrive, so nothing was kept. Split the batch, or send it with gzip.`;
      return new Problem('request_timeout', detail);
    }
    case 'invalid': {
      const isUnknownAgent = result.faults.every((fault) => fault.isUnknownAgent === true);
      const errors = result.faults.map(({ path, message }) => ({ path, message }));
      const [first] = errors;
      const detail = `${first?.path ?? ''}: ${first?.message.replace(/\.$/, '') ?? ''}. Nothing was stored; correct the ${errors.length === 1 ? 'item' : 'items'} and submit the batch again.`;
      return new Problem(isUnknownAgent ? 'unknown_agent' : 'invalid_items', detail, { errors });
    }
    default:
      return result satisfies never;
  }
}

async function readAnswer({ views }: ApiContext, batchId: string): Promise<Answer> {
  return { status: 201, body: requireFound(await batches.find(views, batchId), `batch ${batchId}`) };
}
