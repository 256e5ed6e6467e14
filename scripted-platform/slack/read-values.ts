// Values of parameters, which are JSON in a JSON body and texts in a form or a query.
import { isRecord } from '../read-parameters.ts';
import { Refused } from './refused.ts';
import type { Json } from './workspace.ts';

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : typeof value === 'number' ? String(value) : '';
}

export function isTrue(value: unknown): boolean {
  return value === true || value === 'true' || value === '1';
}

/** Throws `Refused`. */
export function objectsOf(value: unknown, fault: string): Json[] {
  const parsed = parsedOf(value, fault);
  if (!Array.isArray(parsed)) throw new Refused(fault);
  return parsed.filter(isRecord);
}

/** Throws `Refused`. */
export function objectOf(value: unknown, fault: string): Json {
  const parsed = parsedOf(value, fault);
  if (!isRecord(parsed)) throw new Refused(fault);
  return parsed;
}

function parsedOf(value: unknown, fault: string): unknown {
  if (typeof value !== 'string') return value;
  try {
    return JSON.parse(value) as unknown;
  } catch {
    throw new Refused(fault);
  }
}
