// Values of parameters, which are JSON in a JSON body and texts in a form or a query.
import { isRecord } from '../read-parameters.ts';
import { Refused } from './refused.ts';
import type { Json } from './world.ts';

export function numberOf(value: unknown): number | undefined {
  if (value === undefined || value === null || value === '') return undefined;
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : undefined;
}

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : typeof value === 'number' ? String(value) : '';
}

export function isTrue(value: unknown): boolean {
  return value === true || value === 'true' || value === 'True' || value === '1';
}

/** Parameters of a form hold JSON as text. */
export function objectOf(value: unknown): Json | undefined {
  const parsed = readJson(value);
  return isRecord(parsed) ? parsed : undefined;
}

export function listOf(value: unknown): unknown[] {
  const parsed = readJson(value);
  return Array.isArray(parsed) ? parsed : [];
}

export function namesOf(value: unknown): string[] | undefined {
  return value === undefined ? undefined : listOf(value).map(textOf);
}

function readJson(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  try {
    return JSON.parse(value) as unknown;
  } catch {
    throw new Refused(400, "can't parse JSON object");
  }
}
