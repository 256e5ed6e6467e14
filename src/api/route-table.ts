// Every route there is. One file per noun; a path that is not here does not exist.
import type { Route } from './route.ts';
import { agentRoutes, heartbeatRoutes } from './routes/agents.ts';
import { authRoutes } from '../features/keys/auth-routes.ts';
import { batchRoutes } from '../features/batches/routes.ts';
import { bulkActionRoutes } from '../features/bulk-actions/routes.ts';
import { cronRoutes } from '../features/crons/routes.ts';
import { deadLetterRoutes } from '../features/dead-letters/routes.ts';
import { deliveryRoutes } from '../features/deliveries/routes.ts';
import { entryRoutes } from './routes/entries.ts';
import { erasureRoutes } from '../features/erasure/routes.ts';
import { eventRoutes } from './routes/events.ts';
import { idRoutes } from './routes/ids.ts';
import { keyRoutes } from '../features/keys/routes.ts';
import { messageRoutes, waitingRoutes } from './routes/messages.ts';
import { budgetRoutes } from '../features/budgets/routes.ts';
import { costRoutes } from '../features/costs/routes.ts';
import { pauseRoutes, modelBlockRoutes } from './routes/pauses.ts';
import { openAiChatRoutes } from '../features/openai/routes/chat.ts';
import { openAiResponseRoutes } from '../features/openai/routes/responses.ts';
import { openAiBatchRoutes } from '../features/openai/routes/batches.ts';
import { openAiFileRoutes } from '../features/openai/routes/files.ts';
import { openAiModelRoutes } from '../features/openai/routes/models.ts';
import { overviewRoutes, attentionRoutes } from '../features/overview/routes.ts';
import { operationRoutes } from './routes/operations.ts';
import { providerBatchRoutes } from '../features/provider-batches/routes.ts';
import { sessionRoutes } from './routes/sessions.ts';
import { settingsRoutes } from './routes/settings.ts';
import { subagentRoutes, familyRoutes } from '../features/subagents/routes.ts';
import { systemEventRoutes } from './routes/system-events.ts';
import { transcriptRoutes } from './routes/transcripts.ts';
import { turnRoutes } from './routes/turns.ts';
import { workerRoutes } from './routes/workers.ts';

export const ROUTES: Route[] = [
  ...messageRoutes,
  ...sessionRoutes,
  ...erasureRoutes,
  ...entryRoutes,
  ...familyRoutes,
  ...transcriptRoutes,
  ...subagentRoutes,
  ...systemEventRoutes,
  ...turnRoutes,
  ...idRoutes,
  ...eventRoutes,
  ...batchRoutes,
  ...cronRoutes,
  ...heartbeatRoutes,
  ...deliveryRoutes,
  ...deadLetterRoutes,
  ...bulkActionRoutes,
  ...costRoutes,
  ...budgetRoutes,
  ...providerBatchRoutes,
  ...authRoutes,
  ...keyRoutes,
  ...waitingRoutes,
  ...workerRoutes,
  ...pauseRoutes,
  ...modelBlockRoutes,
  ...agentRoutes,
  ...settingsRoutes,
  ...overviewRoutes,
  ...attentionRoutes,
  ...openAiChatRoutes,
  ...openAiResponseRoutes,
  ...openAiModelRoutes,
  ...openAiFileRoutes,
  ...openAiBatchRoutes,
  ...operationRoutes,
];
