// The ids of files and batches in OpenAI's form: `file-<id>` of an upload, `file-<id>-output` and `file-<id>-errors` of a batch, `batch_<id>`.

/** The parts of a file id. */
export interface FileName {
  /** The id of the upload, or of the batch. */
  id: string;
  kind: 'upload' | 'output' | 'errors';
}

const FILE = /^file-([0-9a-f]{32})(?:-(output|errors))?$/;
const BATCH = /^batch_([0-9a-f]{32})$/;

export function fileIdOf({ id, kind }: FileName): string {
  return `file-${id.replaceAll('-', '')}${kind === 'upload' ? '' : `-${kind}`}`;
}

/** Null: no file has such an id. */
export function parseFileId(text: string): FileName | null {
  const [, hex, kind = 'upload'] = FILE.exec(text) ?? [];
  return hex === undefined ? null : { id: uuidOf(hex), kind: kind as FileName['kind'] };
}

export function clientBatchIdOf(id: string): string {
  return `batch_${id.replaceAll('-', '')}`;
}

/** The id of the batch; null: no batch has such an id. */
export function parseClientBatchId(text: string): string | null {
  const hex = BATCH.exec(text)?.[1];
  return hex === undefined ? null : uuidOf(hex);
}

function uuidOf(hex: string): string {
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}
