// The ids that OpenAI's clients are given. Each names the row that it belongs to, so a request with
// it needs no other key:
//
//   call_<turn>_<step>_<place>                      a tool call that the client runs
//   resp_<message>, resp_<message>_<step>           a response; it exists before a turn has claimed
//                                                   its message, so the turn cannot be in it
//   msg_<response>, fc_<response>_<n>, ctc_...      the text of a response, and its calls from 1
//   file-<id>, file-<id>-output, file-<id>-errors   an upload, and the files of a batch
//   batch_<id>                                      a batch
const CALL = /^call_([\da-f]{32})_(\d{1,6})_(\d{1,6})$/;
const RESPONSE = /^resp_([\da-f]{32})(?:_(\d{1,6}))?$/;
const ITEM = /^(?:msg_([\da-f]{32}(?:_\d{1,6})?)|(?:fc|ctc)_([\da-f]{32}(?:_\d{1,6})?)_(\d{1,6}))$/;
const FILE = /^file-([0-9a-f]{32})(?:-(output|errors))?$/;
const BATCH = /^batch_([0-9a-f]{32})$/;

/** A call that a client runs. */
export interface CallerCall {
  turnId: string;
  /** The model answer of the turn that it is in, from 1. */
  step: number;
  /** Its place in that answer, from 1. */
  ordinal: number;
}

export function callerCallId({ turnId, step, ordinal }: CallerCall): string {
  return `call_${toHex(turnId)}_${step}_${ordinal}`;
}

/** Null: the id is not one of Holdfast's. */
export function parseCallerCallId(id: string): CallerCall | null {
  const [, hex, step, ordinal] = CALL.exec(id) ?? [];
  return hex === undefined ? null : { turnId: toUuid(hex), step: Number(step), ordinal: Number(ordinal) };
}

export interface ResponseName {
  messageId: string;
  /** 0: the whole output of the turn; otherwise the output after the results of this step. */
  afterStep: number;
}

export function formatResponseId({ messageId, afterStep }: ResponseName): string {
  return `resp_${toHex(messageId)}${afterStep === 0 ? '' : `_${afterStep}`}`;
}

/** Null: the id is not one of Holdfast's. */
export function parseResponseId(id: string): ResponseName | null {
  const [, hex, step = '0'] = RESPONSE.exec(id) ?? [];
  return hex === undefined ? null : { messageId: toUuid(hex), afterStep: Number(step) };
}

/** An item of a response. */
export interface ItemName {
  response: ResponseName;
  /** The place of a call among the calls of the response, from 1; null: its text. */
  call: number | null;
}

/** Null: the id is not one of Holdfast's. */
export function parseItemId(id: string): ItemName | null {
  const [, ofText, ofCall, call] = ITEM.exec(id) ?? [];
  const response = parseResponseId(`resp_${ofText ?? ofCall ?? ''}`);
  return response === null ? null : { response, call: call === undefined ? null : Number(call) };
}

export interface FileName {
  /** The id of the upload, or of the batch. */
  id: string;
  kind: 'upload' | 'output' | 'errors';
}

export function formatFileId({ id, kind }: FileName): string {
  return `file-${toHex(id)}${kind === 'upload' ? '' : `-${kind}`}`;
}

/** Null: no file has such an id. */
export function parseFileId(text: string): FileName | null {
  const [, hex, kind = 'upload'] = FILE.exec(text) ?? [];
  return hex === undefined ? null : { id: toUuid(hex), kind: kind as FileName['kind'] };
}

export function formatClientBatchId(id: string): string {
  return `batch_${toHex(id)}`;
}

/** The id of the batch; null: no batch has such an id. */
export function parseClientBatchId(text: string): string | null {
  const hex = BATCH.exec(text)?.[1];
  return hex === undefined ? null : toUuid(hex);
}

function toHex(uuid: string): string {
  return uuid.replaceAll('-', '');
}

function toUuid(hex: string): string {
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
