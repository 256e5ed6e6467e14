// The answers of the API, for the document and for the tests, which check every answer against them.
import { z } from 'zod';
import { shownTags } from './input-options.ts';
import { HARNESS_REASONS } from '../core/harness-selection.ts';
import { PRICE_TIERS } from '../core/prices/call-cost.ts';
import { REASONING_LEVELS } from '../core/reasoning.ts';
import { LANES, QUEUE_DROPS, QUEUE_MODES, THINKING_LEVELS } from '../config/choices.ts';
import { DELIVERY_STATUSES, MESSAGE_STATUSES, TURN_STATUSES } from '../core/statuses.ts';
import { TURN_KINDS } from '../core/turn-kind.ts';
import type { Why } from '../core/waiting/why.ts';
import { costFields, costOf } from './costs.ts';
import { fault } from './faults.ts';

export const MESSAGE_KINDS = [
  'message',
  'announcement',
  'cron',
  'heartbeat',
  'followup',
  'batch',
  'compaction',
] as const;
const SESSION_KINDS = ['main', 'direct', 'group', 'subagent', 'cron', 'batch', 'heartbeat', 'other'] as const;

const uuid = z.uuid();
const iso = z.iso.datetime();
const count = z.int().min(0);

export const why = z.strictObject({
  code: z.string(),
  text: z.string(),
  since: iso,
  until: iso.nullable(),
  by: z.string().nullable(),
}) satisfies z.ZodType<Why>;

export const message = z.strictObject({
  id: uuid,
  sessionKey: z.string(),
  seq: count,
  kind: z.enum(MESSAGE_KINDS),
  text: z.string(),
  tags: shownTags,
  status: z.enum(MESSAGE_STATUSES),
  turnId: uuid.nullable(),
  retryOf: uuid.nullable(),
  reply: z.string().nullable(),
  error: fault,
  why: why.nullable(),
  receivedAt: iso,
  settledAt: iso.nullable(),
});
export type MessageView = z.output<typeof message>;

export const session = z.strictObject({
  id: uuid,
  key: z.string(),
  agentId: z.string(),
  kind: z.enum(SESSION_KINDS),
  status: z.enum(['idle', 'waiting', 'running']),
  parentKey: z.string().nullable(),
  label: z.string().nullable(),
  channel: z.string().nullable(),
  queueMode: z.enum(QUEUE_MODES).nullable(),
  queueDebounceMs: count.nullable(),
  queueCap: count.nullable(),
  queueDrop: z.enum(QUEUE_DROPS).nullable(),
  model: z.string().nullable(),
  thinking: z.string().nullable(),
  reasoning: z.string().nullable(),
  epoch: count,
  turnId: uuid.nullable(),
  waitingMessages: count,
  systemEvents: count,
  tokens: z.strictObject({ input: count, output: count, context: count }),
  ...costFields,
  createdAt: iso,
  updatedAt: iso,
});
export type SessionFacts = z.output<typeof session>;

/** A session as its own routes show it. */
export const sessionDetails = session.extend({
  lock: z.strictObject({ holder: z.string(), until: iso }).nullable(),
  why: why.nullable().exactOptional(),
  contextWindow: count,
  apiQueueMode: z.enum(QUEUE_MODES),
});
export type SessionDetails = z.output<typeof sessionDetails>;

export const sessionPatch = z.strictObject({
  queueMode: z.enum(QUEUE_MODES).nullish(),
  queueDebounceMs: z.int().min(0).max(3_600_000).nullish(),
  queueCap: z.int().min(1).max(10_000).nullish(),
  queueDrop: z.enum(QUEUE_DROPS).nullish(),
  model: z.string().min(1).max(1000).nullish(),
  thinking: z.enum(THINKING_LEVELS).nullish(),
  reasoning: z.enum(REASONING_LEVELS).nullish(),
  label: z.string().max(1000).nullish(),
});

export const entry = z.strictObject({
  id: uuid,
  seq: count,
  parentId: uuid.nullable(),
  kind: z.enum(['prompt', 'answer', 'results', 'steer', 'summary']),
  role: z.enum(['user', 'assistant']),
  content: z
    .array(z.looseObject({ type: z.string() }))
    .describe("Content blocks in the shapes of Anthropic's Messages API: text, tool_use, tool_result, thinking, image"),
  parts: z
    .array(
      z.strictObject({
        name: z.string(),
        origin: z.string(),
        trust: z.enum(['trusted', 'untrusted']),
        start: count,
        end: count,
      }),
    )
    .nullable()
    .describe(
      'Of a prompt: what its first text was put together from, with the position of each part in the whole text, in UTF-16 units. null: not known, or no prompt',
    ),
  turnId: uuid,
  state: z.enum(['active', 'pruned', 'compacted', 'hidden']),
  createdAt: iso,
});
export type EntryView = z.output<typeof entry>;
export type EntryBlock = EntryView['content'][number];

export const usage = z.strictObject({
  inputTokens: count,
  outputTokens: count,
  cacheReadTokens: count,
  cacheWriteTokens: count,
});
export type TokenUsage = z.output<typeof usage>;

