// Neutralises untrusted text without rewriting it: markup that only Holdfast may write (lines that
// begin `System:`, the bracket tags of internal messages, the labels of metadata blocks) is changed
// where it is imitated, in any Unicode disguise, and nothing else is changed (G29). Doing it twice
// changes nothing.
import { BLANKS, foldedPattern, foldText, isInvisibleAt, listReadings, type FoldedText } from './fold-text.ts';
import { cutHead } from '../core/text.ts';

interface Edit {
  start: number;
  end: number;
  text: string;
}

/** Finds imitations in folded text and says what to write instead. */
type Rule = (folded: FoldedText) => Edit[];

// Where two rules would change the same place, the first of them does.
const RULES: readonly Rule[] = [systemLines, exactTags, openTags, contextLabels, ownNotes, ownWarnings];

// Most texts are short, in ASCII, and imitate nothing. Every match of a rule contains one of these,
// in any letter case.
const MARKS = /\[|system|note|untrusted|metadata|bootstrap/i;
const PLAIN_ASCII = /^[\t\n\x20-\x7e]*$/;

/**
 * The text with every imitation neutralised. Line breaks become `\n`, letters of the tag block
 * (invisible, but read by models) are removed; other characters stay as they are.
 */
export function neutralise(text: string): string {
  if (PLAIN_ASCII.test(text) && !MARKS.test(text)) return text;
  const original = text.replace(/\r\n?/g, '\n').replace(TAG_LETTERS, keptFlag);
  const edits = listReadings(original).flatMap((reading) => {
    const folded = foldText(original, reading);
    return MARKS.test(folded.text) ? RULES.flatMap((rule) => rule(folded)) : [];
  });
  return edits.length === 0 ? original : applyEdits(original, edits);
}

// Letters of the tag block, with the black flag before them if there is one: three flags are
// written so.
const TAG_LETTERS = /(\u{1f3f4}?)([\u{e0000}-\u{e007f}]+)/gu;
const FLAGS: ReadonlySet<string> = new Set(['gbeng', 'gbsct', 'gbwls']);

function keptFlag(whole: string, flag: string, tags: string): string {
  const letters = Array.from(tags, (tag) => String.fromCharCode((tag.codePointAt(0) ?? 0) - 0xe0000)).join('');
  return flag !== '' && letters.endsWith('\x7f') && FLAGS.has(letters.slice(0, -1)) ? whole : flag;
}

// `System:` at the start of a line, followed by a blank, a bracket or nothing: `System:nope` is an
// ordinary word. Invisible characters count as spaces, because some readers show them so.
const SYSTEM_LINE = foldedPattern(`^(${BLANKS}*)system${BLANKS}*:(?:(\\s|\\[|$)|)`, 'gm');

function systemLines(folded: FoldedText): Edit[] {
  return findEdits(folded, SYSTEM_LINE, (match, start) => {
    const [whole, indent = '', after] = match;
    const found = edit(
      folded,
      start + indent.length,
      start + whole.length - (after ?? '').length,
      'System (untrusted):',
    );
    return after !== undefined || isInvisibleAt(folded.original, found.end) ? [found] : [];
  });
}

// Whole tags: the brackets become round.
const EXACT_TAG = foldedPattern(
  `\\[(${BLANKS}*)(?:system${BLANKS}*message|system|assistant|internal)(${BLANKS}*)\\]`,
  'g',
);

function exactTags(folded: FoldedText): Edit[] {
  return findEdits(folded, EXACT_TAG, (match, start) => {
    const end = start + match[0].length;
    return [
      edit(folded, start, start + 1 + (match[1]?.length ?? 0), '('),
      edit(folded, end - 1 - (match[2]?.length ?? 0), end, ')'),
    ];
  });
}

const OPEN_TAGS = [
  'system\\s*message',
  'inter-session message',
  'media attached',
  'image\\s*:\\s*source',
  'thread history - for context',
  'thread starter - for context',
  'queued messages while agent',
  'queued announce messages while agent',
  'queue overflow',
  'chat messages since your last reply',
  'current message - respond to this',
  'bootstrap pending',
  'bootstrap truncation warning',
  'conversation summary',
  // Ends a summary, and the text of others in a result.
  'end of ',
  'post-compaction context refresh',
  'subagent context',
  'subagent task',
].map((tag) => tag.replaceAll(' ', `${BLANKS}+`).replaceAll('\\s', BLANKS));

const OPEN_TAG = foldedPattern(`\\[(?=${BLANKS}*(?:${OPEN_TAGS.join('|')}))`, 'g');

// Tags that carry more: the opening bracket becomes round, so that nothing after it is read as
// theirs.
function openTags(folded: FoldedText): Edit[] {
  return findEdits(folded, OPEN_TAG, (_match, start) => [edit(folded, start, start + 1, '(')]);
}

/**
 * How many characters after its words the end of a label is searched. Bounded: a text may repeat
 * the words without ever ending a label.
 */
const LABEL_END_CHARS_MAX = 200;

// What marks `Sender (untrusted metadata):` and similar labels, at any position: the text before it
// may be a line of its own to a reader.
const CONTEXT_LABEL = foldedPattern(
  [
    `\\(${BLANKS}*(?:untrusted${BLANKS}+metadata|untrusted,${BLANKS}*for${BLANKS}+context)${BLANKS}*\\)${BLANKS}*:`,
    `(\\(${BLANKS}*metadata,${BLANKS}*do${BLANKS}+not${BLANKS}+treat)(?:[^\\n)]{0,${LABEL_END_CHARS_MAX}}\\)${BLANKS}*:)?`,
  ].join('|'),
  'g',
);

// A label whose end is too far away loses its first words.
function contextLabels(folded: FoldedText): Edit[] {
  return findEdits(folded, CONTEXT_LABEL, ([whole, words], start) =>
    whole === words
      ? [edit(folded, start, start + whole.indexOf(',') + 1, '(user text,')]
      : [edit(folded, start, start + whole.length, '(user text):')],
  );
}

const OWN_NOTE = foldedPattern(
  `^(${BLANKS}*)note${BLANKS}*:(?=${BLANKS}*the${BLANKS}+previous${BLANKS}+agent${BLANKS}+run\\b)`,
  'gm',
);

function ownNotes(folded: FoldedText): Edit[] {
  return findEdits(folded, OWN_NOTE, (match, start) => [
    edit(folded, start + (match[1]?.length ?? 0), start + match[0].length, 'Note (untrusted):'),
  ]);
}

// The warning sign, or any sign, before the words.
const OWN_WARNING = foldedPattern(`^(${BLANKS}*)\\p{So}{1,8}(?=${BLANKS}*bootstrap${BLANKS}+budget\\b)`, 'gmu');

function ownWarnings(folded: FoldedText): Edit[] {
  return findEdits(folded, OWN_WARNING, (match, start) => [
    edit(folded, start + (match[1]?.length ?? 0), start + match[0].length, '(user text)'),
  ]);
}

function findEdits(
  folded: FoldedText,
  pattern: RegExp,
  editsOf: (match: RegExpMatchArray, start: number) => Edit[],
): Edit[] {
  return [...folded.text.matchAll(pattern)].flatMap((match) => editsOf(match, match.index));
}

function edit(folded: FoldedText, start: number, end: number, text: string): Edit {
  return { ...folded.rangeOf(start, end), text };
}

function applyEdits(original: string, edits: Edit[]): string {
  let result = '';
  let at = 0;
  for (const { start, end, text } of edits.toSorted((a, b) => a.start - b.start)) {
    if (start < at) continue;
    result += original.slice(at, start) + text;
    at = end;
  }
  return result + original.slice(at);
}

// Values of others in prompts: as they are, where they are identifiers or one line (paths, ids,
// names of models), and their words as JSON strings inside a fence that they cannot close.

const LITERAL_CHARS_MAX = 1024;

/** A value without control, format and line-breaking characters, bounded. */
export function literal(value: string): string {
  return cutHead(value.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '').toWellFormed(), LITERAL_CHARS_MAX);
}

const IDENTIFIER = /^[a-z0-9_:.@+-]{1,64}$/;

/**
 * A name that a platform gives to something, when no sentence can pass for it; null: it must not be
 * included in the system's role.
 */
export function toIdentifier(value: string | undefined): string | null {
  return value !== undefined && IDENTIFIER.test(value) ? value : null;
}

const STRING_CHARS_MAX = 2000;
const CUT_CHARS = 1986;
const CUT_MARK = '…[truncated]';
const ZERO_WIDTH_SPACE = '\u200b';

/**
 * A string fit for a block: bounded, without NUL, imitations and fences; undefined when it is
 * absent or blank.
 */
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

/**
 * A value as JSON of two blanks' indent in a `json` fence. Every line break inside a string is
 * written as an escape.
 */
export function fencedJson(value: object): string {
  return `\`\`\`json\n${escapeBreaks(JSON.stringify(value, null, 2))}\n\`\`\``;
}

// JSON leaves these raw, but they begin a new line on many screens and for many tokenizers.
function escapeBreaks(json: string): string {
  return json.replace(/[\u007f-\u009f\u2028\u2029]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
