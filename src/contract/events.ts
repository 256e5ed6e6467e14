// Live events: their types, which a filter can name, and the data of each.
import { z } from 'zod';
import { PRICE_TIERS } from '../core/prices/call-cost.ts';
import { BATCH_OUTCOMES, HOP_VIAS, PAUSE_REASONS } from '../core/batch/batch.ts';
import { BULK_STATUSES } from '../core/bulk/bulk-action.ts';
import { BUDGET_PERIODS } from '../core/budget/budget.ts';
import { MESSAGE_STATUSES, TURN_STATUSES } from '../core/statuses.ts';
import { costFields, costOf } from './costs.ts';
import { fault } from './faults.ts';
import { usage } from './views.ts';

const uuid = z.uuid();
const count = z.int().min(0);
const disposition = z.string();

/** The dimensions by which roll-ups of usage are grouped. */
const rolledUp = { agentId: z.string(), kind: z.string(), lane: z.string(), model: z.string().nullable() };

const progressCounts = z.strictObject({
  total: count,
  inFlight: count,
  answered: count,
  silent: count,
  failed: count,
  cancelled: count,
  expired: count,
});

/** The fields of each type in addition to type, sessionKey, turnId and at. */
const budgetFields = {
  budgetId: uuid,
  scope: z.string(),
  per: z.enum(BUDGET_PERIODS),
  limitMicros: count,
  spentMicros: count,
  reservedMicros: count,
};

const workerFields = {
  workerId: uuid,
  name: z.string(),
  host: z.string(),
  pid: count,
  roles: z.array(z.string()),
  version: z.string(),
};

const FIELDS = {
  'message.accepted': { messageId: uuid, seq: count, kind: z.string(), disposition },
  'message.settled': { messageId: uuid, status: z.enum(MESSAGE_STATUSES) },
  'turn.started': { kind: z.string(), messageIds: z.array(uuid), attempt: count },
  'turn.parked': { code: z.string(), dueInMs: count },
  'turn.resumed': { code: z.string().nullable(), waitedMs: z.number() },
  'turn.ended': {
    status: z.enum(TURN_STATUSES),
    reply: z.string().nullable(),
    error: fault,
    ...costFields,
    ...rolledUp,
  },
  'model.started': { call: count, callId: z.string() },
  'model.delta': { call: count, text: z.string() },
  'model.reasoning': { call: count, text: z.string() },
  'model.ended': {
    call: count,
    callId: z.string(),
    status: z.enum(['ok', 'failed', 'aborted']),
    stopReason: z.string().nullish(),
    usage,
    cacheWrite1hTokens: count,
    ...costOf,
    isEstimated: z.boolean(),
    simulated: z.boolean(),
    tier: z.enum(PRICE_TIERS),
    ...rolledUp,
    firstChunkMs: z.number().nullable(),
    error: fault.optional(),
    retryInMs: count.optional(),
  },
  'model.blocked': { provider: z.string().nullable(), code: z.string(), text: z.string() },
  'tool.started': { callId: z.string(), name: z.string(), step: count },
  'tool.ended': { callId: z.string(), name: z.string(), status: z.string(), isError: z.boolean() },
  'steer.injected': { messageIds: z.array(uuid) },
  'compaction.started': { compactionId: uuid, reason: z.string(), attempt: count, tokensBefore: count },
  'compaction.ended': {
    compactionId: uuid,
    status: z.string(),
    tokensBefore: count.nullable(),
    tokensAfter: count.nullable(),
    error: fault,
  },
  'announce.queued': {
    runId: uuid,
    childSessionKey: z.string(),
    messageId: uuid,
    status: z.string(),
    disposition,
  },
  'delivery.sent': { deliveryId: uuid, attempt: count, status: z.string(), httpStatus: z.int().nullish() },
  'delivery.failed': { deliveryId: uuid, attempt: count, status: z.string(), httpStatus: z.int().nullish() },
  'cron.fired': { cronId: uuid, name: z.string(), scheduledFor: z.string(), messageId: uuid.nullable() },
  'heartbeat.fired': {
    heartbeatId: uuid,
    agentId: z.string(),
    trigger: z.enum(['interval', 'manual']),
    scheduledFor: z.string(),
    messageId: uuid.nullable(),
  },
  'batch.created': { batchId: uuid, name: z.string().nullable(), items: count },
  'batch.progress': { batchId: uuid, counts: progressCounts },
  'batch.hop': {
    batchId: uuid,
    n: count,
    via: z.enum(HOP_VIAS),
    requests: count,
    cacheHitRate: z.number().nullable(),
    costMicros: count.nullable(),
    liveMicros: count.nullable(),
  },
  'batch.paused': { batchId: uuid, reason: z.enum(PAUSE_REASONS), detail: z.string().nullable() },
  'batch.resumed': { batchId: uuid },
  'batch.ended': { batchId: uuid, outcome: z.enum(BATCH_OUTCOMES) },
  'budget.warned': budgetFields,
  'budget.reached': budgetFields,
  'worker.started': { ...workerFields, isBack: z.boolean() },
  'worker.lost': { ...workerFields, seenAt: z.string() },
  'worker.drained': workerFields,
  'bulk.progress': {
    bulkActionId: uuid,
    status: z.enum(BULK_STATUSES),
    total: count,
    done: count,
    skipped: count,
    failed: count,
  },
  'session.reset': { transcriptNo: count, previousTranscriptNo: count, reason: z.string() },
} as const satisfies Record<string, z.ZodRawShape>;

export type EventType = keyof typeof FIELDS;

/** The types of events, as values. */
export const EVENT_TYPES = Object.keys(FIELDS) as EventType[];

const variants = EVENT_TYPES.map((type) =>
  z.looseObject({
    type: z.literal(type),
    sessionKey: z.string().nullable(),
    turnId: uuid.nullable(),
    at: z.string(),
    ...FIELDS[type],
  }),
);

/** Sent first, without an id, when events after the client's last id were deleted. No filter chooses it: every stream may begin with it. */
const reset = z.looseObject({ type: z.literal('reset'), sessionKey: z.null(), turnId: z.null(), at: z.string() });

/** The `data` of an event. Further fields may be there. */
export const liveEvent = z.union([reset, ...(variants as [(typeof variants)[number], ...(typeof variants)[number][]])]);
