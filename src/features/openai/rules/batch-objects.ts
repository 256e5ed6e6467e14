// Files and batches as OpenAI's clients see them.
import type { AskedBatch, ItemFault } from '../../batches/rules/batch.ts';
import { formatClientBatchId, formatFileId } from '../../../core/client-ids.ts';

/**
 * How long the upload of a file of an OpenAI client may take; after that the rounds of files delete
 * it.
 */
export const FILE_UPLOAD_HOURS = 24;

export interface ClientFile {
  id: string;
  filename: string;
  purpose: string;
  bytes: number;
  createdAt: Date;
  /** Null: as long as its batch. */
  expiresAt: Date | null;
  kind: 'upload' | 'output' | 'errors';
}

export function fileObject(file: ClientFile): object {
  return {
    id: formatFileId(file),
    object: 'file',
    bytes: file.bytes,
    created_at: seconds(file.createdAt),
    ...(file.expiresAt === null ? {} : { expires_at: seconds(file.expiresAt) }),
    filename: file.filename,
    purpose: file.purpose,
    status: 'processed',
  };
}

export interface LineError {
  code: string;
  line: number | null;
  message: string;
  param: string | null;
}

/** What lines in OpenAI's form call these fields of an item. */
const PARAMS: Partial<Record<string, string>> = { customId: 'custom_id', model: 'body.model', text: 'body.messages' };

const PLACE = /^line (\d+)(?:: (.+))?$/;

/** Faults of items as errors of lines. */
export function toLineErrors(faults: readonly ItemFault[]): LineError[] {
  return faults.map(({ path, message }) => {
    const [, line, param] = PLACE.exec(path) ?? [];
    return {
      code: 'invalid_request',
      line: line === undefined ? null : Number(line),
      message,
      param: param === undefined ? null : (PARAMS[param] ?? param),
    };
  });
}

/** The request of a batch, and its state. */
export interface ClientBatch extends AskedBatch {
  id: string;
  /** Not null: its lines were refused, and there is no batch. */
  errors: LineError[] | null;
  createdAt: Date;
  batch: {
    status: string;
    startedAt: Date | null;
    endedAt: Date | null;
    /** When it was asked to be cancelled; null: it was not. */
    isCancelled: boolean;
    deadlineAt: Date | null;
    total: number;
    completed: number;
    failed: number;
    cancelled: number;
    expired: number;
  } | null;
}

export function batchObject(asked: ClientBatch): { status: string; [field: string]: unknown } {
  const { batch, errors } = asked;
  const status = toStatus(asked);
  const endedAt = seconds(batch?.endedAt ?? null);
  const bad = batch === null ? 0 : batch.failed + batch.cancelled + batch.expired;
  const isEnded = batch?.status === 'ended';
  const output = (kind: 'output' | 'errors', isThere: boolean) =>
    isEnded && isThere ? formatFileId({ id: asked.id, kind }) : null;
  return {
    id: formatClientBatchId(asked.id),
    object: 'batch',
    endpoint: asked.endpoint,
    errors: errors === null ? null : { object: 'list', data: errors },
    input_file_id: formatFileId({ id: asked.inputFileId, kind: 'upload' }),
    completion_window: asked.completionWindow,
    status,
    output_file_id: output('output', (batch?.completed ?? 0) > 0),
    error_file_id: output('errors', bad > 0),
    created_at: seconds(asked.createdAt),
    in_progress_at: seconds(batch?.startedAt ?? null),
    expires_at: seconds(batch?.deadlineAt ?? null),
    finalizing_at: null,
    completed_at: status === 'completed' ? endedAt : null,
    failed_at: status === 'failed' ? seconds(asked.createdAt) : null,
    expired_at: status === 'expired' ? endedAt : null,
    cancelling_at: null,
    cancelled_at: status === 'cancelled' ? endedAt : null,
    request_counts: {
      total: batch?.total ?? 0,
      completed: batch?.completed ?? 0,
      failed: isEnded ? bad : (batch?.failed ?? 0),
    },
    metadata: asked.metadata,
  };
}

function toStatus({ batch }: ClientBatch): string {
  if (batch === null) return 'failed';
  if (batch.status === 'cancelling') return 'cancelling';
  if (batch.status !== 'ended') return 'in_progress';
  if (batch.isCancelled) return 'cancelled';
  return batch.expired > 0 ? 'expired' : 'completed';
}

function seconds(time: Date): number;
function seconds(time: Date | null): number | null;
function seconds(time: Date | null): number | null {
  return time === null ? null : Math.floor(time.getTime() / 1000);
}
