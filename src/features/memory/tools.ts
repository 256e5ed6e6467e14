// The tools of memory search, over the index in the database.
import type { Service } from '../../kernel/use-cases/service.ts';
import type { Tool } from '../../tools/tool.ts';
import { memoryGetTool } from './memory-get-tool.ts';
import { createMemorySearchTool } from './memory-search-tool.ts';
import { indexMemory, searchMemory } from './store.ts';

export function createMemoryTools({ database }: Pick<Service, 'database'>): Tool[] {
  const index = {
    search: (search: Parameters<typeof searchMemory>[1]) => searchMemory(database, search),
    add: (addition: Parameters<typeof indexMemory>[1]) => indexMemory(database, addition),
  };
  return [createMemorySearchTool(index), memoryGetTool];
}
