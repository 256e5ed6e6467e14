// One thing with all that belongs to it: a family of sessions, a call of a tool.
import { z } from 'zod';
import { CAUSE_KINDS } from '../kernel/rules/message-cause.ts';
import { MESSAGE_STATUSES } from '../core/statuses.ts';
import { costOf, simulated } from './costs.ts';
import { RUN_STATUSES } from '../features/subagents/contract.ts';
import { toolCall } from './tool-calls.ts';
import { MESSAGE_KINDS, systemEvent } from './views.ts';
import { text, flag, uuid, iso, count, sessionKey, createdAt, endedAt, tokens } from './fields.ts';
import { guarded } from './guarded.ts';

const used = z.strictObject({ tokens: tokens.describe('The tokens of its calls'), ...costOf, simulated });

export const family = z.strictObject({
  rootKey: text.describe('The session at the top of the family'),
  root: used.describe('What the root session used'),
  items: z
    .array(
      z.strictObject({
        runId: uuid.describe('The id of the run'),
        parentRunId: uuid.nullable().describe('The run that spawned it; null: the root did'),
        sessionKey,
        parentSessionKey: text.describe('The session that spawned it'),
        label: text.nullable().describe('A label for people; null: it has none'),
        task: text.describe('The beginning of the task'),
        agentId: text.describe('The id of the agent that runs'),
        depth: count.describe('The number of sessions above it: 1 for a run that the root spawned'),
        status: z.enum(RUN_STATUSES).describe('How the run ended, or that it runs'),
        mode: z.enum(['run', 'session']).describe('`run`: it ends with its task; `session`: it accepts further tasks'),
        createdAt,
        endedAt,
        turnId: uuid.nullable().describe('Its open turn or its last one; null: it has had no turn'),
        announcement: z
          .strictObject({
            how: z
              .enum(['waiting', 'steered', 'ownTurn', 'notSent', 'noRecipient'])
              .describe(
                '`waiting`: no turn has claimed it yet; `steered`: it joined a running turn; `ownTurn`: it started a turn, alone or with other announcements; `notSent`: it was settled without a turn, because none was requested or the recipient was stopped; `noRecipient`: no session was left to receive it',
              ),
            messageId: uuid.nullable().describe('The id of the message; null: there is no message'),
            sessionKey: text.nullable().describe('The session that receives it; null: no session was left'),
            status: z.enum(MESSAGE_STATUSES).nullable().describe('The status of the message; null: there is none'),
            turnId: uuid.nullable().describe('The turn that claimed it; null: no turn has claimed it'),
          })
          .nullable()
          .describe('How its result reached a session above it; null: it has not ended'),
        own: used.describe('What the run used, without the runs below it'),
        subtree: used
          .extend({ runs: count.describe('How many runs these are') })
          .describe('What it used with all runs below it'),
      }),
    )
    .describe('The runs below the root, each after its parent'),
  isCapped: flag.describe('Whether there are more runs than are shown'),
});
export type FamilyView = z.output<typeof family>;

export const toolCallDetail = toolCall.extend({
  turnId: uuid.describe('The turn that made the call'),
  sessionKey,
  step: count.describe('The number of the step in its turn, counted from 1'),
  arguments: text.nullable().describe('The arguments, as JSON text; null: they are no longer in the transcript'),
  result: z
    .strictObject({ text: text.describe('The text of the result'), isError: flag.describe('Whether the tool failed') })
    .nullable()
    .describe('The result of the tool, as the model saw it; null: the call has not ended'),
});
export type ToolCallDetail = z.output<typeof toolCallDetail>;

export const turnInputs = z.strictObject({
  messages: z
    .array(
      z.strictObject({
        id: uuid.describe('The id of the message'),
        seq: count.describe('Its number in the session'),
        kind: z.enum(MESSAGE_KINDS).describe('What the message is'),
        text: text.describe('The text of the message, up to 16,384 characters'),
        receivedAt: iso.describe(
          'When the message came into its session: when it was accepted, delivered later (`deliverAt`), or retried',
        ),
        cause: z
          .strictObject({
            kind: z
              .enum(CAUSE_KINDS)
              .describe(
                '`request`: the API or a plugin; `cron`: a cron or a heartbeat; `spawn`: a session that spawned this one; `subagent`: the end of a subagent; `session`: a message from another session; `steering`: a message that first joined a running turn; `wait`: the end of a wait for subagents; `batch`: a batch; `retry`: the retry of a failed message',
              ),
            turnId: uuid.nullable().describe('The turn that sent it, spawned the session, or failed; null: not known'),
            sessionKey: text
              .nullable()
              .describe(
                'The session of that turn, or of the subagent that ended; null: not known, or hidden from a key with a scope',
              )
              .register(guarded, { as: 'session' }),
            messageId: uuid
              .nullable()
              .describe('The message that it repeats or follows; null: none, or it was deleted'),
            cron: z
              .strictObject({ id: uuid.describe('The id of the cron'), name: text.describe('The name of the cron') })
              .nullable()
              .describe('The cron that fired; null: none did, or it was deleted'),
            batchId: uuid.nullable().describe('The batch of the message; null: it has none, or it was deleted'),
          })
          .describe('What caused the message'),
      }),
    )
    .describe('The messages that it answers, in their order'),
  systemEvents: z.array(systemEvent).describe('The system events in its prompt, oldest first'),
});
export type TurnInputs = z.output<typeof turnInputs>;
