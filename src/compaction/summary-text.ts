// From a model's text to the summary in the transcript: it has all headings and identifiers,
// nothing in it imitates Holdfast's markup, and it is never longer than its bound. Repaired here
// instead of by another call. Identifiers are what a later turn must be able to name letter for
// letter, and what summaries tend to lose. They are found by their shape in messages of people and
// the assistant; tool output has thousands that are not needed.
import { cutHead, storableText } from '../core/text.ts';
import { readHeading } from '../prompt/markdown-heading.ts';
import { neutralise } from '../prompt/untrusted-text.ts';
import type { PathEntry } from '../core/entry.ts';
import { joinText } from '../core/content.ts';

/** The headings of every summary, in their order. */
export const SUMMARY_HEADINGS = [
  'Decisions',
  'Open TODOs',
  'Constraints/Rules',
  'Pending user asks',
  'Exact identifiers',
] as const;

/** The first and the last line of a summary. */
export const SUMMARY_START = '[Conversation summary]';
export const SUMMARY_END = '[End of conversation summary]';

/** The most characters of a summary with everything around it. */
export const SUMMARY_CHARS_MAX = 16_000;

const INTRODUCTION =
  'The earlier part of this conversation was compacted to save space. It is background: the messages after it are newer.';
const CUT_NOTE = '\n[... the rest of this summary was cut ...]';
const IDENTIFIERS_HEADING = SUMMARY_HEADINGS[4];
const HEADING_CHARS_MAX = 200;

/** The summary to store, from the model's text; null when it wrote nothing. */
export function summaryText(written: string, identifiers: readonly string[]): string | null {
  const own = clean(written).trim();
  if (own === '') return null;
  const whole = framed(own, identifiers);
  if (whole.length <= SUMMARY_CHARS_MAX) return whole;
  // Identifiers that the cut removes are appended after it, so there is room for all that may be
  // missing then.
  const everything = framed('', identifiers).length;
  return framed(cutHead(own, SUMMARY_CHARS_MAX - everything - CUT_NOTE.length) + CUT_NOTE, identifiers);
}

const NO_SUMMARY_NOTE =
  'The model could not summarise the messages that stood here, so they were left out. If you need something of them, ask the user.';

/**
 * The text in place of entries that could not be summarised: what an earlier summary says stays,
 * and so do the identifiers.
 */
export function missingSummaryText(earlier: string, identifiers: readonly string[]): string {
  const said = [`${SUMMARY_START}\n${INTRODUCTION}`, NO_SUMMARY_NOTE, SUMMARY_END].reduce(
    (text, frame) => text.replace(frame, ''),
    earlier,
  );
  // A note is never empty.
  return summaryText(`${NO_SUMMARY_NOTE}\n\n${said.trim()}`, identifiers)!;
}

function framed(body: string, identifiers: readonly string[]): string {
  const missing = missingIdentifiers(body, identifiers).map(clean);
  const absent = SUMMARY_HEADINGS.filter((heading) => heading !== IDENTIFIERS_HEADING && !hasHeading(body, heading));
  const sections = absent.map((heading) => `## ${heading}\n- none`);
  if (missing.length > 0) sections.push(`## ${IDENTIFIERS_HEADING}\n${missing.map((one) => `- ${one}`).join('\n')}`);
  else if (!hasHeading(body, IDENTIFIERS_HEADING)) sections.push(`## ${IDENTIFIERS_HEADING}\n- none`);
  return [`${SUMMARY_START}\n${INTRODUCTION}`, body, ...sections, SUMMARY_END].join('\n\n');
}

/** True when a text has this heading on a separate line, at any level. */
export function hasHeading(text: string, heading: string): boolean {
  const wanted = heading.toLowerCase();
  return text.split('\n').some((line) => {
    if (line.length > HEADING_CHARS_MAX) return false;
    const title = readHeading(line)?.title.replace(/:$/, '').trimEnd();
    return title?.toLowerCase() === wanted;
  });
}

// Nothing that a model copied out of a conversation may pass for what only Holdfast says.
function clean(text: string): string {
  return neutralise(storableText(text));
}

