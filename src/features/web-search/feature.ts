// Searching the web: the tool `web_search`, which asks the providers that are configured.
import type { Feature } from '../../kernel/features.ts';

export const webSearch: Feature = {
  name: 'web-search',
  tools: async () => (await import('./tools.ts')).createSearchTools,
};
