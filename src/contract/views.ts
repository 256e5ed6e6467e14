// The answers of the API, for the document and for the tests, which check every answer against
// them.
import { z } from 'zod';
import { CALL_PURPOSES } from '../core/model-request.ts';
import { SESSION_KINDS } from '../core/session-key.ts';
import { output, shownTags } from './input-options.ts';
import { HARNESS_REASONS } from '../core/harness-selection.ts';
import { PRICE_TIERS } from '../core/prices.ts';
import { QUEUE_DROPS, QUEUE_MODES } from '../core/queue-mode.ts';
import { MESSAGE_STATUSES, TURN_STATUSES, TURN_KINDS } from '../core/statuses.ts';
import type { Why } from '../kernel/rules/why.ts';
import { WORDS_CHARS_MAX } from '../core/words.ts';
import { costFields, costOf, tokenCounts } from './costs.ts';
import { fault } from './faults.ts';
import {
  text,
  flag,
  uuid,
  iso,
  count,
  sessionKey,
  sessionTitle,
  lane,
  createdAt,
  startedAt,
  endedAt,
  tokens,
} from './fields.ts';
import { guarded, guardedName } from './guarded.ts';
import { score } from './scores.ts';
import { toolCall } from './tool-calls.ts';

export const MESSAGE_KINDS = [
  'message',
  'announcement',
  'cron',
  'heartbeat',
  'followup',
  'batch',
  'compaction',
] as const;

export const why = z
  .strictObject({
    code: text.describe('The reason, for programs'),
    text: text.describe('The reason, for people'),
    since: iso.describe('When it began to wait for this reason'),
    until: iso.nullable().describe('When the wait ends at the latest; null: not known'),
    by: text
      .nullable()
      .describe('The name of what it waits for; null: it has no name, or is hidden from a key with a scope'),
  })
  .register(guarded, { as: 'why' }) satisfies z.ZodType<Why>;

export const message = z.strictObject({
  id: uuid.describe('The id of the message'),
  sessionKey,
  seq: count.describe('Its number in the session'),
  kind: z.enum(MESSAGE_KINDS).describe('What the message is'),
  text: text.describe('The text of the message'),
  title: text
    .exactOptional()
    .describe(
      'The message in one line: its beginning, the name of its cron, or what ended; absent in the response to the request that sent it',
    ),
  sessionTitle: sessionTitle
    .exactOptional()
    .describe(`${sessionTitle.description}; absent in the response to the request that sent it`),
  tags: shownTags,
  status: z.enum(MESSAGE_STATUSES).describe('Whether the message waits, is in a turn, or how it ended'),
  turnId: uuid.nullable().describe('The turn that claimed it; null: no turn has claimed it'),
  retryOf: uuid.nullable().describe('The failed message that this message repeats; null: it repeats none'),
  retryOfTurn: uuid.nullable().describe('The failed turn of that message; null: it repeats none'),
  reply: text.nullable().describe('The text of the reply; null: there is none'),
  error: fault.describe('Why it failed; null: it did not'),
  why: why.nullable().describe('Why it waits; null: it does not wait'),
  receivedAt: iso.describe(
    'When the message came into its session: when it was accepted, delivered later (`deliverAt`), or retried',
  ),
  settledAt: iso.nullable().describe('When it was settled; null: it has not been settled'),
});
export type MessageView = z.output<typeof message>;

