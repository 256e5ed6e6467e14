// Files in OpenAI's form: uploads for batches, and the outputs of batches, which are made of their
// items when they are read.
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { z } from 'zod';
import { cutHead } from '../../../core/text.ts';
import { OPENAI_FORM } from '../error-shape.ts';
import { FILE_UPLOAD_HOURS, fileObject, type ClientBatch, type ClientFile } from '../rules/batch-objects.ts';
import { formatFileId, parseFileId } from '../../../core/client-ids.ts';
import type { Principal } from '../../../api/key-ring.ts';
import { ownerOf } from '../../../core/scope.ts';
import { newId } from '../../../ids.ts';
import { removeFile, uploadFile } from '../client-files.ts';
import { clientBatches, readFileParts, uploads } from '../views/files.ts';
import type { Answer } from '../../../api/answer.ts';
import { resultLines } from '../../batches/views/items.ts';
import type { ApiContext } from '../../../api/context.ts';
import { answerUpload } from '../../../api/idempotency-key.ts';
import { buildList, LIST_QUERY, parseListPart } from '../list-part.ts';
import { readForm, type FormFile } from '../read-form.ts';
import { conflict, fieldProblem, requireFound, notFound, Problem } from '../../../api/problem.ts';
import { defineRoute, defineRead, type AnyRequest, type Route } from '../../../api/route.ts';

const file = z.looseObject({
  id: z.string().describe('The id of the file, in the form of OpenAI'),
  object: z.literal('file').describe('Always `file`'),
});

const postFile = defineRoute({
  operationId: 'uploadFileForClients',
  belongs: 'self',
  method: 'POST',
  path: '/openai/v1/files',
  summary: 'Upload a file of lines for a batch, as multipart/form-data with purpose and file',
  isLong: true,
  form: OPENAI_FORM,
  takes: { as: 'form' },
  body: z.strictObject({}),
  answers: { 200: { description: 'The file', schema: file } },
  async handle(request, { context }) {
    if (request.lines === null) throw fieldProblem('file', 'expected a body of the type multipart/form-data');
    const { headers } = request;
    const bytesMax = context.config.limits.batchBytes;
    return await readForm(request.lines, { headers, bytesMax }, (form) => upload(context, request, form));
  },
});

async function upload(
  context: ApiContext,
  { idempotency, principal }: AnyRequest,
  { filename, fields, content }: FormFile,
): Promise<Answer> {
  const { service, views } = context;
  const hash = createHash('sha256');
  async function* hashed(): AsyncGenerator<Buffer> {
    for await (const bytes of content) {
      hash.update(bytes);
      yield bytes;
    }
    checkFields(fields);
  }
  const sent = hashed();
  return answerUpload(views, idempotency, {
    content: sent,
    sha256: () => hash.digest('hex'),
    boundTo: (sha256) => ({ filename, purpose: fields.get('purpose'), content: sha256 }),
    async perform(bind) {
      const id = newId<string>();
      const newFile = { id, filename, purpose: 'batch', createdBy: principal.name, owner: ownerOf(principal) };
      if (!(await uploadFile(service, newFile, sent, () => bind(hash.digest('hex'))))) throw late();
      return { fileId: id };
    },
    answer: async ({ fileId }) => ({
      status: 200,
      body: fileObject(requireFound(await uploads.find(views, fileId, { scope: principal.scope }), `file ${fileId}`)),
    }),
  });
}

function late(): Problem {
  const detail = `The file took longer than ${FILE_UPLOAD_HOURS} h to arrive, so nothing was kept. Split the file.`;
  return new Problem('request_timeout', detail);
}

function checkFields(fields: ReadonlyMap<string, string>): void {
  for (const [name, value] of fields) {
    if (!name.startsWith('expires_after')) continue;
    if (name === 'expires_after[anchor]' && value === 'created_at') continue;
    if (name === 'expires_after[seconds]' && /^[1-9]\d{0,9}$/.test(value)) continue;
    throw fieldProblem(
      name,
      `expected anchor "created_at" and a positive number of seconds, got ${JSON.stringify(cutHead(value, 100))}`,
    );
  }

  const purpose = fields.get('purpose');
  if (purpose === undefined) throw fieldProblem('purpose', 'expected batch');
  if (purpose !== 'batch')
    throw fieldProblem('purpose', `expected batch; ${JSON.stringify(cutHead(purpose ?? '', 100))} is not supported`);
}

