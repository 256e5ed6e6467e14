// Models of pictures and sounds: the tools `image`, `image_generate` and `tts`.
import type { Feature } from '../../kernel/features.ts';

export const mediaModels: Feature = {
  name: 'media-models',
  tools: async () => (await import('./tools.ts')).createMediaTools,
};