export const session = z.strictObject({
  id: uuid.describe('The id of the session'),
  key: sessionKey,
  agentId: text.describe('The id of its agent'),
  kind: z.enum(SESSION_KINDS).describe('What the session is for, by the form of its key'),
  status: z.enum(['idle', 'waiting', 'running']).describe('`waiting`: it has work and no turn; `running`: a turn'),
  parentKey: text.nullable().describe('The session that spawned it; null: it was not spawned'),
  label: text.nullable().describe('A label for people; null: it has none'),
  channel: text.nullable().describe('The channel of its last message; null: it has none'),
  queueMode: z
    .enum(QUEUE_MODES)
    .nullable()
    .describe('What happens to a message while the session is busy; null: as configured'),
  queueDebounceMs: count
    .nullable()
    .describe('How long a turn waits for more messages, in milliseconds; null: as configured'),
  queueCap: count.nullable().describe('The maximum number of messages in a turn; null: as configured'),
  queueDrop: z.enum(QUEUE_DROPS).nullable().describe('What happens to messages above the cap; null: as configured'),
  model: text.nullable().describe('The model, as provider/model or an alias; null: as configured'),
  thinking: text.nullable().describe('The thinking level of its turns; null: as configured'),
  reasoning: text.nullable().describe('Shows its thinking: `on`: before replies; `stream`: as events; null: off'),
  epoch: count.describe('The fencing token of its lock, which each claim raises by one'),
  turnId: uuid.nullable().describe('Its open turn; null: there is none'),
  waitingMessages: count.describe('The number of its waiting messages'),
  systemEvents: count.describe('The number of its system events that wait'),
  tokens: tokens.extend({ context: count.describe('The size of its context') }).describe('All tokens that it has used'),
  ...costFields,
  createdAt,
  updatedAt: iso.describe('When it was last changed'),
});
export type SessionFacts = z.output<typeof session>;

/** The beginning of a text. */
const words = z.string().max(WORDS_CHARS_MAX).nullable();

export const failure = z.strictObject({
  turnId: uuid.describe('The turn that failed'),
  code: text.describe('The code of its error, for programs'),
  text: text.describe('What the error says, for people'),
  since: iso.describe('When it failed'),
  nextStep: text.nullable().describe('What a person can do about it; null: the code is not known'),
});
export type Failure = z.output<typeof failure>;

/** A session as its own routes show it. */
export const sessionDetails = session.extend({
  title: text.describe('The session for people: by its label, its cron, its task, its chat or who writes in it'),
  failure: failure.nullable().describe('How its newest turn failed; null: it did not fail'),
  lock: z
    .strictObject({
      holder: guardedName('The name of the process'),
      title: guardedName('The process for people: its host and its number'),
      until: iso.describe('When its lease ends unless it is renewed; in the past if the process has crashed'),
    })
    .nullable()
    .describe('The process that runs a turn of the session; null: none does'),
  isConfined: z.boolean().describe('A key for a part of the service has sent something: its agent is confined'),
  why: why
    .nullable()
    .exactOptional()
    .describe('Why its turn, its oldest message or else its oldest delivery waits; null: none does; absent in lists'),
  tags: shownTags.describe('The tags of its newest message; empty: none'),
  firstWords: words.describe('The beginning of its first message, in one line; null: it has none'),
  lastWords: words.describe('The beginning of its newest message, or of the reply to it; null: it has none'),
  person: words.describe('Who sent its newest message; null: not known'),
  contextWindow: count.describe("The size of the context window in tokens, as configured for the session's agent"),
  apiQueueMode: z.enum(QUEUE_MODES).describe('The queue mode of its messages that have neither `channel` nor `mode`'),
});
export type SessionDetails = z.output<typeof sessionDetails>;

export const usage = z.strictObject(tokenCounts);
export type TokenUsage = z.output<typeof usage>;

const callNotes = z.strictObject({
  requestBytes: count.describe('The size of the request, in bytes'),
  responseBytes: count.describe('The size of the answer, in bytes'),
  firstByteMs: count.nullable().describe('The milliseconds to the first byte of the answer; null: there was none'),
  durationMs: count.describe('How long the call took, in milliseconds'),
  rateWaitMs: count.optional().describe('How long it waited for a limit, in milliseconds; absent: it did not'),
  repairs: z
    .array(
      z.strictObject({
        step: text.describe('What was repaired'),
        callId: text.nullable().describe('The id of the tool call that was repaired; null: it was no tool call'),
        was: text.describe("The model's answer before the repair"),
      }),
    )
    .optional()
    .describe("The repairs of the model's answer; absent: there were none"),
  way: text.exactOptional().describe('Why no provider batch was used; absent: it was, or was not allowed'),
});

