// The API's context over the use cases of its process.
import type { ApiContext } from './context.ts';

export type ContextParts = Omit<ApiContext, 'config' | 'views' | 'outages'>;

/** Makes it. */
export function createApiContext(parts: ContextParts): ApiContext {
  const { config, views, database } = parts.service;
  return { ...parts, config, views, outages: database.outages };
}
