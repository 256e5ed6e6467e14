// Reads the parameters of a call: of its query, and of a body that is JSON or a form, with or
// without files.
import type http from 'node:http';
import type { UploadedFile } from './call-log.ts';

/** Larger than any file that a bot may upload. */
const BODY_BYTES_MAX = 64 * 1024 * 1024;

export interface ReadCall {
  parameters: Record<string, unknown>;
  files: UploadedFile[];
}

/** The whole body. Rejects when it is too large or the caller hung up. */
export async function readBody(request: http.IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > BODY_BYTES_MAX) throw new Error(`The body is larger than ${BODY_BYTES_MAX} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, bytes);
}

/** Rejects with what is wrong with the body. */
export async function readParameters(type: string, query: URLSearchParams, body: Buffer): Promise<ReadCall> {
  const parameters: Record<string, unknown> = Object.fromEntries(query);
  if (body.length === 0) return { parameters, files: [] };
  if (type.includes('application/json')) {
    const value: unknown = JSON.parse(body.toString());
    return { parameters: isRecord(value) ? { ...parameters, ...value } : parameters, files: [] };
  }
  if (!/form-data|x-www-form-urlencoded/.test(type)) return { parameters, files: [] };
  const form = await new Response(new Uint8Array(body), { headers: { 'content-type': type } }).formData();
  const files: UploadedFile[] = [];
  for (const [field, value] of form) {
    if (typeof value === 'string') parameters[field] = value;
    else files.push({ field, name: value.name, type: value.type, bytes: Buffer.from(await value.arrayBuffer()) });
  }
  return { parameters, files };
}

/** Whether a value is a JSON object. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