const getFiles = defineRead({
  operationId: 'listFilesForClients',
  belongs: 'list',
  path: '/openai/v1/files',
  summary: 'The uploaded files, newest first',
  form: OPENAI_FORM,
  query: LIST_QUERY.extend({ purpose: z.string().optional().describe('Only files of this purpose') }),
  shows: {
    description: 'A page of files',
    schema: z.looseObject({
      object: z.literal('list').describe('Always `list`'),
      data: z.array(file).describe('The files of the page'),
    }),
  },
  async read({ query, principal: { scope } }, { context }) {
    const part = parseListPart(query, (text) => parseFileId(text)?.id ?? null);
    const isBatch = (query.purpose ?? 'batch') === 'batch';
    const page = isBatch ? await uploads.list(context.views, { scope }, part) : { items: [], next: null };
    return buildList(page, (one) => fileObject(one), formatFileId);
  },
});

const getFile = defineRead({
  operationId: 'getFileForClients',
  belongs: 'list',
  path: '/openai/v1/files/{fileId}',
  summary: 'A file: an upload, or the output of a batch',
  form: OPENAI_FORM,
  shows: { description: 'The file', schema: file },
  read: async ({ params, principal }, { context }) =>
    fileObject((await fileOf(context, params.fileId, principal)).file),
});

const getContent = defineRoute({
  operationId: 'getFileContentForClients',
  belongs: 'list',
  method: 'GET',
  path: '/openai/v1/files/{fileId}/content',
  summary: 'The content of a file; the content of an output file is generated from the items of its batch',
  isLong: true,
  form: OPENAI_FORM,
  answers: { 200: { description: 'The bytes', contentType: 'application/octet-stream' } },
  async handle({ params, principal }, { context }) {
    const { file: found, batch } = await fileOf(context, params.fileId, principal);
    const body =
      batch === null || found.kind === 'upload'
        ? Readable.from(readFileParts(context.views, found.id), { objectMode: false })
        : resultLines(context.views, {
            batchId: found.id,
            after: 0,
            all: false,
            format: 'openai',
            only: found.kind,
          });
    return { status: 200, body, headers: { 'content-type': 'application/octet-stream' } };
  },
});

const deleteFile = defineRoute({
  operationId: 'deleteFileForClients',
  belongs: 'list',
  method: 'DELETE',
  path: '/openai/v1/files/{fileId}',
  summary: 'Delete an uploaded file; batches that were created from it stay',
  form: OPENAI_FORM,
  answers: {
    200: {
      description: 'Deleted',
      schema: z.strictObject({
        id: z.string().describe('The id of the deleted file'),
        object: z.literal('file').describe('Always `file`'),
        deleted: z.literal(true).describe('True: the file was deleted'),
      }),
    },
  },
  async handle({ params: { fileId }, principal }, { context }) {
    const { file: found } = await fileOf(context, fileId, principal);
    if (found.kind !== 'upload')
      throw conflict(
        'The output of a batch is generated from its items and cannot be deleted. Delete the batch instead.',
      );
    await removeFile(context.service.database, found.id);
    return { status: 200, body: { id: fileId, object: 'file', deleted: true } };
  },
});

/** Throws `Problem` 404. */
async function fileOf(
  { views }: ApiContext,
  text: string,
  { scope }: Principal,
): Promise<{ file: ClientFile; batch: ClientBatch | null }> {
  const name = requireFound(parseFileId(text), `file ${cutHead(text, 100)}`);
  const { id, kind } = name;
  if (kind === 'upload') {
    const found = await uploads.find(views, id, { scope });
    if (found !== null) return { file: found, batch: null };
  } else {
    const batch = await clientBatches.find(views, id, { scope });
    const { endedAt = null } = batch?.batch ?? {};
    if (batch !== null && endedAt !== null) return { file: buildOutput(batch, kind, endedAt), batch };
  }
  throw notFound(`file ${cutHead(text, 100)}`);
}

/** Its size is not known before it is made. */
function buildOutput({ id }: ClientBatch, kind: 'output' | 'errors', createdAt: Date): ClientFile {
  return { id, kind, filename: `batch-${kind}.jsonl`, purpose: 'batch_output', bytes: 0, createdAt, expiresAt: null };
}

export const routes: Route[] = [postFile, getFiles, getFile, getContent, deleteFile];
