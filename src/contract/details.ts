// One thing with all that belongs to it: a family of sessions, a call of a tool.
import { z } from 'zod';
import { CAUSE_KINDS } from '../core/message-cause.ts';
import { MESSAGE_STATUSES } from '../core/statuses.ts';
import { costOf } from './costs.ts';
import { RUN_STATUSES } from './subagents.ts';
import { MESSAGE_KINDS, systemEvent, toolCall } from './views.ts';

const count = z.int().min(0);
const iso = z.iso.datetime();
const used = z.strictObject({
  tokens: z.strictObject({ input: count, output: count }),
  ...costOf,
  simulated: z.boolean(),
});

export const family = z.strictObject({
  rootKey: z.string(),
  root: used,
  items: z.array(
    z.strictObject({
      runId: z.uuid(),
      parentRunId: z.uuid().nullable(),
      sessionKey: z.string(),
      parentSessionKey: z.string(),
      label: z.string().nullable(),
      task: z.string(),
      agentId: z.string(),
      depth: count,
      status: z.enum(RUN_STATUSES),
      mode: z.enum(['run', 'session']),
      createdAt: iso,
      endedAt: iso.nullable(),
      turnId: z.uuid().nullable(),
      announcement: z
        .strictObject({
          how: z.enum(['waiting', 'steered', 'ownTurn', 'notSent', 'noRecipient']),
          messageId: z.uuid().nullable(),
          sessionKey: z.string().nullable(),
          status: z.enum(MESSAGE_STATUSES).nullable(),
          turnId: z.uuid().nullable(),
        })
        .nullable(),
      own: used,
      subtree: used.extend({ runs: count }),
    }),
  ),
  isCapped: z.boolean(),
});
export type FamilyView = z.output<typeof family>;

export const toolCallDetail = toolCall.extend({
  turnId: z.uuid(),
  sessionKey: z.string(),
  step: count,
  arguments: z.string().nullable(),
  result: z.strictObject({ text: z.string(), isError: z.boolean() }).nullable(),
});
export type ToolCallDetail = z.output<typeof toolCallDetail>;

export const turnInputs = z.strictObject({
  messages: z.array(
    z.strictObject({
      id: z.uuid(),
      seq: count,
      kind: z.enum(MESSAGE_KINDS),
      text: z.string(),
      receivedAt: iso,
      cause: z.strictObject({
        kind: z.enum(CAUSE_KINDS),
        turnId: z.uuid().nullable(),
        sessionKey: z.string().nullable(),
        messageId: z.uuid().nullable(),
        cron: z.strictObject({ id: z.uuid(), name: z.string() }).nullable(),
        batchId: z.uuid().nullable(),
      }),
    }),
  ),
  systemEvents: z.array(systemEvent),
});
export type TurnInputs = z.output<typeof turnInputs>;
