// Identifiers of a conversation: what a later turn must be able to name letter for letter, and what summaries tend to lose. They are
// found by their shape in messages of people and the assistant; tool output has thousands that are not needed.
import { headOf } from '../cut-text.ts';
import type { PathEntry } from './path-entry.ts';

const IDENTIFIERS_MAX = 40;
const IDENTIFIER_CHARS_MAX = 200;
const TOTAL_CHARS_MAX = 2_000;
// Dates, times and years look like identifiers but are not; neither are shorter texts.
const NO_IDENTIFIER = /^(?:\d{4}-\d{2}-\d{2}.*|\d{1,2}:\d{2}|(?:19|20)\d{2})$/;
const IDENTIFIER_CHARS_MIN = 4;
/** The most text of one entry that is searched. */
const SEARCHED_CHARS_MAX = 100_000;

// The first pattern that matches a piece of text wins: a part of a longer identifier is not listed separately. Every repetition
// is bounded, so that no text can make a search slow.
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

/** The identifiers of the entries, newest first, bounded in number and length. Those that the user wrote come first. */
export function identifiersOf(entries: readonly PathEntry[]): string[] {
  const said = entries.filter(({ kind }) => kind === 'prompt' || kind === 'steer');
  const answered = entries.filter(({ kind }) => kind === 'answer' || kind === 'summary');
  const found = new Set<string>();
  let chars = 0;
  for (const entry of [...said.toReversed(), ...answered.toReversed()]) {
    for (const identifier of identifiersIn(textOfEntry(entry))) {
      if (found.has(identifier) || identifier.length > IDENTIFIER_CHARS_MAX) continue;
      if (found.size >= IDENTIFIERS_MAX || chars + identifier.length > TOTAL_CHARS_MAX) return [...found];
      found.add(identifier);
      chars += identifier.length;
    }
  }
  return [...found];
}

/** Those that a text does not have. */
export function missingIdentifiers(text: string, identifiers: readonly string[]): string[] {
  return identifiers.filter((identifier) => !text.includes(identifier));
}

/** In the order of their places in the text. */
export function identifiersIn(text: string): string[] {
  let rest = headOf(text, SEARCHED_CHARS_MAX);
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

function textOfEntry({ content }: PathEntry): string {
  return content.map((block) => (block.type === 'text' ? block.text : '')).join('\n');
}
