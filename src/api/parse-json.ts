// Reading a JSON body so that nothing surprising is stored: valid UTF-8, no deeper than allowed, no name twice, no NUL character and no lone
// surrogate in any string or name (PostgreSQL would refuse them, or a later reader would). Most bodies need no second pass: a
// string can hold such a character only through an escape, or as a byte that JSON itself forbids.
import { isUtf8 } from 'node:buffer';
import { cutHead } from '../core/text.ts';
import { parseKeepingIntegers } from '../core/parse-exactly.ts';
import { Problem } from './problem.ts';

/** The value of the body. Throws `Problem` 400, which names the path of a bad string. */
export function parseJson(body: Buffer, depthMax: number): unknown {
  if (!isUtf8(body)) throw new Problem('invalid_json', 'The body is not valid UTF-8.');
  const text = body.toString('utf8');
  let value: unknown;
  try {
    value = parseKeepingIntegers(text);
  } catch (error) {
    throw new Problem('invalid_json', `The body is not valid JSON: ${explainFault(text)}`, { cause: error });
  }
  checkValue(value, { depthLeft: depthMax, hasEscapes: text.includes('\\u') }, '');
  const twice = findDuplicateName(text);
  if (twice === null) return value;
  const path = shortened(twice);
  throw new Problem('invalid_body', `The body contains a field twice: ${path}. Send each field once.`, {
    errors: [{ path, message: 'named twice' }],
  });
}

/** The first character that does not fit, and its place. No more of the text: a body may hold what no log or answer should repeat. */
function explainFault(text: string): string {
  if (!isBroken(text)) return 'it ends too early.';
  // The end of the shortest beginning of the text that no further character could complete.
  let [fits, broken] = [0, text.length];
  while (broken - fits > 1) {
    const middle = Math.floor((fits + broken) / 2);
    if (isBroken(text.slice(0, middle))) broken = middle;
    else fits = middle;
  }
  const lines = text.slice(0, fits).split('\n');
  const place = `position ${fits} (line ${lines.length} column ${(lines.at(-1) ?? '').length + 1})`;
  return `unexpected character ${characterAt(text, fits)} at ${place}.`;
}

/** True for a text that is not the beginning of any JSON. The parser's messages of one that is name its end, or no position. */
function isBroken(text: string): boolean {
  try {
    JSON.parse(text);
    return false;
  } catch (error) {
    const { message } = error as SyntaxError;
    if (/^Unexpected end|^Unterminated/.test(message)) return false;
    const [, position] = / at position (\d+)/.exec(message) ?? [];
    return position === undefined || Number(position) < text.length;
  }
}

function characterAt(text: string, at: number): string {
  const character = String.fromCodePoint(text.codePointAt(at) ?? 0);
  if (/^[^\p{C}\p{Z}]$/u.test(character)) return JSON.stringify(character);
  const code = `U+${text.charCodeAt(at).toString(16).toUpperCase().padStart(4, '0')}`;
  return code === 'U+FEFF' ? `${code} (a byte order mark)` : code;
}

interface Check {
  depthLeft: number;
  hasEscapes: boolean;
}

function checkValue(value: unknown, check: Check, path: string): void {
  if (typeof value === 'string') {
    if (check.hasEscapes) checkString(value, path);
    return;
  }
  if (typeof value !== 'object' || value === null) return;
  if (check.depthLeft === 0) {
    throw new Problem('invalid_body', 'The body is nested too deeply.', {
      errors: [{ path: shortened(path), message: 'nested too deeply' }],
    });
  }
  const below = { depthLeft: check.depthLeft - 1, hasEscapes: check.hasEscapes };
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      if (typeof item === 'object' || check.hasEscapes) checkValue(item, below, `${path}[${index}]`);
    }
    return;
  }
  for (const [name, field] of Object.entries(value)) {
    const fieldPath = path === '' ? name : `${path}.${name}`;
    if (check.hasEscapes) checkString(name, fieldPath);
    checkValue(field, below, fieldPath);
  }
}

/** Throws when the string holds a NUL character or half of a surrogate pair. */
function checkString(text: string, path: string): void {
  const fault = text.includes('\u0000')
    ? 'holds a NUL character'
    : text.isWellFormed()
      ? null
      : 'holds a lone surrogate';
  if (fault === null) return;
  throw new Problem('invalid_body', `A string of the body ${fault}: ${shortened(path)}`, {
    errors: [{ path: shortened(path), message: fault }],
  });
}

const PATH_CHARS_MAX = 200;

/** A path as it may be shown: bounded, and without the characters that it is refused for. */
function shortened(path: string): string {
  const shown = path.replaceAll('\u0000', '\\u0000').toWellFormed();
  return shown.length > PATH_CHARS_MAX ? `${cutHead(shown, PATH_CHARS_MAX)}…` : shown;
}

// Finds a name that an object of a JSON text has twice. `JSON.parse` keeps the last of the two and says nothing, while a proxy or a log may
// have read the first.

interface Level {
  /** The names of an object so far; null for an array. */
  names: Set<string> | null;
  /** The place of the value that is read: a name, or a number of an array. */
  place: string | number;
}

/** The path of the first duplicate name, e.g. `sender.name`; null: there is none. `text` must be valid JSON. */
function findDuplicateName(text: string): string | null {
  const levels: Level[] = [];
  for (let at = 0; at < text.length; at += 1) {
    const level = levels.at(-1);
    switch (text.charAt(at)) {
      case '{':
        levels.push({ names: new Set(), place: '' });
        break;
      case '[':
        levels.push({ names: null, place: 0 });
        break;
      case '}':
      case ']':
        levels.pop();
        break;
      case ',':
        if (typeof level?.place === 'number') level.place += 1;
        break;
      case '"': {
        const end = endOfString(text, at);
        if (level?.names && isName(text, end)) {
          level.place = unquoteName(text.slice(at, end));
          if (level.names.has(level.place)) return formatPath(levels);
          level.names.add(level.place);
        }
        at = end - 1;
        break;
      }
      default:
    }
  }
  return null;
}

/** The position after the closing quote of the string that opens at `start`. */
function endOfString(text: string, start: number): number {
  let quote = start;
  let backslashes: number;
  do {
    quote = text.indexOf('"', quote + 1);
    backslashes = 0;
    while (text[quote - 1 - backslashes] === '\\') backslashes += 1;
  } while (backslashes % 2 === 1);
  return quote + 1;
}

/** True when a colon follows. */
function isName(text: string, end: number): boolean {
  let at = end;
  while (/\s/.test(text[at] ?? '')) at += 1;
  return text[at] === ':';
}

function unquoteName(quoted: string): string {
  return quoted.includes('\\') ? String(JSON.parse(quoted)) : quoted.slice(1, -1);
}

function formatPath(levels: readonly Level[]): string {
  return levels
    .map(({ place }) => (typeof place === 'number' ? `[${place}]` : `.${place}`))
    .join('')
    .replace(/^\./, '');
}
