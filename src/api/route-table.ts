// Every route there is. One file per noun; a path that is not here does not exist.
import type { Route } from './route.ts';
import { agentRoutes, heartbeatRoutes } from './routes/agents.ts';
import { authRoutes } from './routes/auth.ts';
import { batchRoutes } from './routes/batches.ts';
import { bulkActionRoutes } from './routes/bulk-actions.ts';
import { cronRoutes } from './routes/crons.ts';
import { deadLetterRoutes } from './routes/dead-letters.ts';
import { deliveryRoutes } from './routes/deliveries.ts';
import { entryRoutes } from './routes/entries.ts';
import { erasureRoutes } from './routes/erasure.ts';
import { eventRoutes } from './routes/events.ts';
import { idRoutes } from './routes/ids.ts';
import { keyRoutes } from './routes/keys.ts';
import { messageRoutes, waitingRoutes } from './routes/messages.ts';
import { budgetRoutes } from './routes/budgets.ts';
import { costRoutes } from './routes/costs.ts';
import { pauseRoutes, modelBlockRoutes } from './routes/pauses.ts';
import { openAiChatRoutes } from './routes/openai-chat.ts';
import { openAiResponseRoutes } from './routes/openai-responses.ts';
import { openAiBatchRoutes } from './routes/openai-batches.ts';
import { openAiFileRoutes } from './routes/openai-files.ts';
import { openAiModelRoutes } from './routes/openai-models.ts';
import { overviewRoutes, attentionRoutes } from './routes/overview.ts';
import { operationRoutes } from './routes/operations.ts';
import { providerBatchRoutes } from './routes/provider-batches.ts';
import { sessionRoutes } from './routes/sessions.ts';
import { settingsRoutes } from './routes/settings.ts';
import { subagentRoutes, familyRoutes } from './routes/subagents.ts';
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
