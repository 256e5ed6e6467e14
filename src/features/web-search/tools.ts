// The tool exists if a provider is configured.
import { listSearchProviders } from '../../config/search-providers.ts';
import type { Service } from '../../kernel/use-cases/service.ts';
import type { Tool } from '../../tools/tool.ts';
import { createWebSearchTool } from './web-search-tool.ts';

export function createSearchTools({ config: { tools } }: Pick<Service, 'config'>): Tool[] {
  const providers = listSearchProviders(tools);
  if (providers.length === 0) return [];
  return [createWebSearchTool({ providers, timeoutSeconds: tools.search.timeoutSeconds })];
}
