// The names of spans and attributes: OpenTelemetry's conventions for generative AI, which are still
// in development, and Holdfast's own (docs/telemetry.md). Only this file knows them, so that
// another version of the conventions is one change.

export const SCHEMA_URL = 'https://opentelemetry.io/schemas/gen-ai/1.42.0';

/** `gen_ai.operation.name`, and the beginning of the names of its spans. */
export const OPERATIONS = {
  agent: 'invoke_agent',
  chat: 'chat',
  tool: 'execute_tool',
  workflow: 'invoke_workflow',
} as const;

export const SPAN_NAMES = {
  accept: 'holdfast.accept',
  queue: 'holdfast.queue',
  gather: 'holdfast.gather',
  lock: 'holdfast.lock',
  rate: 'holdfast.rate',
  providerBatch: 'holdfast.provider_batch',
  assemble: 'holdfast.assemble',
  compact: 'holdfast.compact',
  deliver: 'holdfast.deliver',
} as const;

export const EVENT_NAMES = { attemptEnded: 'holdfast.attempt_ended' } as const;

/** Why a model stopped, in the words of messages; those that are not here stay as they are. */
export const FINISH_REASONS: Readonly<Record<string, string>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  tool_use: 'tool_call',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  refusal: 'content_filter',
  sensitive: 'content_filter',
};

/** Stands before the key of a tag. */
export const TAG_PREFIX = 'holdfast.tag.';

export const ATTRIBUTES = {
  operation: 'gen_ai.operation.name',
  provider: 'gen_ai.provider.name',
  agentId: 'gen_ai.agent.id',
  agentName: 'gen_ai.agent.name',
  conversationId: 'gen_ai.conversation.id',
  workflowName: 'gen_ai.workflow.name',
  requestModel: 'gen_ai.request.model',
  responseId: 'gen_ai.response.id',
  responseModel: 'gen_ai.response.model',
  finishReasons: 'gen_ai.response.finish_reasons',
  timeToFirstChunk: 'gen_ai.response.time_to_first_chunk',
  inputTokens: 'gen_ai.usage.input_tokens',
  outputTokens: 'gen_ai.usage.output_tokens',
  cacheReadTokens: 'gen_ai.usage.cache_read.input_tokens',
  cacheWriteTokens: 'gen_ai.usage.cache_creation.input_tokens',
  toolName: 'gen_ai.tool.name',
  toolCallId: 'gen_ai.tool.call.id',
  toolType: 'gen_ai.tool.type',
  inputMessages: 'gen_ai.input.messages',
  outputMessages: 'gen_ai.output.messages',
  systemInstructions: 'gen_ai.system_instructions',
  errorType: 'error.type',
  serverAddress: 'server.address',
  serverPort: 'server.port',
  httpRoute: 'http.route',
  httpStatus: 'http.response.status_code',
  messageId: 'holdfast.message.id',
  messageKind: 'holdfast.message.kind',
  disposition: 'holdfast.disposition',
  turnId: 'holdfast.turn.id',
  turnKind: 'holdfast.turn.kind',
  turnLane: 'holdfast.turn.lane',
  turnStatus: 'holdfast.turn.status',
  turnAttempt: 'holdfast.turn.attempt',
  parentTurnId: 'holdfast.parent.turn.id',
  batchId: 'holdfast.batch.id',
  batchOutcome: 'holdfast.batch.outcome',
  batchItems: 'holdfast.batch.items',
  cronId: 'holdfast.cron.id',
  costUsd: 'holdfast.cost_usd',
  waitReason: 'holdfast.wait.reason',
  worker: 'holdfast.worker',
  attempt: 'holdfast.attempt',
  attemptEnd: 'holdfast.attempt.how',
  callNumber: 'holdfast.call.n',
  callPurpose: 'holdfast.call.purpose',
  callTier: 'holdfast.call.tier',
  callCostUsd: 'holdfast.call.cost_usd',
  toolRuns: 'holdfast.tool.runs',
  toolOutcome: 'holdfast.tool.outcome',
  compactionReason: 'holdfast.compaction.reason',
  tokensBefore: 'holdfast.compaction.tokens_before',
  tokensAfter: 'holdfast.compaction.tokens_after',
  deliveryId: 'holdfast.delivery.id',
  deliveryStatus: 'holdfast.delivery.status',
  deliveryAttempts: 'holdfast.delivery.attempts',
  channel: 'holdfast.channel',
  spansDropped: 'holdfast.spans.dropped',
} as const;
