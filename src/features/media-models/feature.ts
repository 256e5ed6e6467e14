// Models of pictures and sounds: the tools `image`, `image_generate` and `tts`, and the words of
// audio that comes with messages.
import type { Feature } from '../../kernel/features.ts';

export const mediaModels: Feature = {
  name: 'media-models',
  tools: async () => (await import('./tools.ts')).createMediaTools,
  turns: async () => (await import('./transcribe.ts')).transcriptionInTurns,
};
