// The payload log: every request as it was sent and every answer as it was read, to find out what a
// model received. Off unless it is configured; it never makes a call wait. Before a payload is
// written, known secrets, what looks like a key, the values of fields that are named like secrets,
// and the data of images are taken out.
import { createHash } from 'node:crypto';
import { secretPatterns } from '../../config/secrets.ts';
import { JsonlFile, type JsonlFileOptions } from './jsonl-file.ts';
import type { CallResult, ModelObserver } from './observer.ts';

const CENSOR = '[redacted]';
const SECRET_FIELD =
  /^(authorization|cookie|set-cookie|proxy-authorization|x-api-key|.*(api_?key|password|passwd|secret|access_?token|private_?key))$/i;
/**
 * Keys that are recognised by their form: of models, webhooks, this API, code hosts and clouds,
 * bearer headers, passwords in URLs.
 */
const KEY_SHAPES = [
  String.raw`\bsk-[\w-]{16,}`,
  String.raw`\bwhsec_[\w+/=]{8,}`,
  String.raw`\bhft?_[\w-]{20,}`,
  String.raw`\b(?:gh[pousr]_|github_pat_|glpat-|xox[abprs]-)[\w-]{16,}`,
  String.raw`\b(?:AKIA|ASIA)[A-Z0-9]{16}\b`,
  String.raw`\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]+`,
  String.raw`-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)`,
  String.raw`(?<=[Bb]earer )[\w.~+/=-]{8,}`,
  String.raw`(?<=[a-z]:\/\/[^\s:/@"]{0,200}:)[^\s/@"]{1,200}(?=@)`,
];

/**
 * A function that copies a JSON value without its secrets. `secrets` are known values, removed
 * everywhere.
 */
export function createRedaction(secrets: readonly string[]): (value: unknown) => unknown {
  const pattern = new RegExp([...secretPatterns(secrets), ...KEY_SHAPES].join('|'), 'g');

  const redact = (value: unknown): unknown => {
    if (typeof value === 'string') return value.replace(pattern, CENSOR);
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) return value.map(redact);
    const fields = Object.entries(value).map(([name, field]): [string, unknown] => {
      if (typeof field === 'string' && SECRET_FIELD.test(name)) return [name, CENSOR];
      return [name, isImageData(value, name, field) ? describeData(field) : redact(field)];
    });
    return Object.fromEntries(fields);
  };
  return redact;
}

/** The `data` of a source that is base64. */
function isImageData(owner: object, name: string, field: unknown): field is string {
  return name === 'data' && typeof field === 'string' && 'type' in owner && owner.type === 'base64';
}

function describeData(data: string): string {
  return `[${data.length} characters of base64, sha256 ${createHash('sha256').update(data).digest('hex')}]`;
}

/**
 * The size from which a new file is begun; with the one before it, twice as much is on disk (G28).
 */
const FILE_BYTES_MAX = 256 * 1024 * 1024;

export interface PayloadLogOptions extends Pick<JsonlFileOptions, 'path' | 'onFault'> {
  /** Values that must not be written, see `secretsOf`. */
  secrets: readonly string[];
  now: () => Date;
}

/**
 * An observer that writes one line per call: `{at, callId, sessionKey, turnId, transport, request,
 * answer | error}`.
 */
export function createPayloadLog({ path, onFault, secrets, now }: PayloadLogOptions): ModelObserver {
  const file = new JsonlFile({ path, bytesMax: FILE_BYTES_MAX, onFault });
  const redact = createRedaction(secrets);
  return {
    name: 'payload-log',
    watch({ transport, about }) {
      const at = now().toISOString();
      let body: string | Uint8Array = '';
      return {
        sent(sent) {
          body = sent;
        },
        ended(end) {
          const endedAt = now().toISOString();
          file.add(() => ({
            at,
            endedAt,
            ...about,
            transport,
            request: redact(body.length === 0 ? null : JSON.parse(Buffer.from(body).toString())),
            ...(redact(describeOutcome(end)) as object),
          }));
        },
      };
    },
    close: () => file.flush(),
  };
}

function describeOutcome(end: CallResult): object {
  if (end.kind === 'answered') return { answer: end.answer };
  const { error } = end;
  if (!(error instanceof Error)) return { error: String(error) };
  const { name, message } = error;
  return { error: { name, message, ...('type' in error ? { type: error.type } : {}) } };
}
