// Puts the images that a turn's view names after the texts of their prompts.
import type { ContentBlock, ImageBlock, TextBlock } from '../content.ts';
import type { EntryImages } from '../view.ts';

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
export function imagesBehind(
  images: readonly EntryImages[],
  { promptSeq, isVisible, blockOf }: ShowOptions,
): Map<number, ContentBlock[]> {
  const behind = new Map<number, ContentBlock[]>();
  const shown = new Set<string>();
  const visible = images.filter(({ seq }) => isVisible(seq));
  // The turn's own prompt first: images that it shows are not repeated above it.
  for (const entry of visible.toSorted((a, b) => Number(b.seq === promptSeq) - Number(a.seq === promptSeq))) {
    if (entry.images.length === 0) {
      behind.set(entry.seq, [REMOVED]);
      continue;
    }
    const fresh = hashesOfImages([entry]).filter((sha256) => !shown.has(sha256));
    for (const sha256 of fresh) shown.add(sha256);
    const blocks = fresh.map(blockOf).filter((block) => block !== undefined);
    if (blocks.length > 0) behind.set(entry.seq, blocks);
  }
  return behind;
}

export interface ShowOptions {
  /** The entry of the turn's own prompt. */
  promptSeq: number;
  isVisible: (seq: number) => boolean;
  blockOf: (sha256: string) => ImageBlock | undefined;
}
