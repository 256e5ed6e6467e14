// One text for all equivalent bodies: object names sorted, no blanks. An Idempotency-Key is bound to its hash.
import { hash } from 'node:crypto';

/** SHA-256, in hex, of the canonical form of a JSON value. */
export function sha256OfJson(value: unknown): string {
  return hash('sha256', canonicalJson(value), 'hex');
}

function canonicalJson(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  const fields = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${canonicalJson(field)}`).join(',')}}`;
}