const callNotes = z.strictObject({
  requestBytes: count,
  responseBytes: count,
  firstByteMs: count.nullable(),
  durationMs: count,
  rateWaitMs: count.optional(),
  repairs: z.array(z.strictObject({ step: z.string(), callId: z.string().nullable(), was: z.string() })).optional(),
  way: z.string().exactOptional(),
});

const modelCall = z.strictObject({
  n: count,
  purpose: z.enum(['answer', 'compaction']),
  status: z.enum(['ok', 'failed', 'aborted']),
  stopReason: z.string().nullable(),
  error: fault,
  model: z.string().nullable(),
  usage,
  cacheWrite1hTokens: count,
  ...costOf,
  priceVersion: z.string().nullable(),
  tier: z.enum(PRICE_TIERS),
  isEstimated: z.boolean(),
  simulated: z.boolean(),
  startedAt: iso,
  firstChunkAt: iso.nullable(),
  endedAt: iso,
  notes: callNotes.nullable(),
});
export type ModelCallView = z.output<typeof modelCall>;

export const toolCall = z.strictObject({
  callId: z.string(),
  name: z.string(),
  status: z.enum(['intent', 'done', 'failed', 'unknown', 'skipped']),
  isIdempotent: z.boolean(),
  runs: count,
  startedAt: iso,
  endedAt: iso.nullable(),
});
export type ToolCallView = z.output<typeof toolCall>;

export const step = z.strictObject({
  n: count,
  calls: z.array(modelCall),
  tools: z.array(toolCall),
});
export type StepView = z.output<typeof step>;

export const span = z.strictObject({
  kind: z.enum([
    'accept',
    'gather',
    'lock.wait',
    'queue.wait',
    'prompt.assemble',
    'rate.wait',
    'provider.wait',
    'worker.lost',
    'model.call',
    'compaction',
    'tool.exec',
    'deliver',
    'announce',
  ]),
  name: z.string(),
  n: count.nullable(),
  startedAt: iso,
  endedAt: iso.nullable(),
});
export type SpanView = z.output<typeof span>;

const attempt = z.strictObject({
  attempt: count,
  worker: z.string(),
  epoch: count,
  claimedAt: iso,
  endedAt: iso.nullable(),
  how: z.enum(['lost', 'released', 'parked']).nullable(),
});
export type AttemptView = z.output<typeof attempt>;

export const turn = z.strictObject({
  id: uuid,
  sessionKey: z.string(),
  kind: z.enum(TURN_KINDS),
  lane: z.enum(LANES),
  status: z.enum(TURN_STATUSES),
  attempt: count,
  attempts: z.array(attempt).exactOptional(),
  previousTurnId: uuid.nullable().exactOptional(),
  nextTurnId: uuid.nullable().exactOptional(),
  epoch: count,
  worker: z.string(),
  model: z.string(),
  askedModel: z.string().nullable(),
  tags: shownTags,
  harness: z.strictObject({ id: z.string(), reason: z.enum(HARNESS_REASONS) }).nullable(),
  reply: z.string().nullable(),
  error: fault,
  why: why.nullable(),
  usage,
  ...costFields,
  queuedAt: iso,
  claimedAt: iso,
  startedAt: iso,
  endedAt: iso.nullable(),
  stepCount: count,
  steps: z.array(step),
  spans: z.array(span),
});
export type TurnView = z.output<typeof turn>;
export type TurnStatus = TurnView['status'];

/** A turn of a list: with its last steps, or without any. */
export const listedTurn = turn.extend({
  steps: turn.shape.steps.exactOptional(),
  spans: turn.shape.spans.exactOptional(),
});
export type ListedTurn = z.output<typeof listedTurn>;

export const systemEvent = z.strictObject({
  id: uuid,
  sessionKey: z.string(),
  text: z.string(),
  contextKey: z.string().nullable(),
  trusted: z.boolean(),
  state: z.enum(['queued', 'consumed', 'dropped']),
  turnId: uuid.nullable(),
  dropReason: z.string().nullable(),
  createdAt: iso,
  settledAt: iso.nullable(),
});
export type SystemEventView = z.output<typeof systemEvent>;

export const delivery = z.strictObject({
  id: uuid,
  sessionKey: z.string(),
  turnId: uuid.nullable(),
  seq: count,
  channel: z.string(),
  target: z.looseObject({ url: z.string().optional() }),
  payload: z.looseObject({
    type: z.string().optional(),
    sessionKey: z.string().optional(),
    turnId: uuid.nullish(),
    messageIds: z.array(uuid).optional(),
    text: z.string().optional(),
  }),
  status: z.enum(DELIVERY_STATUSES),
  attempts: count,
  dueAt: iso,
  expiresAt: iso,
  lastStatus: z.int().nullable(),
  lastError: z.string().nullable(),
  createdAt: iso,
  settledAt: iso.nullable(),
});
export type DeliveryView = z.output<typeof delivery>;
