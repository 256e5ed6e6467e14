// Values of others in prompts: as they are, where they are identifiers or one line (paths, ids, names of models), and their words as JSON strings
// inside a fence that they cannot close.
import { cutHead } from '../core/text.ts';
import { neutralise } from './untrusted-text.ts';

const LITERAL_CHARS_MAX = 1024;

/** A value without control, format and line-breaking characters, bounded. */
export function literal(value: string): string {
  return cutHead(value.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '').toWellFormed(), LITERAL_CHARS_MAX);
}

const IDENTIFIER = /^[a-z0-9_:.@+-]{1,64}$/;

/** A name that a platform gives to something, when no sentence can pass for it; null: it must not be included in the system's role. */
export function toIdentifier(value: string | undefined): string | null {
  return value !== undefined && IDENTIFIER.test(value) ? value : null;
}

const STRING_CHARS_MAX = 2000;
const CUT_CHARS = 1986;
const CUT_MARK = '…[truncated]';
const ZERO_WIDTH_SPACE = '\u200b';

/** A string fit for a block: bounded, without NUL, imitations and fences; undefined when it is absent or blank. */
export function quoted(text: string | undefined): string | undefined {
  if (text === undefined || text.trim() === '') return undefined;
  // Bounded before it is searched: the text after the cut costs nothing.
  const whole = text.replaceAll('\0', '');
  const bounded = whole.length > STRING_CHARS_MAX ? `${cutHead(whole, CUT_CHARS).trimEnd()}${CUT_MARK}` : whole;
  return neutralise(bounded).replace(/`(?=``)/g, `\`${ZERO_WIDTH_SPACE}`);
}

/** The strings that are not blank; undefined when none is left. */
export function quotedAll(texts: readonly string[] | undefined): string[] | undefined {
  const kept = texts?.map(quoted).filter((text) => text !== undefined);
  return kept === undefined || kept.length === 0 ? undefined : kept;
}

/** A value as JSON of two blanks' indent in a `json` fence. Every line break inside a string is written as an escape. */
export function fencedJson(value: object): string {
  return `\`\`\`json\n${escapeBreaks(JSON.stringify(value, null, 2))}\n\`\`\``;
}

// JSON leaves these raw, but they begin a new line on many screens and for many tokenizers.
function escapeBreaks(json: string): string {
  return json.replace(/[\u007f-\u009f\u2028\u2029]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