const modelCall = z.strictObject({
  n: count.describe('The number of the model call, counted from 1'),
  purpose: z.enum(CALL_PURPOSES).describe('What it was for: an answer, a summary, the words of audio, or a tool'),
  status: z.enum(['ok', 'failed', 'aborted']).describe('How the call ended'),
  stopReason: text.nullable().describe('Why the model stopped; null: it gave no complete answer'),
  error: fault.describe('Why the call failed; null: it did not'),
  provider: text.nullable().describe('The provider of the model; null: not known'),
  model: text.nullable().describe('The model that was called, as provider/model; null: not known'),
  key: text.nullable().describe('The name of the key that was used; null: it was not sent, or there is no name'),
  fallbackReason: text
    .nullable()
    .describe('Why it asked this model and not the first of the turn; null: it asked that, or it made a summary'),
  usage: usage.describe('The tokens of the call'),
  cacheWrite1hTokens: count.describe('The part of `cacheWriteTokens` that the provider keeps for an hour'),
  ...costOf,
  priceVersion: text.nullable().describe('The version of the price table that was used; null: it has no price'),
  tier: z.enum(PRICE_TIERS).describe('Which prices apply: standard, or those of provider batches'),
  isEstimated: flag.describe('Whether the call was interrupted: tokens and cost are those reported until then'),
  simulated: flag.describe('Whether the scripted model answered, which costs nothing'),
  startedAt,
  firstChunkAt: iso.nullable().describe('When the first part of the answer arrived; null: no part arrived'),
  endedAt: iso.describe('When it ended'),
  notes: callNotes.nullable().describe('Measurements of the call; null: it was never sent'),
});
export type ModelCallView = z.output<typeof modelCall>;

export const step = z.strictObject({
  n: count.describe('The number of the step, counted from 1'),
  calls: z.array(modelCall).describe('The model calls of the step'),
  tools: z.array(toolCall).describe('The tool calls of the step'),
});
export type StepView = z.output<typeof step>;

export const span = z.strictObject({
  kind: z
    .enum([
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
    ])
    .describe('What took the time'),
  name: text.describe('The name of the model, the tool or the channel, or of the wait'),
  n: count.nullable().describe('The number of the call or the step; null: it has none'),
  startedAt,
  endedAt,
  status: z
    .enum(['ok', 'failed', 'aborted', 'intent', 'waiting', 'done', 'unknown', 'skipped'])
    .exactOptional()
    .describe('How the model call or the tool call ended; absent for everything else'),
});
export type SpanView = z.output<typeof span>;

const attempt = z.strictObject({
  attempt: count.describe('The number of the attempt, counted from 1'),
  worker: guardedName('The process that ran the attempt'),
  epoch: count.describe('The fencing token of the lock in the attempt'),
  claimedAt: iso.describe('When a worker claimed the session for the turn'),
  endedAt: iso.nullable().describe('When it ended; null: it has not, or that is not known'),
  how: z
    .enum(['lost', 'released', 'parked'])
    .nullable()
    .describe('How its worker left the turn; null: this is the last attempt'),
  renewedAt: iso
    .nullable()
    .describe('When its lost worker renewed the lease last, by the configured lease; null: its worker was not lost'),
});
export type AttemptView = z.output<typeof attempt>;

export const turnTitle = text.describe(
  'What it answers, in one line: the beginning of its first message, the name of its cron, or what ended',
);
const workerTitle = guardedName('The same for people: its host and its number');

