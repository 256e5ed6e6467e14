// From a model's text to the summary in the transcript: it has all headings and identifiers, nothing in it imitates Holdfast's
// markup, and it is never longer than its bound. Repaired here instead of by another call.
import { storableText } from '../storable-text.ts';
import { readHeading } from '../markdown-heading.ts';
import { headOf } from '../cut-text.ts';
import { neutralise } from '../prompt/untrusted-text.ts';
import { missingIdentifiers } from './identifiers.ts';

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
  // Identifiers that the cut removes are appended after it, so there is room for all that may be missing then.
  const everything = framed('', identifiers).length;
  return framed(headOf(own, SUMMARY_CHARS_MAX - everything - CUT_NOTE.length) + CUT_NOTE, identifiers);
}

const NO_SUMMARY_NOTE =
  'The model could not summarise the messages that stood here, so they were left out. If you need something of them, ask the user.';

/** The text in place of entries that could not be summarised: what an earlier summary says stays, and so do the identifiers. */
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
