// Pictures in the results of tools, as a model takes them: of any tool, also of plugins and of
// servers. One that cannot be shown is left out with a note, because a provider refuses every later
// request of the conversation for it.
import type { ImageBlock, TextBlock } from '../core/content.ts';
import { isObject } from '../core/json.ts';
import { DECODERS, fitImage, ImageFault } from '../images/fit-image.ts';
import { IMAGES_MAX } from './bound-outcome.ts';
import type { ToolOutcome } from './tool.ts';

const BASE64_CHARS_MAX = 32 * 1024 * 1024;
/** After this time, in milliseconds, no further picture of a result is begun. */
const BEGIN_MS_MAX = 2_000;

/**
 * The outcome with the pictures that it has room for; what else is in it stays. Does not reject.
 */
export async function fitImages(outcome: ToolOutcome): Promise<ToolOutcome> {
  // The port's types are a promise that a plugin in plain JavaScript may break.
  const content = (outcome as Partial<ToolOutcome> | undefined)?.content;
  if (!Array.isArray(content) || !content.some((block) => readImage(block) !== null)) return outcome;
  const startedAtMs = performance.now();
  const fitted: (TextBlock | ImageBlock)[] = [];
  let images = 0;
  for (const block of content) {
    const data = readImage(block);
    if (data === null) {
      fitted.push(block);
      continue;
    }
    const isLate = (): boolean => performance.now() - startedAtMs > BEGIN_MS_MAX;
    const image = images < IMAGES_MAX ? await fitOne(data, isLate) : `only ${IMAGES_MAX} are shown at once`;
    if (typeof image !== 'string') images += 1;
    fitted.push(typeof image === 'string' ? { type: 'text', text: `[image left out: ${image}]` } : image);
  }
  return { ...outcome, content: fitted };
}

/** The bytes in base64; null: it is no picture. */
function readImage(block: unknown): string | null {
  const { type, source } = isObject(block) ? block : {};
  const { type: form, data } = isObject(source) ? source : {};
  return type === 'image' && form === 'base64' && typeof data === 'string' ? data : null;
}

async function fitOne(base64: string, isLate: () => boolean): Promise<ImageBlock | string> {
  if (base64.length > BASE64_CHARS_MAX) return `larger than ${BASE64_CHARS_MAX / 1024 / 1024} MiB`;
  try {
    const { mediaType, base64: data } = await DECODERS.run(async () => {
      if (isLate()) throw new ImageFault('loading the images before it took too long');
      return await fitImage(Buffer.from(base64, 'base64'));
    });
    return { type: 'image', source: { type: 'base64', media_type: mediaType, data } };
  } catch (error) {
    return error instanceof ImageFault ? error.message : 'it cannot be read';
  }
}
