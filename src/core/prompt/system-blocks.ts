// The system prompt as the provider is sent it.
import type { SystemBlock } from '../model-request.ts';
import type { SystemPrompt } from './cache-boundary.ts';

/** Two blocks: the stable one, kept in the provider's cache, and the changing one. An empty one is left out. */
export function systemBlocks({ stable, dynamic }: SystemPrompt): SystemBlock[] {
  const blocks: SystemBlock[] = [
    { type: 'text', text: stable, cache_control: { type: 'ephemeral' } },
    { type: 'text', text: dynamic },
  ];
  return blocks.filter(({ text }) => text !== '');
}