const IDENTIFIERS_MAX = 40;
const IDENTIFIER_CHARS_MAX = 200;
const TOTAL_CHARS_MAX = 2_000;
// Dates, times and years look like identifiers but are not; neither are shorter texts.
const NO_IDENTIFIER = /^(?:\d{4}-\d{2}-\d{2}.*|\d{1,2}:\d{2}|(?:19|20)\d{2})$/;
const IDENTIFIER_CHARS_MIN = 4;
/** The most text of one entry that is searched. */
const SEARCHED_CHARS_MAX = 100_000;

// The first pattern that matches a piece of text wins: a part of a longer identifier is not listed
// separately. Every repetition is bounded, so that no text can make a search slow.
const SHAPES: readonly RegExp[] = [
  // Addresses of the web.
  /\bhttps?:\/\/[^\s"'<>()[\]{}`]{1,190}(?<![.,;:!?])/g,
  // Mail addresses and user@host.
  /\b[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}\b/g,
  // UUIDs.
  /\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/gi,
  // Paths of at least two parts.
  /(?<![\w/.-])(?:~|\.{1,2})?(?:\/[\w.@+-]{1,100}){2,20}\b/g,
  /(?<![\w/.-])[\w.@+-]{1,100}(?:\/[\w.@+-]{1,100}){1,20}\.\w{1,8}\b/g,
  // IP addresses and hosts with a port.
  /\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?\b/g,
  /\b[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){0,5}:\d{2,5}\b/gi,
  // Prefixed ids: toolu_01..., ABC-123, order_42.
  /\b[A-Z][A-Z0-9]{1,9}-\d{1,20}\b/g,
  /\b[a-z]{2,12}_(?=[A-Za-z0-9]{0,64}\d)[A-Za-z0-9]{2,64}\b/g,
  // Hashes: letters and digits mixed.
  /\b(?=[0-9a-f]{0,64}\d)(?=[0-9a-f]{0,64}[a-f])[0-9a-f]{7,64}\b/gi,
  // File names and hosts.
  /\b[\w-]{1,80}(?:\.[\w-]{1,80}){0,5}\.[a-z][a-z0-9]{0,7}\b/gi,
  // Numbers that are names: orders, phones, ports.
  /(?<![\w.])\+?\d{4,20}\b(?!\.\d)/g,
];

/**
 * The identifiers of the entries, newest first, bounded in number and length. Those that the user
 * wrote come first.
 */
export function findIdentifiers(entries: readonly PathEntry[]): string[] {
  const said = entries.filter(({ kind }) => kind === 'prompt' || kind === 'steer');
  const answered = entries.filter(({ kind }) => kind === 'answer' || kind === 'summary');
  const found = new Set<string>();
  let chars = 0;
  for (const entry of [...said.toReversed(), ...answered.toReversed()]) {
    for (const identifier of identifiersIn(joinText(entry.content))) {
      if (found.has(identifier) || identifier.length > IDENTIFIER_CHARS_MAX) continue;
      if (found.size >= IDENTIFIERS_MAX || chars + identifier.length > TOTAL_CHARS_MAX) return [...found];
      found.add(identifier);
      chars += identifier.length;
    }
  }
  return [...found];
}

/** The identifiers that a text lacks. */
export function missingIdentifiers(text: string, identifiers: readonly string[]): string[] {
  return identifiers.filter((identifier) => !text.includes(identifier));
}

/** In the order of their places in the text. */
export function identifiersIn(text: string): string[] {
  let rest = cutHead(text, SEARCHED_CHARS_MAX);
  const found: { at: number; identifier: string }[] = [];
  for (const shape of SHAPES) {
    rest = rest.replace(shape, (identifier: string, ...more: unknown[]) => {
      const at = more.find((value) => typeof value === 'number') ?? 0;
      found.push({ at, identifier });
      return ' '.repeat(identifier.length);
    });
  }
  return found
    .toSorted((a, b) => a.at - b.at)
    .map(({ identifier }) => identifier)
    .filter((identifier) => identifier.length >= IDENTIFIER_CHARS_MIN && !NO_IDENTIFIER.test(identifier));
}
