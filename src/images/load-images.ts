// Loads the image files that a prompt names: inside the allowed folders only, bounded in number,
// size and time. What cannot be shown is named with the reason, for the prompt to say so.
import { join } from 'node:path';
import type { ImageBlock } from '../core/content.ts';
import type { Logger } from '../logger.ts';
import { DECODERS, fitImage, ImageFault } from './fit-image.ts';
import { readConfined } from './read-confined.ts';

export interface LoadedImages {
  /** In the order of the names; the same file, or the same image, once. */
  blocks: ImageBlock[];
  missing: { path: string; reason: string }[];
}

export interface ImageLoaderOptions {
  dataDir: string;
  /**
   * Absolute folders, in addition to the workspace and the folder for media in the data directory.
   */
  roots: readonly string[];
  logger: Logger;
}

/** The most images of one prompt. */
const IMAGES_MAX = 10;
/** The most of one file that is read. */
const FILE_BYTES_MAX = 6 * 1024 * 1024;
/** After this time, in milliseconds, no further image of a prompt is started. */
const BEGIN_MS_MAX = 15_000;

export class ImageLoader {
  readonly #options: ImageLoaderOptions;

  constructor(options: ImageLoaderOptions) {
    this.#options = options;
  }

  /** The images of these files; names are resolved as in `readConfined`. Never rejects. */
  async load(paths: readonly string[], workspaceDir: string): Promise<LoadedImages> {
    const loaded: LoadedImages = { blocks: [], missing: [] };
    const seen = new Set<string>();
    const startedAtMs = performance.now();
    for (const path of new Set(paths)) {
      const outcome = await this.#loadOne(path, {
        workspaceDir,
        isFull: loaded.blocks.length >= IMAGES_MAX,
        isLate: performance.now() - startedAtMs > BEGIN_MS_MAX,
        seen,
      });
      if (outcome === null) continue;
      if (typeof outcome === 'string') loaded.missing.push({ path, reason: outcome });
      else if (!loaded.blocks.some(({ source }) => source.data === outcome.source.data)) loaded.blocks.push(outcome);
    }
    return loaded;
  }

  /** Images that came with a message, as a model takes them. Never rejects. */
  async fit(images: readonly ImageBlock[]): Promise<LoadedImages> {
    const fitted: LoadedImages = { blocks: [], missing: [] };
    for (const [at, image] of images.entries()) {
      const path = `image ${at + 1} of the message`;
      if (fitted.blocks.length >= IMAGES_MAX) {
        fitted.missing.push({ path, reason: `more than ${IMAGES_MAX} images` });
        continue;
      }
      try {
        const { mediaType, base64 } = await DECODERS.run(() => fitImage(Buffer.from(image.source.data, 'base64')));
        fitted.blocks.push({ type: 'image', source: { type: 'base64', media_type: mediaType, data: base64 } });
      } catch (error) {
        fitted.missing.push({ path, reason: error instanceof ImageFault ? error.message : 'it cannot be read' });
      }
    }
    return fitted;
  }

  /** The block, the reason why there is none, or null for a file that was already read. */
  async #loadOne(path: string, at: { workspaceDir: string; isFull: boolean; isLate: boolean; seen: Set<string> }) {
    if (at.isFull) return `only ${IMAGES_MAX} images are shown at once`;
    if (at.isLate) return 'loading the images before it took too long';
    const { dataDir, roots, logger } = this.#options;
    try {
      return await DECODERS.run(async () => {
        const reading = await readConfined(path, {
          workspaceDir: at.workspaceDir,
          roots: [at.workspaceDir, join(dataDir, 'media'), ...roots],
          bytesMax: FILE_BYTES_MAX,
        });
        if (reading.kind === 'not-found') return 'not found in the folders for images';
        if (reading.kind === 'too-large') return `larger than ${FILE_BYTES_MAX / 1024 / 1024} MiB`;
        if (at.seen.has(reading.realPath)) return null;
        at.seen.add(reading.realPath);
        const { mediaType, base64 } = await fitImage(reading.bytes);
        return { type: 'image', source: { type: 'base64', media_type: mediaType, data: base64 } } satisfies ImageBlock;
      });
    } catch (error) {
      if (error instanceof ImageFault) return error.message;
      logger.warn({ err: error, path }, 'Image file could not be read');
      return 'cannot be read';
    }
  }
}
