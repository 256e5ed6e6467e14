// The API's context over the use cases of its process.
import type { ApiContext } from './context.ts';

export type ContextParts = Omit<ApiContext, 'config' | 'views' | 'reads' | 'outages'>;

/** Makes it. */
export function createApiContext(parts: ContextParts): ApiContext {
  const { config, views, reads, database } = parts.service;
  return { ...parts, config, views, reads, outages: database.outages };
}
