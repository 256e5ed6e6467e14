// Which images a turn shows. The images of a prompt are loaded once, when its turn is opened; later
// turns show the same bytes from where they are stored, so that the provider's cache keeps its
// prefix when the files change. Only the newest turns keep their images: the model has seen older
// ones, and a marker replaces them.
import type { EntryImages, SessionImages, ShownImage } from '../../core/view.ts';
import type { ContentBlock, ImageBlock, TextBlock } from '../../core/content.ts';
import { matchesPattern, cutHead } from '../../core/text.ts';

/** How many turns back a prompt still shows its images. */
const TURNS_KEPT = 3;
/** The most images of one request: above 20 the provider takes smaller ones only. */
const IMAGES_MAX = 20;
/** The most base64 of all images of one request: the provider takes requests of 32 MB. */
const CHARS_MAX = 20 * 1024 * 1024;
/**
 * How many prompts with markers are kept. When there are more, the older half is removed, with its
 * markers.
 */
const MARKERS_MAX = 400;

export interface ImagePlanInput {
  /** The images that the session's view lists; absent: none. */
  before: readonly SessionImages[] | undefined;
  /** The images of the turn's own prompt. */
  prompt: EntryImages;
  /**
   * False for a model that takes none: then all of them are markers in this turn, and the session
   * remembers them all the same.
   */
  acceptsImages: boolean;
}

export interface ImagePlan {
  /** For the turn's view; undefined when nothing is shown. */
  turn: EntryImages[] | undefined;
  /** For the session's view, in its place; undefined when there is nothing to remember. */
  session: SessionImages[] | undefined;
  /** True when `session` differs from the stored list. */
  hasChanged: boolean;
}

/** Plans a turn whose prompt is about to be stored. */
export function planImages({ before = [], prompt, acceptsImages }: ImagePlanInput): ImagePlan {
  const isQuiet = prompt.images.length === 0 && before.every(({ images }) => images.length === 0);
  const session = isQuiet ? [...before] : withinBounds([...before.map(aged), ...listOwn(prompt)]);
  if (session.length === 0) return { turn: undefined, session: undefined, hasChanged: false };
  const turn = session.map(({ seq, images }): EntryImages => ({ seq, images: acceptsImages ? images : [] }));
  return { turn, session, hasChanged: !isQuiet };
}

function listOwn({ seq, images }: EntryImages): SessionImages[] {
  return images.length === 0 ? [] : [{ seq, images, turnsAgo: 0 }];
}

function aged(entry: SessionImages): SessionImages {
  if (entry.images.length === 0) return entry;
  const turnsAgo = entry.turnsAgo + 1;
  return turnsAgo > TURNS_KEPT ? withoutImages(entry) : { ...entry, turnsAgo };
}

function withoutImages({ seq }: SessionImages): SessionImages {
  return { seq, images: [], turnsAgo: 0 };
}

// The newest have the first right to the room. A prompt shows all of its images or none.
function withinBounds(entries: readonly SessionImages[]): SessionImages[] {
  let imagesLeft = IMAGES_MAX;
  let charsLeft = CHARS_MAX;
  const kept: SessionImages[] = [];
  for (const entry of entries.toReversed()) {
    imagesLeft -= entry.images.length;
    charsLeft -= countChars(entry.images);
    kept.unshift(imagesLeft < 0 || charsLeft < 0 ? withoutImages(entry) : entry);
  }
  return withoutOldMarkers(kept);
}

function withoutOldMarkers(entries: SessionImages[]): SessionImages[] {
  const markers = entries.filter(({ images }) => images.length === 0);
  if (markers.length <= MARKERS_MAX) return entries;
  const forgotten = new Set(markers.slice(0, MARKERS_MAX / 2));
  return entries.filter((entry) => !forgotten.has(entry));
}

function countChars(images: readonly ShownImage[]): number {
  return images.reduce((sum, { chars }) => sum + chars, 0);
}

/** Replaces images that were shown in earlier turns and are not sent again. */
const REMOVED: TextBlock = { type: 'text', text: '[image data removed - already processed by model]' };

/** The hashes of the snapshots that hold the blocks of these images. */
export function hashesOfImages(images: readonly EntryImages[] = []): string[] {
  return [...new Set(images.flatMap((entry) => entry.images.map(({ sha256 }) => sha256)))];
}

/**
 * The blocks after the content of each prompt, by the number of its entry; prompts that are not in
 * the map stay as they are. An image that several prompts show is sent once: with the turn's own
 * prompt when that shows it, else with the first of them. `isVisible` says which entries the
 * request shows; `blockOf` gives the block of a hash (undefined: left out).
 */
export function imagesAfter(
  images: readonly EntryImages[],
  { promptSeq, isVisible, blockOf }: ShowOptions,
): Map<number, ContentBlock[]> {
  const added = new Map<number, ContentBlock[]>();
  const shown = new Set<string>();
  const visible = images.filter(({ seq }) => isVisible(seq));
  // The turn's own prompt first: images that it shows are not repeated above it.
  for (const entry of visible.toSorted((a, b) => Number(b.seq === promptSeq) - Number(a.seq === promptSeq))) {
    if (entry.images.length === 0) {
      added.set(entry.seq, [REMOVED]);
      continue;
    }
    const fresh = hashesOfImages([entry]).filter((sha256) => !shown.has(sha256));
    for (const sha256 of fresh) shown.add(sha256);
    const blocks = fresh.map(blockOf).filter((block) => block !== undefined);
    if (blocks.length > 0) added.set(entry.seq, blocks);
  }
  return added;
}

export interface ShowOptions {
  /** The entry of the turn's own prompt. */
  promptSeq: number;
  isVisible: (seq: number) => boolean;
  blockOf: (sha256: string) => ImageBlock | undefined;
}

/**
 * False when one of the patterns (`provider/model`, with `*` for any characters) names the model.
 */
export function acceptsImages(model: string, textOnlyModels: readonly string[]): boolean {
  return !textOnlyModels.some((pattern) => matchesPattern(model, pattern));
}

// Finds the image files that a prompt names. It only reads text: which of them may be loaded is
// decided where they are loaded (`src/images`). What is on the network is never one of them.

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

// A path without a note around it begins after one of these (or at the start of the text) and
// contains none of them: so no part of a text is read twice.
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
 * The image files that a text names, each once, attachments first; at most 50. As they are named:
 * absolute, relative (`./`, `../`, bare in a note), or below the home (`~/`). Names of remote files
 * are left out.
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

/**
 * Says of files that are not shown which they are and why, a line for each; their names can neither
 * close the bracket nor break the line.
 */
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
