// The `image` tool: a model that sees reads a picture of the workspace or of the web. The call is
// one as turns make them: with the same keys, limits, budgets and prices.
import { z } from 'zod';
import type { Config } from '../../config.ts';
import { joinText, type ImageBlock } from '../../core/content.ts';
import { modelOfRef } from '../../core/models.ts';
import { fitImage, ImageFault } from '../../images/fit-image.ts';
import { defineTool } from '../../tools/define-tool.ts';
import { errorOutcome, textOutcome, type Tool, type ToolCall } from '../../tools/tool.ts';
import { markOf, untrusted } from '../../tools/untrusted-result.ts';
import { WebFetchError } from '../../tools/web-fetch-request.ts';
import { paidFailure } from './call-model.ts';
import { readFileOrUrl } from './read-file-or-url.ts';

const BYTES_MAX = 20 * 1024 * 1024;
const ANSWER_TOKENS_MAX = 4096;
const TIMEOUT_MS = 180_000;

export function createImageTool(config: Config, { model }: { model: string }): Tool {
  return defineTool({
    name: 'image',
    description:
      'Analyze an image with the configured image model: a file of the workspace, or an http or https URL on the public internet.',
    summary: 'Analyze an image with the configured image model',
    input: z.strictObject({
      image: z.string().min(1).max(4096).describe('Path relative to the workspace, or a URL'),
      prompt: z.string().min(1).max(20_000).optional().describe('What to find out; default: describe the image'),
    }),
    aliases: { path: 'image', file_path: 'image', url: 'image' },
    // A second answer costs money, and changes nothing.
    isIdempotent: true,
    isReadOnly: false,
    timeoutMs: TIMEOUT_MS,
    async run({ image, prompt = 'Describe the image.' }, call) {
      try {
        const block = await loadImage(config, image, call);
        const answer = await call.models.ask({
          purpose: 'image',
          request: {
            ...modelOfRef(model),
            maxTokens: ANSWER_TOKENS_MAX,
            system: [],
            tools: [],
            messages: [{ role: 'user', content: [block, { type: 'text', text: prompt }] }],
            isOneOff: true,
          },
          signal: call.signal,
        });
        return textOutcome(untrusted('Image analysis', joinText(answer.content).trim() || '(no text)', markOf(call)));
      } catch (error) {
        call.signal.throwIfAborted();
        if (error instanceof ImageFault || error instanceof WebFetchError)
          return errorOutcome(`image: image: ${error.message}`);
        return paidFailure('image', error, { mayRepeat: true });
      }
    },
  });
}

async function loadImage(config: Config, image: string, call: ToolCall): Promise<ImageBlock> {
  const { mediaType, base64 } = await fitImage(await readFileOrUrl(config, image, { ...call, bytesMax: BYTES_MAX }));
  return { type: 'image', source: { type: 'base64', media_type: mediaType, data: base64 } };
}
