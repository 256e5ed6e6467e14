// The features of the service. Without its line here a feature is not there, and everything else
// works as before; the checks before a model call are asked in this order.
import { deliveries } from './features/deliveries/feature.ts';
import { deadLetters } from './features/dead-letters/feature.ts';
import { subagents } from './features/subagents/feature.ts';
import { crons } from './features/crons/feature.ts';
import { heartbeats } from './features/heartbeats/feature.ts';
import { limits } from './features/limits/feature.ts';
import { budgets } from './features/budgets/feature.ts';
import { costs } from './features/costs/feature.ts';
import { batches } from './features/batches/feature.ts';
import { providerBatches } from './features/provider-batches/feature.ts';
import { openai } from './features/openai/feature.ts';
import { bulkActions } from './features/bulk-actions/feature.ts';
import { keys } from './features/keys/feature.ts';
import { tokens } from './features/tokens/feature.ts';
import { erasure } from './features/erasure/feature.ts';
import { retention } from './features/retention/feature.ts';
import { overview } from './features/overview/feature.ts';
import { backup } from './features/backup/feature.ts';
import { memory } from './features/memory/feature.ts';
import { search } from './features/search/feature.ts';
import { traces } from './features/traces/feature.ts';
import { alerts } from './features/alerts/feature.ts';
import { scores } from './features/scores/feature.ts';
import { evaluations } from './features/evaluations/feature.ts';
import { tries } from './features/tries/feature.ts';
import { approvals } from './features/approvals/feature.ts';
import { catalogue } from './features/catalogue/feature.ts';
import { mcp } from './features/mcp/feature.ts';
import { mcpServer } from './features/mcp-server/feature.ts';
import { externalTools } from './features/external-tools/feature.ts';
import { sandbox } from './features/sandbox/feature.ts';
import { canvas } from './features/canvas/feature.ts';
import { gateway } from './features/gateway/feature.ts';
import { webSearch } from './features/web-search/feature.ts';
import { mediaModels } from './features/media-models/feature.ts';
import { channels } from './features/channels/feature.ts';
import { agents } from './features/agents/feature.ts';
import type { Feature } from './kernel/features.ts';

export const FEATURES: readonly Feature[] = [
  deliveries,
  deadLetters,
  subagents,
  crons,
  heartbeats,
  limits,
  budgets,
  costs,
  batches,
  providerBatches,
  openai,
  bulkActions,
  keys,
  tokens,
  erasure,
  retention,
  overview,
  backup,
  memory,
  search,
  traces,
  alerts,
  scores,
  // Before tries: the first that has stand-ins for the calls of a turn decides.
  evaluations,
  tries,
  approvals,
  catalogue,
  mcp,
  mcpServer,
  externalTools,
  sandbox,
  gateway,
  webSearch,
  mediaModels,
  canvas,
  channels,
  agents,
];
