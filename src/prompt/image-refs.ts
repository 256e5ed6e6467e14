// Finds the image files that a prompt names. It only reads text: which of them may be loaded is decided where they are loaded
// (`src/images`). What is on the network is never one of them.
import { cutHead } from '../core/text.ts';

/** The most files that one prompt can name. */
const REFS_MAX = 50;
const PATH_CHARS_MAX = 4096;
const EXTENSION = '\\.(?:png|jpe?g|jfif|gif|webp|avif|bmp|tiff?|hei[cf]|jxl)';

/** A way of naming a file: finds candidates, and says which path one of them means. */
interface Pattern {
  regex: RegExp;
  pathOf: (candidate: string) => string | null;
}

const ANY = new RegExp(EXTENSION, 'i');
const ATTACHED_PATH = new RegExp(`^(.+?${EXTENSION})\\s*(?:\\(|\\||$)`, 'i');
const WHOLE_PATH = new RegExp(`^.+${EXTENSION}$`, 'i');

// A path without a note around it begins after one of these (or at the start of the text) and contains none of them: so no part
// of a text is read twice.
const START = `(?<![^\\s"'\`<>()[\\]])`;
const REST = `[^\\s"'\`<>()[\\]]`;
const END = '(?![\\w/-])';

// In this order.
const PATTERNS: readonly Pattern[] = [
  // The note of an attachment; `[media attached: 3 files]` names none.
  {
    regex: /\[media attached(?: \d+\/\d+)?:([^[\]\n]{1,5000})\]/gi,
    pathOf: (inside) => ATTACHED_PATH.exec(inside.trim())?.[1] ?? null,
  },
  {
    regex: /\[image: ?source:([^[\]\n]{1,5000})\]/gi,
    pathOf: (inside) => (WHOLE_PATH.test(inside.trim()) ? inside.trim() : null),
  },
  {
    regex: new RegExp(`${START}(file://${REST}*${EXTENSION})${END}`, 'gi'),
    pathOf: pathOfFileUrl,
  },
  // A path by itself.
  {
    regex: new RegExp(`${START}((?:\\.{1,2}/|~/|/(?!/))${REST}*${EXTENSION})${END}`, 'gi'),
    pathOf: (path) => path,
  },
];

export function isImagePath(path: string): boolean {
  return WHOLE_PATH.test(path);
}

/**
 * The image files that a text names, each once, attachments first; at most 50. As they are named: absolute, relative (`./`, `../`, bare
 * in a note), or below the home (`~/`). Names of remote files are left out.
 */
export function findImageRefs(text: string): string[] {
  const paths = new Set<string>();
  // Most texts name none.
  if (!ANY.test(text)) return [];
  for (const { regex, pathOf } of PATTERNS) {
    for (const [, candidate = ''] of text.matchAll(regex)) {
      const path = pathOf(candidate);
      if (path === null || path.length > PATH_CHARS_MAX || isRemote(path)) continue;
      paths.add(path);
      if (paths.size === REFS_MAX) return [...paths];
    }
  }
  return [...paths];
}

/** Says of files that are not shown which they are and why, a line for each; their names can neither close the bracket nor break the line. */
export function imageNotes(missing: readonly { path: string; reason: string }[]): string[] {
  const shown = missing.slice(0, NOTES_MAX).map(({ path, reason }) => `[image not shown: ${inNote(path)}: ${reason}]`);
  const more = missing.length - shown.length;
  return more === 0 ? shown : [...shown, `[${more} more images not shown]`];
}

const NOTES_MAX = 10;
const NOTE_PATH_CHARS_MAX = 300;

function isRemote(path: string): boolean {
  return /^(?!file:)[a-z][a-z0-9+.-]*:\/\//i.test(path) || path.startsWith('//');
}

// Only files of this machine: `file:///path` or `file://localhost/path`.
function pathOfFileUrl(url: string): string | null {
  const path = /^file:\/\/(?:localhost)?(\/[^?#]*)/i.exec(url)?.[1];
  if (path === undefined) return null;
  try {
    return decodeURIComponent(path);
  } catch {
    return null;
  }
}

function inNote(path: string): string {
  const line = path
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}[\]［］【】〔〕〖〗〘〙〚〛⟦⟧⟬⟭⁅⁆❲❳⦋⦌]+/gu, ' ')
    .replace(/\s+/g, ' ')
    .trim();
  return cutHead(line.toWellFormed(), NOTE_PATH_CHARS_MAX);
}
