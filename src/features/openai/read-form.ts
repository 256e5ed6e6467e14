// A form with one file, read as it arrives: the fields before the file, then the file as a stream.
import { Readable } from 'node:stream';
import { Busboy, type BusboyHeaders } from '@fastify/busboy';
import { FILE_UPLOAD_HOURS } from './rules/batch-objects.ts';
import { cutHead } from '../../core/text.ts';
import { fieldProblem, Problem } from '../../api/problem.ts';
import { arriving } from '../../api/upload.ts';

export interface FormFile {
  filename: string;
  fields: Map<string, string>;
  content: AsyncIterable<Buffer>;
}

const FIELDS_MAX = 20;
const FIELD_BYTES_MAX = 10_000;
const FILENAME_CHARS_MAX = 500;
/** What a form may have around its file: the fields, the names and the boundaries. */
const FRAME_BYTES_MAX = 1_048_576;

/**
 * Reads a form up to its file, which must be the field `file`, and gives it to `take`. Fields that
 * follow the file are in `fields` when its content has ended. Throws `Problem`, also from
 * `content`.
 */
export async function readForm<Result>(
  body: Readable,
  { headers, bytesMax }: { headers: Record<string, unknown>; bytesMax: number },
  take: (file: FormFile) => Promise<Result>,
): Promise<Result> {
  const form = openForm(headers, bytesMax);
  const fields = new Map<string, string>();
  const taken = Promise.withResolvers<Result>();
  const ended = Promise.withResolvers<void>();
  // It is awaited below; this handler only prevents an unhandled rejection.
  ended.promise.catch(() => undefined);
  let found: Readable | null = null;
  form.on('field', (name, value, _isNameCut, isValueCut) => {
    if (isValueCut) form.destroy(tooLarge(`the field ${name} has more than ${FIELD_BYTES_MAX} bytes`));
    else fields.set(name, value);
  });
  form.on('file', (name, stream, filename) => {
    // An error is thrown from `content`.
    stream.on('error', () => undefined);
    if (name !== 'file' || found !== null) return void stream.resume();
    found = stream;
    const content = readContent(stream, { bytesMax, ended: ended.promise });
    // A part of the type application/octet-stream is a file without a name, too. The database
    // stores no NUL character.
    const named = ((filename as string | undefined) ?? '').replaceAll('\u0000', '');
    take({ filename: cutHead(named === '' ? 'file' : named, FILENAME_CHARS_MAX), fields, content }).then(
      taken.resolve,
      (error: unknown) => {
        stream.resume();
        taken.reject(error);
      },
    );
  });
  form.on('filesLimit', () => form.destroy(fieldProblem('file', 'expected one file in the form')));
  form.on('error', (error: unknown) => {
    const problem = toProblem(error);
    ended.reject(problem);
    // A form that breaks off does not end its file.
    found?.destroy(problem);
  });
  form.on('finish', () => {
    ended.resolve();
    if (found === null) taken.reject(fieldProblem('file', 'expected a file in this field'));
  });
  const limits = { noun: 'file', bytesMax: bytesMax + FRAME_BYTES_MAX, hoursMax: FILE_UPLOAD_HOURS };
  const bytes = Readable.from(arriving(body, limits), { objectMode: false });
  bytes.on('error', (error) => form.destroy(error));
  body.on('aborted', () =>
    form.destroy(new Problem('invalid_request', 'The connection closed before the form had arrived.')),
  );
  bytes.pipe(form);
  try {
    return await Promise.race([taken.promise, ended.promise.then(() => taken.promise)]);
  } finally {
    // The rest of a refused body is read, so that its sender reads the answer.
    bytes.unpipe(form);
    bytes.resume();
  }
}

function openForm(headers: Record<string, unknown>, bytesMax: number): InstanceType<typeof Busboy> {
  try {
    // One byte more shows that a file is too large.
    const limits = { fields: FIELDS_MAX, fieldSize: FIELD_BYTES_MAX, fileSize: bytesMax + 1, files: 1 };
    return new Busboy({ headers: headers as BusboyHeaders, limits });
  } catch (error) {
    throw new Problem('invalid_body', `The form cannot be read: ${(error as Error).message}.`, { cause: error });
  }
}

/** The bytes of the file; ends when the whole form has arrived. */
async function* readContent(
  stream: Readable,
  { bytesMax, ended }: { bytesMax: number; ended: Promise<void> },
): AsyncGenerator<Buffer> {
  let bytes = 0;
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > bytesMax) throw tooLarge(`a file may have up to ${bytesMax} bytes (limits.batchBytes); split it`);
      yield chunk;
    }
  } catch (error) {
    throw toProblem(error);
  }
  await ended;
}

function toProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  return new Problem('invalid_body', `The form cannot be read: ${(error as Error).message}.`, { cause: error });
}

function tooLarge(message: string): Problem {
  return fieldProblem('file', message, 'body_too_large');
}
