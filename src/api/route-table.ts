// Every route there is: the kernel's, one file per noun, and those of the features of the process.
// A path that is not here does not exist.
import type { Feature } from '../kernel/features.ts';
import type { CreateApiPart } from './part.ts';
import type { Route } from './route.ts';
import { entryRoutes } from './routes/entries.ts';
import { eventRoutes } from './routes/events.ts';
import { idRoutes } from './routes/ids.ts';
import { messageRoutes, waitingRoutes } from './routes/messages.ts';
import { pauseRoutes, modelBlockRoutes } from './routes/pauses.ts';
import { operationRoutes } from './routes/operations.ts';
import { sessionExportRoutes } from './routes/session-export.ts';
import { sessionRoutes } from './routes/sessions.ts';
import { systemEventRoutes } from './routes/system-events.ts';
import { transcriptRoutes } from './routes/transcripts.ts';
import { turnRoutes } from './routes/turns.ts';
import { workerRoutes } from './routes/workers.ts';

const KERNEL_ROUTES: readonly Route[] = [
  ...messageRoutes,
  ...sessionRoutes,
  ...sessionExportRoutes,
  ...entryRoutes,
  ...transcriptRoutes,
  ...systemEventRoutes,
  ...turnRoutes,
  ...idRoutes,
  ...eventRoutes,
  ...waitingRoutes,
  ...workerRoutes,
  ...pauseRoutes,
  ...modelBlockRoutes,
  ...operationRoutes,
];

/** What features add to an API beside their routes. */
export async function listParts(features: readonly Pick<Feature, 'api'>[]): Promise<readonly CreateApiPart[]> {
  const files = await Promise.all(features.flatMap(({ api }) => api?.() ?? []));
  return files.map(({ createApiPart }) => createApiPart);
}

export async function listRoutes(features: readonly Pick<Feature, 'routes'>[]): Promise<readonly Route[]> {
  const files = await Promise.all(features.flatMap(({ routes = [] }) => routes.map((load) => load())));
  return [...KERNEL_ROUTES, ...files.flatMap(({ routes }) => routes)];
}
