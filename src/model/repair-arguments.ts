// Arguments of tool calls that are nearly JSON: unquoted keys, single quotes, literals of other
// languages, commas too many or too few, line ends and backslashes that were not escaped, a
// sentence in front, a fence around. What is cut off is never completed: half a command must not
// run.
import { jsonrepair } from 'jsonrepair';
import { parseExactly } from '../core/json.ts';

/** Longer arguments are not repaired: it is slow, and such a text is a file that lost its end. */
const REPAIRED_CHARS_MAX = 64_000;
/** How much text may precede and follow the object. */
const LEADING_CHARS_MAX = 96;
const TRAILING_CHARS_MAX = 3;

/** The intended object; null when none can be found, or when it is incomplete. Never throws. */
export function repairArguments(raw: string): Record<string, unknown> | null {
  if (raw.length > REPAIRED_CHARS_MAX) return null;
  const text = objectIn(unwrapped(raw));
  if (text === null || !isWhole(text)) return null;
  const escaped = escapeLoneBackslashes(text);
  return parseObject(escaped) ?? parseRepaired(escaped);
}

/**
 * The text without a fence around it, and without the escapes of a JSON text that holds the object.
 */
function unwrapped(raw: string): string {
  const text = raw.trim().replace(/^```\w*\s*|(?<!\s)\s*```$/g, '');
  const isEscaped = /^\{\s*\\"/.test(text);
  if (!isEscaped && !text.startsWith('"')) return text;
  try {
    const inner: unknown = JSON.parse(isEscaped ? `"${text}"` : text);
    return typeof inner === 'string' ? inner.trim() : text;
  } catch {
    return text;
  }
}

function objectIn(text: string): string | null {
  const from = text.indexOf('{');
  const to = text.lastIndexOf('}') + 1;
  if (from === -1 || from > LEADING_CHARS_MAX || to <= from || text.length - to > TRAILING_CHARS_MAX) return null;
  return text.slice(from, to);
}

/** Whether everything that was opened is closed. */
function isWhole(text: string): boolean {
  let depth = 0;
  let quote = '';
  let before = '';
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at] ?? '';
    if (quote !== '') {
      if (char === '\\') at += 1;
      else if (char === quote) quote = '';
    } else if (char === '"' || (char === "'" && '{[,:'.includes(before))) quote = char;
    else if (char === '{' || char === '[') depth += 1;
    else if (char === '}' || char === ']') depth -= 1;
    if (!/\s/.test(char)) before = char;
  }
  return quote === '' && depth <= 0;
}

/**
 * A backslash before a character that JSON does not escape is a backslash: `\d`, `\$`, `C:\dir`.
 */
function escapeLoneBackslashes(text: string): string {
  return text.replace(/\\(?:["'\\/bfnrt]|u[0-9a-fA-F]{4})|\\/g, (found) => (found === '\\' ? '\\\\' : found));
}

function parseRepaired(text: string): Record<string, unknown> | null {
  try {
    return parseObject(jsonrepair(text));
  } catch {
    // Not to be repaired, or nested too deeply to be read.
    return null;
  }
}

function parseObject(text: string): Record<string, unknown> | null {
  try {
    const value = parseExactly(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}
