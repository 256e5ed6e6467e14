// Batches in OpenAI's form, over the batches of Holdfast.
import { Readable } from 'node:stream';
import { z } from 'zod';
import { cutHead } from '../../../core/text.ts';
import { UPLOAD_HOURS, type AskedBatch } from '../../batches/rules/batch.ts';
import type { Principal } from '../../../api/key-ring.ts';
import { EVERYTHING, type Scope } from '../../../core/scope.ts';
import { OPENAI_FORM } from '../error-shape.ts';
import { batchObject, toLineErrors, type LineError } from '../rules/batch-objects.ts';
import { formatClientBatchId, parseClientBatchId, parseFileId } from '../../../core/client-ids.ts';
import { failClientBatch } from '../client-files.ts';
import { controlBatch, submitBatch, type RefusedBatch } from '../../batches/submit-batch.ts';
import type { KeyedRequest } from '../../../database/idempotency.ts';
import { clientBatches, readFileParts, uploads } from '../views/files.ts';
import { itemsOfLines } from '../../batches/read-items.ts';
import { LineReader } from '../../../api/upload.ts';
import { parseWith } from '../../../api/parse-json.ts';
import type { ApiContext } from '../../../api/context.ts';
import { buildList, LIST_QUERY, parseListPart } from '../list-part.ts';
import { refused } from '../read-parts.ts';
import { conflict, fieldProblem, requireFound, Problem, type ProblemCode } from '../../../api/problem.ts';
import { defineEffect, defineRead, type Route } from '../../../api/route.ts';
import { clientMetadata } from '../../../contract/input-options.ts';
import { buildNewBatch } from '../../batches/answer-submission.ts';

const HOURS_MAX = 8_760;
const SECONDS_PER_HOUR = 3_600;
const LATE_RETRY_MS = 60_000;

/**
 * Faults of the file as a whole: a line that is too long, too many bytes, or a list instead of
 * lines.
 */
const FILE_FAULTS: ReadonlySet<ProblemCode> = new Set(['body_too_large', 'invalid_items']);

const body = z.strictObject({
  input_file_id: z.string(),
  endpoint: z.literal('/v1/chat/completions', {
    error: 'expected /v1/chat/completions, the only endpoint that batches have here',
  }),
  completion_window: z.string().regex(/^[1-9]\d{0,3}h$/, 'expected a number of hours, such as 24h'),
  metadata: clientMetadata,
  output_expires_after: refused('is not supported: outputs are kept as long as their batch'),
});

const batch = z.looseObject({
  id: z.string().describe('The id of the batch, in the form of OpenAI'),
  object: z.literal('batch').describe('Always `batch`'),
});
const answers = { 200: { description: 'The batch', schema: batch } };

const postBatch = defineEffect({
  operationId: 'createBatchForClients',
  belongs: 'list',
  path: '/openai/v1/batches',
  summary: 'Submit the lines of an uploaded file as a batch',
  isLong: true,
  form: OPENAI_FORM,
  body: z.record(z.string(), z.unknown()),
  answers,
  async perform(request, { context }) {
    const data = parseWith(body, request.body, 'invalid_body');
    const hours = Number.parseInt(data.completion_window, 10);
    if (hours > HOURS_MAX) throw fieldProblem('completion_window', `expected at most ${HOURS_MAX}h`);
    const name = parseFileId(data.input_file_id);
    const found =
      name?.kind === 'upload' ? await uploads.find(context.views, name.id, { scope: request.principal.scope }) : null;
    if (found === null)
      throw fieldProblem(
        'input_file_id',
        `there is no uploaded file ${JSON.stringify(cutHead(data.input_file_id, 100))}`,
      );
    const { endpoint, completion_window: completionWindow, metadata = null } = data;
    return await submit(context, {
      asked: { inputFileId: found.id, endpoint, completionWindow, metadata },
      name: found.filename,
      deadlineSeconds: hours * SECONDS_PER_HOUR,
      principal: request.principal,
      idempotency: request.idempotency,
    });
  },
  show: ({ batchId }, _request, { context }) => shown(context, batchId),
});

interface Submission {
  asked: AskedBatch;
  name: string;
  deadlineSeconds: number;
  principal: Principal;
  idempotency: KeyedRequest | null;
}

