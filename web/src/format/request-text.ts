// The texts of the parts of a request.
import type { ModelRequest } from '../api.ts';
import { jsonText } from './json-text.ts';

export type Part = ModelRequest['parts'][number];

/** The text of a part: a stretch of a text, or a value as JSON. */
export function partText(request: unknown, { path, span }: Part): string {
  const value = valueAt(request, path);
  if (typeof value === 'string') return span === null ? value : value.slice(span.start, span.end);
  return value === undefined ? '' : jsonText(value);
}

/** The value at a path such as `messages[3].content[0].text`; undefined: it does not exist. */
function valueAt(request: unknown, path: string): unknown {
  let value = request;
  for (const [, index, name] of path.matchAll(/\[(\d+)\]|([^.[\]]+)/g)) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = Array.isArray(value) ? value[Number(index)] : (value as Record<string, unknown>)[name ?? ''];
  }
  return value;
}
