// Which images a turn shows. The images of a prompt are loaded once, when its turn is opened; later turns show the same bytes from where they
// are stored, so that the provider's cache keeps its prefix when the files change. Only the newest turns keep their images: the model has
// seen older ones, and a marker replaces them.
import type { EntryImages, SessionImages, ShownImage } from '../../core/view.ts';
import type { ContentBlock, ImageBlock, TextBlock } from '../../core/content.ts';
import { matchesPattern } from '../../core/text-filter.ts';

/** How many turns back a prompt still shows its images. */
const TURNS_KEPT = 3;
/** The most images of one request: above 20 the provider takes smaller ones only. */
const IMAGES_MAX = 20;
/** The most base64 of all images of one request: the provider takes requests of 32 MB. */
const CHARS_MAX = 20 * 1024 * 1024;
/** How many prompts with markers are kept. When there are more, the older half is removed, with its markers. */
const MARKERS_MAX = 400;

export interface ImagePlanInput {
  /** The images that the session's view lists; absent: none. */
  before: readonly SessionImages[] | undefined;
  /** The images of the turn's own prompt. */
  prompt: EntryImages;
  /** False for a model that takes none: then all of them are markers in this turn, and the session remembers them all the same. */
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
 * The blocks after the content of each prompt, by the number of its entry; prompts that are not in the map stay as they are. An
 * image that several prompts show is sent once: with the turn's own prompt when that shows it, else with the first of them.
 * `isVisible` says which entries the request shows; `blockOf` gives the block of a hash (undefined: left out).
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

/** False when one of the patterns (`provider/model`, with `*` for any characters) names the model. */
export function acceptsImages(model: string, textOnlyModels: readonly string[]): boolean {
  return !textOnlyModels.some((pattern) => matchesPattern(model, pattern));
}
