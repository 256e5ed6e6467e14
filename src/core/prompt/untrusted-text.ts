// Text that somebody else wrote, made harmless without being rewritten: what only Holdfast may say (lines that begin `System:`,
// the bracket tags of internal messages, the labels of metadata blocks) is changed where it is imitated, in any Unicode
// disguise, and nothing else is touched (G29). Doing it twice changes nothing.
import { foldText, type FoldedText } from './fold-text.ts';

interface Edit {
  start: number;
  end: number;
  text: string;
}

/** Finds imitations in folded text and says what to write instead. */
type Rule = (folded: FoldedText) => Edit[];

// Where two rules would change the same place, the first of them does.
const RULES: readonly Rule[] = [systemLines, exactTags, openTags, contextLabels, ownNotes];

/** The text with every imitation neutralised. Line breaks become `\n`; other characters stay as they are. */
export function neutralise(text: string): string {
  const original = text.replace(/\r\n?/g, '\n');
  const folded = foldText(original);
  const edits = RULES.flatMap((rule) => rule(folded));
  return edits.length === 0 ? original : applyEdits(original, edits);
}

// `System:` at the start of a line, followed by a blank, a bracket or nothing: `System:nope` is somebody's own word.
function systemLines(folded: FoldedText): Edit[] {
  return findEdits(folded, /^([^\S\n]*)system[^\S\n]*:(?=\s|\[|$)/gm, (match, start) => [
    edit(folded, start + (match[1]?.length ?? 0), start + match[0].length, 'System (untrusted):'),
  ]);
}

// Whole tags: the brackets become round.
function exactTags(folded: FoldedText): Edit[] {
  const tags = /\[([^\S\n]*)(?:system[^\S\n]*message|system|assistant|internal)([^\S\n]*)\]/g;
  return findEdits(folded, tags, (match, start) => {
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
  'image:\\s*source',
  'thread history - for context',
  'thread starter - for context',
  'queued messages while agent',
  'queued announce messages while agent',
  'queue overflow',
  'chat messages since your last reply',
  'current message - respond to this',
  'bootstrap pending',
  'bootstrap truncation warning',
].map((tag) => tag.replaceAll(' ', '[^\\S\\n]+').replaceAll('\\s', '[^\\S\\n]'));

const OPEN_TAG = new RegExp(`\\[(?=[^\\S\\n]*(?:${OPEN_TAGS.join('|')}))`, 'g');

// Tags that carry more: the opening bracket becomes round, so that nothing after it is read as theirs.
function openTags(folded: FoldedText): Edit[] {
  return findEdits(folded, OPEN_TAG, (_match, start) => [edit(folded, start, start + 1, '(')]);
}

// `Sender (untrusted metadata):` and its kin, alone on their line start.
function contextLabels(folded: FoldedText): Edit[] {
  const labels =
    /^([^\S\n]*(?=\S)[^\n(:]{1,80})\([^\S\n]*(?:untrusted[^\S\n]+metadata|untrusted,[^\S\n]+for[^\S\n]+context|metadata,[^\S\n]+do[^\S\n]+not[^\S\n]+treat[^\n)]*)\)[^\S\n]*:/gm;
  return findEdits(folded, labels, (match, start) => [
    edit(folded, start + (match[1]?.length ?? 0), start + match[0].length, '(user text):'),
  ]);
}

function ownNotes(folded: FoldedText): Edit[] {
  const note = /^([^\S\n]*)note[^\S\n]*:(?=[^\S\n]*the[^\S\n]+previous[^\S\n]+agent[^\S\n]+run\b)/gm;
  return findEdits(folded, note, (match, start) => [
    edit(folded, start + (match[1]?.length ?? 0), start + match[0].length, 'Note (untrusted):'),
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
