// Live events: their types, which a filter can name, and the data of each.
import { z } from 'zod';
import { PRICE_TIERS } from '../core/prices.ts';
import { BATCH_OUTCOMES, PAUSE_REASONS } from '../features/batches/rules/batch.ts';
import { BULK_STATUSES } from '../features/bulk-actions/rules.ts';
import { MESSAGE_STATUSES, TURN_STATUSES } from '../core/statuses.ts';
import { counts, hop } from '../features/batches/contract.ts';
import { budget } from './budgets.ts';
import { costFields, costOf } from './costs.ts';
import { fault } from './faults.ts';
import { usage } from './views.ts';
import { score } from './scores.ts';
import { worker } from './workers.ts';
import { text, flag, amount, uuid, count } from './fields.ts';
import { guardedName } from './guarded.ts';

const messageId = uuid.describe('The id of the message');
const batchId = uuid.describe('The id of the batch');
const compactionId = uuid.describe('The id of the compaction');
const attempt = count.describe('The number of the attempt, counted from 1');
const call = count.describe('The number of the model call in its turn');
const callId = text.describe('The id of the call in logs and traces');
const toolCall = { callId: text.describe('The id of the tool call'), name: text.describe('The name of the tool') };
const { name, host, pid, roles, version } = worker.shape;
const { scope, per } = budget.shape;
const { total, answered, silent, failed, cancelled, expired } = counts.shape;
const { n, via, requests, cacheHitRate } = hop.shape;
const scoreFields = {
  messageId: score.shape.messageId.optional(),
  score: score.shape.score,
  value: score.shape.value,
  by: score.shape.by,
};

/** The dimensions by which roll-ups of usage are grouped. */
const rolledUp = {
  agentId: text.describe('The id of the agent'),
  kind: text.describe('What the turn answers'),
  lane: text.describe('The lane of the turn'),
  model: text.nullable().describe('The model, as provider/model; null: not known'),
};

const progressCounts = z.strictObject({
  total,
  inFlight: count.describe('Items that have started and have not ended'),
  answered,
  silent,
  failed,
  cancelled,
  expired,
});

/** The fields of each type in addition to type, sessionKey, turnId and at. */
const budgetFields = {
  budgetId: uuid.describe('The id of the budget; the cost cap of a batch has the id of the batch'),
  scope,
  per,
  limitMicros: count.describe('The limit of a window in whole micro-dollars'),
  spentMicros: count.describe('What the calls of the current window have cost, in whole micro-dollars'),
  reservedMicros: count.describe('What is reserved for calls in flight, in whole micro-dollars'),
};

const workerFields = { workerId: uuid.describe('The id of the process'), name, host, pid, roles, version };

const attempted = {
  deliveryId: uuid.describe('The id of the delivery'),
  attempt,
  status: text.describe('The state of the delivery after the attempt'),
  httpStatus: z.int().nullish().describe('The HTTP status of the answer; null or absent: there was no answer'),
};

