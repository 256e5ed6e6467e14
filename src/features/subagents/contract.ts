// Subagents on the wire: request bodies and answers.
import { z } from 'zod';
import { THINKING_LEVELS } from '../../core/models.ts';
import { turnOptions } from '../../config/schema-inputs.ts';
import { MESSAGE_STATUSES } from '../../core/statuses.ts';
import { costFields } from '../../contract/costs.ts';
import { text, uuid, iso, count, createdAt, endedAt, deliverToAny, tokens, flag } from '../../contract/fields.ts';
import { turn } from '../../contract/views.ts';

export const RUN_STATUSES = ['running', 'ok', 'failed', 'timedOut', 'killed'] as const;

const TEXT_CHARS_MAX = 100_000;
const NAME_CHARS_MAX = 200;
const TIMEOUT_SECONDS_MAX = 7 * 86_400;

const name = z.string().min(1).max(NAME_CHARS_MAX);
const words = z
  .string()
  .max(TEXT_CHARS_MAX)
  .refine((text) => text.trim() !== '', { error: 'must not be blank' });

/** What `POST /v1/sessions/{key}/spawn` takes. */
export const spawnRequest = z.strictObject({
  task: words.describe('The task of the subagent'),
  label: name.exactOptional().describe('A label for people'),
  agentId: z.string().min(1).max(64).exactOptional().describe('The agent that runs; absent: that of the session'),
  model: name.exactOptional().describe('The model, as provider/model or an alias; absent: as configured'),
  thinking: z.enum(THINKING_LEVELS).exactOptional().describe('The thinking level of the run; absent: as configured'),
  runTimeoutSeconds: z
    .int()
    .min(0)
    .max(TIMEOUT_SECONDS_MAX)
    .exactOptional()
    .describe('Its time limit in seconds; 0: no limit; absent: as configured'),
  cleanup: z.enum(['keep', 'delete']).exactOptional().describe('What happens to its session after the run'),
  mode: z
    .enum(['run', 'session'])
    .exactOptional()
    .describe('`run`: it ends with its task; `session`: it accepts further tasks'),
  deliver: deliverToAny.describe('Where the answer to the result is delivered; null: nowhere; absent: as configured'),
  ...turnOptions,
});

export const spawned = z.strictObject({
  runId: uuid.describe('The id of the run'),
  childSessionKey: text.describe('The session key of the subagent'),
});

export const subagent = z.strictObject({
  runId: uuid.describe('The id of the run'),
  title: text.describe('The run in one line: its label or its task, and what it ended with'),
  childSessionKey: text.describe('The session key of the subagent'),
  parentSessionKey: text.describe('The session that spawned it'),
  label: text.nullable().describe('A label for people; null: it has none'),
  task: text.describe('The task of the subagent'),
  depth: count.describe('The number of sessions above it: 1 for a subagent of an ordinary session'),
  status: z.enum(RUN_STATUSES).describe('How the run ended, or that it runs'),
  mode: z.enum(['run', 'session']).describe('`run`: it ends with its task; `session`: it accepts further tasks'),
  cleanup: z.enum(['keep', 'delete']).describe('What happens to its session after the run'),
  result: text.nullable().describe('Its last text; null: it has not ended, or there is none'),
  error: text.nullable().describe('Why the run failed; null: it did not'),
  tokens: tokens.describe('The tokens of its calls'),
  ...costFields,
  createdAt,
  deadlineAt: iso.nullable().describe('When the run times out; null: there is no limit'),
  endedAt,
  announcement: z
    .strictObject({
      messageId: uuid.describe('The id of the announcement'),
      sessionKey: text.describe('The key of the session that receives it'),
      status: z.enum(MESSAGE_STATUSES).describe('What happened to the announcement'),
    })
    .nullable()
    .describe('The message that reports the result; null: the run has not ended, or no session was left to receive it'),
});
export type SubagentView = z.output<typeof subagent>;

export const turnTree = z.strictObject({
  items: z
    .array(
      z.strictObject({
        depth: count.describe('0: the turn that was asked for; 1: a turn of a subagent that it has spawned'),
        parentTurnId: uuid
          .nullable()
          .describe('The turn that has spawned the subagent; null: the turn that was asked for'),
        run: z
          .strictObject({
            runId: uuid.describe('The id of the run'),
            sessionKey: text.describe('The session key of the subagent'),
            label: text.nullable().describe('A label for people; null: it has none'),
            task: text.describe('The beginning of its task'),
            status: z.enum(RUN_STATUSES).describe('How the run ended, or that it runs'),
            createdAt,
            endedAt,
          })
          .nullable()
          .describe('The run of the subagent; null: the turn that was asked for'),
        turn: turn.nullable().describe('The turn with its last steps and spans; null: the subagent has begun none'),
      }),
    )
    .describe('Each turn, followed by those of the subagents that were spawned while it ran, oldest first'),
  isCapped: flag.describe('Whether there are more turns than are shown'),
});
export type TurnTree = z.output<typeof turnTree>;

/** What `POST /v1/subagents/{runId}/kill` takes. */
export const killRequest = z.strictObject({
  below: z.enum(['keep', 'stop']).exactOptional().describe('What happens to the runs below it; absent: stop'),
});

export const killed = z.strictObject({
  killed: count.describe('The number of stopped runs, with those below it; 0: the run had already ended'),
});

export const steerRequest = z
  .strictObject({
    text: words.exactOptional().describe('What the subagent is to do'),
    message: words.exactOptional().describe('The same as `text`; send one of them'),
  })
  .refine(({ text, message }) => (text === undefined) !== (message === undefined), {
    error: 'expected text (or message, which is the same), one of them',
  });

export const steered = z.strictObject({
  runId: uuid.describe('The id of the run that has the task'),
  messageId: uuid.nullable().describe('The message with the task; null: it joins the running turn'),
  how: z
    .enum(['joins', 'waits', 'again'])
    .describe('`joins`: the running turn; `waits`: for the next turn; `again`: it starts again as `runId`'),
});
