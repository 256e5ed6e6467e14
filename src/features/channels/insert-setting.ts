// Adds a setting to the text of a configuration file, and leaves everything else as it is, with its comments.
import JSON5 from 'json5';
import { objectStarts } from '../../config/file-lines.ts';
import { isObject } from '../../core/json.ts';

const INDENT = 2;

/** The text with the value at the path; null: there is a value already, or something on the way is no object. The text is valid JSON5. */
export function insertSetting(text: string, path: readonly string[], value: unknown): string | null {
  const before: unknown = JSON5.parse(text);
  let at = before;
  let depth = 0;
  while (isObject(at) && Object.hasOwn(at, path[depth] ?? '')) {
    at = at[path[depth] ?? ''];
    depth += 1;
  }
  const start = objectStarts(text).get(path.slice(0, depth).join('.'));
  if (!isObject(at) || depth === path.length || start === undefined) return null;
  const [key = '', ...inner] = path.slice(depth);
  const nested = inner.reduceRight<unknown>((child, name) => ({ [name]: child }), value);
  const margin = ' '.repeat(INDENT * (depth + 1));
  const written = isStrict(text)
    ? JSON.stringify({ [key]: nested }, null, INDENT)
    : JSON5.stringify({ [key]: nested }, null, INDENT);
  const lines = written.split('\n').slice(1, -1);
  const field = lines
    .map((line) => `\n${margin}${line.slice(INDENT)}`)
    .join('')
    .replace(/,?$/, Object.keys(at).length === 0 ? '' : ',');
  const rest = text.slice(start);
  const hasOwnLine = /^[^\S\n]*\n/.test(rest);
  return text.slice(0, start) + field + (hasOwnLine ? '' : `\n${' '.repeat(INDENT * depth)}`) + rest;
}

/** True for JSON without the freedoms of JSON5. */
function isStrict(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
