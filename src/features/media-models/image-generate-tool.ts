// The `image_generate` tool: has a picture made and writes it into the workspace. Each picture is
// paid, so a call is an effect: it is never made again by itself, and one whose answer is lost has
// an unknown outcome (G11).
import { z } from 'zod';
import type { Config } from '../../config.ts';
import { given } from '../../core/json.ts';
import type { ImageBlock, TextBlock } from '../../core/content.ts';
import { fitImage, sniffFormat } from '../../images/fit-image.ts';
import { defineTool } from '../../tools/define-tool.ts';
import { errorOutcome, type Tool, type ToolCall } from '../../tools/tool.ts';
import { markOf } from '../../tools/untrusted-result.ts';
import { WebFetchError } from '../../tools/web-fetch-request.ts';
import { answerOf, paidFailure, requestOf, sendMedia } from './call-model.ts';
import { fetchFile, IS_URL } from './read-file-or-url.ts';
import { fittingPath, planFile, writeFile } from './write-file.ts';
import { unitCost } from './rules.ts';

const PROMPT_CHARS_MAX = 32_000;
/** About what a picture of the highest quality has. */
const PICTURE_TOKENS_MAX = 8_000;
const PICTURE_BYTES_MAX = 32 * 1024 * 1024;
const TIMEOUT_MS = 300_000;

type Settings = NonNullable<Config['tools']['imageGenerate']>;

export function createImageGenerateTool(config: Config, settings: Settings): Tool {
  const { model, size, options } = settings;
  return defineTool({
    name: 'image_generate',
    description:
      'Generate an image from a description with the configured model, and write it into the workspace. Each call is paid. Returns the path and the image.',
    summary: 'Generate an image into the workspace',
    input: z.strictObject({
      prompt: z.string().min(1).max(PROMPT_CHARS_MAX).describe('The description of the image'),
      file_path: z.string().min(1).max(1000).optional().describe('Path of the new file, relative to the workspace'),
    }),
    aliases: { path: 'file_path' },
    isIdempotent: false,
    isReadOnly: false,
    timeoutMs: TIMEOUT_MS,
    async run({ prompt, file_path: file }, call) {
      const plan = await planFile(call, file);
      if ('fault' in plan) return errorOutcome(`image_generate: file_path: ${plan.fault}`);
      try {
        const paid = {
          purpose: 'image_generate' as const,
          request: requestOf(model, prompt, PICTURE_TOKENS_MAX),
          unitMicros: unitCost(settings, 'usdPerImage', 1),
          signal: call.signal,
        };
        const answered = await call.models.pay(paid, async (way) => {
          const asked = { prompt, n: 1, size: size as `${number}x${number}` | undefined, options };
          const none = { aspectRatio: undefined, seed: undefined, files: undefined, mask: undefined };
          const answer = await sendMedia(config, 'image', way, { ...none, ...asked });
          const [first] = answer.images as (string | Uint8Array | undefined)[];
          return answerOf(first ?? '', { ...answer, ...given({ usage: answer.usage }) });
        });
        const picture = await readPicture(config, answered, call);
        const format = picture.length > PICTURE_BYTES_MAX ? null : sniffFormat(picture);
        if (format === null) return errorOutcome('image_generate: the model has made no picture.');
        const mark = markOf(call);
        const path = await fittingPath(call, file ?? `images/generated-${mark}`, { format, mark });
        const written = await writeFile(call, path, picture);
        if (written !== null) return errorOutcome(`image_generate: the picture was made and paid, but ${written}`);
        const said: TextBlock = { type: 'text', text: `wrote ${picture.length} bytes to ${path} (image/${format})` };
        return { content: [said, ...(await shown(picture))], isError: false };
      } catch (error) {
        if (error instanceof WebFetchError)
          return errorOutcome(`image_generate: the picture was made and paid, but not fetched: ${error.message}`);
        return paidFailure('image_generate', error, { mayRepeat: false });
      }
    },
  });
}

/**
 * A picture as models answer it: its bytes, its base64, also in a `data:` address, or the address
 * where it can be fetched.
 */
async function readPicture(config: Config, answered: string | Uint8Array, call: ToolCall): Promise<Buffer> {
  if (typeof answered !== 'string') return Buffer.from(answered);
  if (IS_URL.test(answered)) return await fetchFile(config, answered, { ...call, bytesMax: PICTURE_BYTES_MAX });
  return Buffer.from(answered.replace(/^data:[^,]{0,200},/i, ''), 'base64');
}

/** The picture as a model takes it; none if it cannot be decoded. */
async function shown(picture: Buffer): Promise<ImageBlock[]> {
  try {
    const { mediaType, base64 } = await fitImage(picture);
    return [{ type: 'image', source: { type: 'base64', media_type: mediaType, data: base64 } }];
  } catch {
    return [];
  }
}