/** Submits the lines; when they are refused, their faults are stored instead. */
async function submit(context: ApiContext, submission: Submission): Promise<{ batchId: string }> {
  const { config, service, views } = context;
  const { asked, name, deadlineSeconds, principal, idempotency } = submission;
  const tags = asked.metadata ?? {};
  const settings = { name: cutHead(name, 200), deadlineSeconds, tags };
  const row = buildNewBatch(context, { settings, principal });
  const { limits } = config;
  const reader = new LineReader(Readable.from(readFileParts(views, asked.inputFileId), { objectMode: false }), {
    isGzip: false,
    limits,
    hoursMax: UPLOAD_HOURS,
  });
  const items = itemsOfLines(reader.lines(), limits.jsonDepth);
  let errors: LineError[];
  try {
    const result = await submitBatch(service, { batch: row, items, format: 'openai', key: () => idempotency, asked });
    if (result.kind === 'started') return { batchId: result.batchId };
    if (result.kind === 'late') throw late();
    errors = toErrors(result, limits.batchItems);
  } catch (error) {
    if (!(error instanceof Problem) || !FILE_FAULTS.has(error.code)) throw error;
    errors = toLineErrors(error.errors ?? [{ path: '', message: error.message }]);
  }
  await failClientBatch(service.database, { id: row.id, asked, errors, idempotency });
  return { batchId: row.id };
}

/** The database was too slow; the lines are not at fault. */
function late(): Problem {
  const detail = `Storing the lines of the file took longer than ${UPLOAD_HOURS} h, so no batch was created. Try again later, or split the file.`;
  return new Problem('timeout', detail, { retryAfterMs: LATE_RETRY_MS });
}

function toErrors(result: RefusedBatch, itemsMax: number): LineError[] {
  if (result.kind === 'invalid') return toLineErrors(result.faults);
  const message =
    result.kind === 'empty' ? 'the file has no lines' : `a batch may have up to ${itemsMax} lines (limits.batchItems)`;
  return [{ code: result.kind === 'empty' ? 'empty_file' : 'too_many_tasks', line: null, message, param: null }];
}

const getBatches = defineRead({
  operationId: 'listBatchesForClients',
  belongs: 'list',
  path: '/openai/v1/batches',
  summary: 'The OpenAI-compatible batches, newest first',
  form: OPENAI_FORM,
  query: LIST_QUERY,
  shows: {
    description: 'A page of batches',
    schema: z.looseObject({
      object: z.literal('list').describe('Always `list`'),
      data: z.array(batch).describe('The batches of the page'),
    }),
  },
  async read({ query, principal: { scope } }, { context }) {
    const part = parseListPart(query, parseClientBatchId);
    const page = await clientBatches.list(context.views, { scope }, part);
    return buildList(page, batchObject, ({ id }) => formatClientBatchId(id));
  },
});

const getBatch = defineRead({
  operationId: 'getBatchForClients',
  belongs: 'list',
  path: '/openai/v1/batches/{clientBatchId}',
  summary: 'An OpenAI-compatible batch with its progress',
  form: OPENAI_FORM,
  shows: answers[200],
  read: ({ params, principal: { scope } }, { context }) => shown(context, parseId(params.clientBatchId), scope),
});

const cancelBatch = defineEffect({
  operationId: 'cancelBatchForClients',
  belongs: 'list',
  path: '/openai/v1/batches/{clientBatchId}/cancel',
  summary: 'Cancel a batch: items in flight finish, and the others are cancelled',
  form: OPENAI_FORM,
  answers,
  async perform({ params, principal, idempotency }, { context }) {
    const batchId = parseId(params.clientBatchId);
    const asked = await shown(context, batchId, principal.scope);
    const command = { kind: 'cancel', stopsRunning: false } as const;
    const result = await controlBatch(context.service.database, { batchId, command, idempotency });
    if (result.kind !== 'done')
      throw conflict(`The batch is ${asked.status}. Only a batch in progress can be cancelled.`);
    return { batchId };
  },
  show: ({ batchId }, _request, { context }) => shown(context, batchId),
});

/** Throws `Problem` 404. */
function parseId(text: string): string {
  const id = requireFound(parseClientBatchId(text), `batch ${cutHead(text, 100)}`);
  return id;
}

/** Throws `Problem` 404. */
async function shown(
  { views }: ApiContext,
  id: string,
  scope: Scope = EVERYTHING,
): Promise<ReturnType<typeof batchObject>> {
  const found = requireFound(await clientBatches.find(views, id, { scope }), `batch ${formatClientBatchId(id)}`);
  return batchObject(found);
}

export const routes: Route[] = [postBatch, getBatches, getBatch, cancelBatch];
