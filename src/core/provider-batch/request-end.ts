// The ends of requests, from the lines of a batch's results.
import { parseExactly } from '../parse-exactly.ts';
import { requestNoOf } from './custom-id.ts';

/** The meaning of a line. `foreign`: its name is not one of this submission. `unreadable`: it is not a line of results. */
export type ResultLine =
  | { kind: 'answered'; requestNo: number; message: object; usage: unknown }
  | { kind: 'errored'; requestNo: number; error: { type: string; message: string } }
  /** The provider has not answered it: it goes into another submission. */
  | { kind: 'returned'; requestNo: number; reason: string }
  | { kind: 'foreign' }
  | { kind: 'unreadable' };

/** Reads a line of the results of a submission. */
export function readResultLine(submissionId: string, line: string): ResultLine {
  const parsed = parsedOf(line);
  if (!isRecord(parsed) || typeof parsed['custom_id'] !== 'string' || !isRecord(parsed['result']))
    return { kind: 'unreadable' };
  const requestNo = requestNoOf(submissionId, parsed['custom_id']);
  if (requestNo === null) return { kind: 'foreign' };
  const { type, message, error } = parsed['result'];
  if (type === 'succeeded' && isRecord(message))
    return { kind: 'answered', requestNo, message, usage: message['usage'] };
  if (type === 'errored') return { kind: 'errored', requestNo, error: errorOf(error) };
  return { kind: 'returned', requestNo, reason: typeof type === 'string' ? type : 'unknown' };
}

/** The API nests the error in an error response. */
function errorOf(error: unknown): { type: string; message: string } {
  const inner = isRecord(error) && isRecord(error['error']) ? error['error'] : error;
  const { type, message } = isRecord(inner) ? inner : {};
  return providerErrorFault({
    ...(typeof type === 'string' ? { type } : {}),
    ...(typeof message === 'string' ? { message } : {}),
  });
}

/** The fault of a request that the provider has refused, as `classifyFailure` takes it; a batch gives the type of the error and no status. */
export function providerErrorFault(error: { type?: string; message?: string } | null): {
  type: string;
  message: string;
} {
  return {
    type: error?.type ?? 'api_error',
    message: error?.message ?? 'The provider gave no reason.',
  };
}

function parsedOf(line: string): unknown {
  try {
    return parseExactly(line);
  } catch {
    return null;
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
