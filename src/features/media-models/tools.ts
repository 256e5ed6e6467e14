// The tools whose models are configured.
import type { Service } from '../../kernel/use-cases/service.ts';
import type { Tool } from '../../tools/tool.ts';
import { createImageGenerateTool } from './image-generate-tool.ts';
import { createImageTool } from './image-tool.ts';
import { createTtsTool } from './tts-tool.ts';

export function createMediaTools({ config }: Pick<Service, 'config'>): Tool[] {
  const { image, imageGenerate, tts } = config.tools;
  return [
    ...(image === undefined ? [] : [createImageTool(config, image)]),
    ...(imageGenerate === undefined ? [] : [createImageGenerateTool(config, imageGenerate)]),
    ...(tts === undefined ? [] : [createTtsTool(config, tts)]),
  ];
}