export const turn = z.strictObject({
  id: uuid.describe('The id of the turn'),
  title: turnTitle.exactOptional().describe(`${turnTitle.description}; absent with messages`),
  sessionKey,
  sessionTitle: sessionTitle.exactOptional().describe(`${sessionTitle.description}; absent with messages`),
  kind: z.enum(TURN_KINDS).describe('What the turn answers'),
  lane,
  status: z.enum(TURN_STATUSES).describe('Whether the turn runs, waits, or how it ended'),
  attempt: count.describe('The number of its last attempt, counted from 1'),
  attempts: z
    .array(attempt)
    .exactOptional()
    .describe('Its attempts, oldest first; absent in lists without steps and with messages'),
  previousTurnId: uuid.nullable().exactOptional().describe('The previous turn; null: none; absent when `attempts` is'),
  nextTurnId: uuid.nullable().exactOptional().describe('The next turn; null: none; absent when `attempts` is'),
  epoch: count.describe('The fencing token of its lock'),
  worker: guardedName('The process that last ran the turn'),
  workerTitle: workerTitle.exactOptional().describe(`${workerTitle.description}; absent with messages`),
  provider: text.describe('The provider of `model`'),
  model: text.describe('The model that answered, until then the first; with its provider unless anthropic'),
  askedModel: text.nullable().describe('The model that it was opened with, if another one answered; null: the same'),
  tags: shownTags,
  retriedAs: z.array(uuid).describe('The new messages that repeat those of this turn; empty: there are none'),
  tryOf: uuid.nullable().describe('The turn that it tries; null: it tries none'),
  harness: z
    .strictObject({
      id: text.describe('The id of the harness'),
      reason: z.enum(HARNESS_REASONS).describe('Why the harness was chosen'),
    })
    .nullable()
    .describe('What answers the turn and why it was chosen; null: the turn has no answer, for example a compaction'),
  reply: text.nullable().describe('The text of the reply; null: there is none'),
  output,
  error: fault.describe('Why the turn failed; null: it did not'),
  why: why.nullable().describe('Why no worker runs it: it is parked, or its worker lost; null: one does, or it ended'),
  nextStep: text
    .nullable()
    .describe('What a person can do about its error or its wait; null: nothing, or its code is not known'),
  usage: usage.describe('The tokens that its calls used'),
  ...costFields,
  queuedAt: iso.describe('When its first message came into the session: `receivedAt` of the message'),
  claimedAt: iso.describe('When a worker claimed the session for the last attempt'),
  firstClaimedAt: iso.describe(
    'When a worker claimed the session for the first attempt; until then, the message waited',
  ),
  scores: z
    .array(score)
    .exactOptional()
    .describe('What people think of it, newest first, at most 20; absent in answers to messages'),
  startedAt,
  endedAt,
  stepCount: count.describe('The number of steps of the turn'),
  unknownCalls: count.describe('Its tool calls with the status `unknown`, which may or may not have taken effect'),
  steps: z.array(step).describe('The steps of the turn'),
  spans: z.array(span).describe('How long each part of the turn took'),
});
export type TurnView = z.output<typeof turn>;
export type TurnStatus = TurnView['status'];

/** A turn of a list: with its last steps, or without any. */
export const listedTurn = turn.extend({
  steps: turn.shape.steps.exactOptional().describe('The last steps of the turn; absent with `steps=none`'),
  spans: turn.shape.spans.exactOptional().describe('How long its last parts took; absent with `steps=none`'),
  title: turnTitle,
  sessionTitle,
  workerTitle,
  firstWords: words.describe('The beginning of its first message, in one line; null: it has none'),
  person: words.describe('Who sent its first message; null: not known'),
  channel: text.nullable().describe('The channel of its first message; null: none'),
});
export type ListedTurn = z.output<typeof listedTurn>;

export const systemEvent = z.strictObject({
  id: uuid.describe('The id of the system event'),
  sessionKey,
  text: text.describe('The line for the next prompt'),
  contextKey: text.nullable().describe('A name that groups system events of the same origin; null: it has none'),
  trusted: flag.describe('Whether its text comes from the operator'),
  state: z.enum(['queued', 'consumed', 'dropped']).describe('Whether it waits, is in a prompt, or was dropped'),
  turnId: uuid.nullable().describe('The turn whose prompt has it; null: no turn yet'),
  dropReason: text.nullable().describe('Why it was dropped; null: it was not dropped'),
  createdAt,
  settledAt: iso.nullable().describe('When it was consumed or dropped; null: it waits'),
});
export type SystemEventView = z.output<typeof systemEvent>;
