// A gateway before a server of the tests, which answers a call with the HTTP status that its input
// names: once, after the call has run.
import { appendFileSync, existsSync, readFileSync } from 'node:fs';

/** True when the file has a line with this key. */
export function wasRun(file: string, key: string): boolean {
  return existsSync(file) && readFileSync(file, 'utf8').split('\n').includes(key);
}

/** What a message asks of the gateway, and the key of its call. */
export function faultOf(body: unknown): { fault: string; key: string } {
  const { params } = (body ?? {}) as { params?: { arguments?: { fault?: string }; _meta?: Record<string, unknown> } };
  return { fault: params?.arguments?.fault ?? 'none', key: String(params?._meta?.['holdfast/idempotencyKey']) };
}

/**
 * The status that a call is answered with, which is then noted as run; null: the server answers.
 */
export function statusAfterRun(file: string, body: unknown): number | null {
  const { fault, key } = faultOf(body);
  if (!/^\d{3}$/.test(fault) || wasRun(file, key)) return null;
  appendFileSync(file, `${key}\n`);
  return Number(fault);
}

/** Longer than any answer may be. */
export const HUGE = 'x'.repeat(17 * 1024 * 1024);