const FIELDS = {
  'message.accepted': {
    messageId,
    seq: count.describe('Its number in the session'),
    kind: text.describe('What the message is'),
    disposition: text.describe('What happened to the message when it was accepted'),
  },
  'message.settled': { messageId, status: z.enum(MESSAGE_STATUSES).describe('How the message ended') },
  'turn.started': {
    kind: text.describe('What the turn answers'),
    messageIds: z.array(uuid).describe('The messages that it claimed'),
    attempt,
  },
  'turn.parked': {
    code: text.describe('Why the turn waits: the `why.code` of the turn'),
    dueInMs: count.describe('The time until it resumes at the latest, in milliseconds'),
  },
  'turn.resumed': {
    code: text.nullable().describe('Why the turn waited; null: not known'),
    waitedMs: z.number().describe('How long the turn was parked, in milliseconds'),
  },
  'turn.ended': {
    status: z.enum(TURN_STATUSES).describe('How the turn ended'),
    reply: text.nullable().describe('The text of the reply; null: there is none'),
    error: fault.describe('Why the turn failed; null: it did not'),
    ...costFields,
    ...rolledUp,
  },
  'model.started': { call, callId },
  'model.delta': { call, text: text.describe('A piece of the reply') },
  'model.reasoning': { call, text: text.describe("A piece of the model's thinking") },
  'model.ended': {
    call,
    callId,
    status: z.enum(['ok', 'failed', 'aborted']).describe('How the call ended'),
    stopReason: z.string().nullish().describe('Why the model stopped; null or absent: it gave no complete answer'),
    usage: usage.describe('The tokens of the call'),
    cacheWrite1hTokens: count.describe('The part of `cacheWriteTokens` that the provider keeps for an hour'),
    ...costOf,
    isEstimated: flag.describe('Whether the call was interrupted: tokens and cost are those reported until then'),
    simulated: flag.describe('Whether the scripted model answered, which costs nothing'),
    tier: z.enum(PRICE_TIERS).describe('Which prices apply: standard, or those of provider batches'),
    ...rolledUp,
    firstChunkMs: amount.describe('The milliseconds to the first part of the answer; null: there was no answer'),
    error: fault.optional().describe('Why the call failed; null or absent: it did not'),
    retryInMs: count.optional().describe('The time until it is made again, in milliseconds; absent: it is not'),
  },
  'model.blocked': {
    provider: text.nullable().describe('The provider or the model that does not answer; null: not known'),
    code: text.describe('Why it does not answer: a `why.code`'),
    text: text.describe('The same for people'),
  },
  'model.fallback': {
    from: text.describe('The model that was to be asked, as provider/model'),
    to: text.describe('The model that the turn continues with, as provider/model'),
    reason: text.describe('Why, for people: a code, what happened, and which models were skipped'),
  },
  'tool.started': { ...toolCall, step: count.describe('The number of the step in its turn, counted from 1') },
  'tool.ended': {
    ...toolCall,
    status: text.describe('How the tool call ended'),
    isError: flag.describe('Whether the tool failed'),
  },
  'canvas.presented': {
    callId: text.describe('The id of the tool call'),
    title: text.nullable().describe('What the agent calls the page; null: it has no title'),
    bytes: count.describe('The length of the page'),
  },
  'approval.requested': {
    approvalId: uuid.describe('The id of the request'),
    callId: text.describe('The id of the tool call'),
    tool: text.describe('The tool that would run'),
    expiresInMs: count.describe('The time until it is denied, in milliseconds'),
  },
  'tool.requested': {
    toolCallId: text.describe('The id of the call, for `/v1/tool-calls/{id}`'),
    callId: text.describe("The model's id of the call"),
    name: text.describe('The name of the tool'),
    expiresInMs: count.describe('The time until no result is accepted, in milliseconds'),
  },
  'approval.decided': {
    approvalId: uuid.describe('The id of the request'),
    tool: text.describe('The tool that would run'),
    status: text.describe('How it was decided, or ended otherwise'),
    decidedBy: guardedName('Who decided; null: no one did'),
  },
  'steer.injected': { messageIds: z.array(uuid).describe('The messages that joined the running turn') },
  'compaction.started': {
    compactionId,
    reason: text.describe('What requested the compaction'),
    attempt,
    tokensBefore: count.describe('Estimated tokens of the context before the compaction'),
  },
  'compaction.ended': {
    compactionId,
    status: text.describe('How the compaction ended'),
    tokensBefore: count.nullable().describe('Estimated tokens of the context before the compaction; null: not known'),
    tokensAfter: count.nullable().describe('Estimated tokens of the context after it; null: it did not succeed'),
    error: fault.describe('Why the compaction failed; null: it did not'),
  },
  'announce.queued': {
    runId: uuid.describe('The id of the run of the subagent'),
    childSessionKey: text.describe('The session key of the subagent'),
    messageId: uuid.describe('The id of the announcement'),
    status: text.describe('How the run ended'),
    disposition: text.describe('`steered`: it joins the running turn; `queued`: it waits for the next turn'),
  },
  'delivery.sent': attempted,
  'delivery.failed': attempted,
  'delivery.unknown': attempted,
  'cron.fired': {
    cronId: uuid.describe('The id of the cron'),
    name: text.describe('The name of the cron'),
    scheduledFor: text.describe('The slot that it is for'),
    messageId: uuid.nullable().describe('The message that it queued; null: none'),
  },
  'heartbeat.fired': {
    heartbeatId: uuid.describe('The id of the poll'),
    agentId: text.describe('The id of the agent that is polled'),
    trigger: z.enum(['interval', 'manual']).describe('Whether the interval or a request started it'),
    scheduledFor: text.describe('When the poll was due'),
    messageId: uuid.nullable().describe('The message that asks the agent; null: there is none'),
  },
  'batch.created': {
    batchId,
    name: text.nullable().describe('The name of the batch; null: it has no name'),
    items: count.describe('The number of items'),
  },
  'batch.progress': { batchId, counts: progressCounts.describe('The number of items in each state') },
  'batch.hop': {
    batchId,
    n,
    via,
    requests,
    cacheHitRate,
    costMicros: count.nullable().describe('What the round cost, in whole micro-dollars; null: not known'),
    liveMicros: count.nullable().describe('What live calls would cost, in whole micro-dollars; null: not known'),
  },
  'batch.paused': {
    batchId,
    reason: z.enum(PAUSE_REASONS).describe('Why the batch is paused'),
    detail: text.nullable().describe('More about the reason, for people; null: there is no more'),
  },
  'batch.resumed': { batchId },
  'batch.ended': { batchId, outcome: z.enum(BATCH_OUTCOMES).describe('How the batch ended') },
  'budget.warned': budgetFields,
  'budget.reached': budgetFields,
  'worker.started': { ...workerFields, isBack: flag.describe('Whether it was lost and reports again') },
  'worker.lost': { ...workerFields, seenAt: text.describe('When it last reported') },
  'worker.drained': workerFields,
  'mcp.connected': {
    server: text.describe('The name of the MCP server'),
    tools: count.describe('The number of its tools'),
  },
  'mcp.lost': { server: text.describe('The name of the MCP server'), error: text.describe('Why it was not reached') },
  'pairing.requested': {
    pairingId: uuid.describe('The id of the request'),
    channel: text.describe('The name of the channel'),
    accountId: text.describe('The account of the channel'),
    senderId: text.describe("The platform's id of the person who asks to write"),
    expiresInMs: count.describe('The time until the code is not valid any more, in milliseconds'),
  },
  'reaction.received': {
    channel: text.describe('The name of the channel'),
    accountId: text.describe('The account of the channel'),
    chatId: text.describe("The platform's id of the chat"),
    messageId: text.describe("The platform's id of the message"),
    emoji: text.describe('The emoji, or the name that the platform gives it'),
    isAdded: flag.describe('`false`: the reaction was removed'),
    senderId: text.describe("The platform's id of the person"),
  },
  'score.set': scoreFields,
  'score.removed': scoreFields,
  'channel.connected': {
    channel: text.describe('The name of the channel'),
    accountId: text.describe('The account of the channel'),
    botId: text.describe("The platform's id of the bot"),
  },
  'channel.lost': {
    channel: text.describe('The name of the channel'),
    accountId: text.describe('The account of the channel'),
    error: text.describe('Why the platform was not reached'),
  },
  'bulk.progress': {
    bulkActionId: uuid.describe('The id of the bulk action'),
    status: z
      .enum(BULK_STATUSES)
      .describe('`cancelling`: the objects in progress finish; apart from `running`: how it ended'),
    total: count.describe('The number of objects'),
    done: count.describe('How many objects were changed'),
    skipped: count.describe('How many objects were skipped, each with a reason'),
    failed: count.describe('How many objects failed because of an error'),
  },
  'session.reset': {
    transcriptNo: count.describe('The number of the new transcript, counted from 1'),
    previousTranscriptNo: count.describe('The number of the transcript that was ended'),
    reason: text.describe('What reset the session'),
  },
} as const satisfies Record<string, z.ZodRawShape>;
export type EventType = keyof typeof FIELDS;

export const EVENT_TYPES = Object.keys(FIELDS) as EventType[];

const variants = EVENT_TYPES.map((type) =>
  z.looseObject({
    type: z.literal(type).describe('The type of the event'),
    sessionKey: text.nullable().describe('The key of the session; null: the event is of no session'),
    turnId: uuid.nullable().describe('The turn that it is of; null: it is of no turn'),
    at: text.describe('When it happened'),
    ...FIELDS[type],
  }),
);

/**
 * Sent first, without an id, when events after the client's last id were deleted. No filter chooses
 * it: every stream may begin with it.
 */
const reset = z.looseObject({
  type: z.literal('reset').describe('The type of the event'),
  sessionKey: z.null().describe('Always null: the event is of no session'),
  turnId: z.null().describe('Always null: the event is of no turn'),
  at: text.describe('When it was sent'),
});

/** The `data` of an event. Further fields may be there. */
export const liveEvent = z.union([reset, ...(variants as [(typeof variants)[number], ...(typeof variants)[number][]])]);
