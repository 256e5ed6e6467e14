// Subagents on the wire: request bodies and answers.
import { z } from 'zod';
import { THINKING_LEVELS } from '../config/choices.ts';
import { inputOptions } from '../config/schema-inputs.ts';
import { deliveryUrl } from '../config/schema-scalars.ts';
import { MESSAGE_STATUSES } from '../core/statuses.ts';
import { costFields } from './costs.ts';

const TEXT_CHARS_MAX = 100_000;
const NAME_CHARS_MAX = 200;
const TIMEOUT_SECONDS_MAX = 7 * 86_400;

const uuid = z.uuid();
const iso = z.iso.datetime();
const count = z.int().min(0);
export const RUN_STATUSES = ['running', 'ok', 'failed', 'timedOut', 'killed'] as const;
const words = z
  .string()
  .max(TEXT_CHARS_MAX)
  .refine((text) => text.trim() !== '', { error: 'must not be blank' });

/** What `POST /v1/sessions/{key}/spawn` takes. */
export const spawnRequest = z.strictObject({
  task: words,
  label: z.string().min(1).max(NAME_CHARS_MAX).exactOptional(),
  agentId: z.string().min(1).max(64).exactOptional(),
  model: z.string().min(1).max(NAME_CHARS_MAX).exactOptional(),
  thinking: z.enum(THINKING_LEVELS).exactOptional(),
  runTimeoutSeconds: z.int().min(0).max(TIMEOUT_SECONDS_MAX).exactOptional(),
  cleanup: z.enum(['keep', 'delete']).exactOptional(),
  mode: z.enum(['run', 'session']).exactOptional(),
  deliver: z.strictObject({ url: deliveryUrl }).nullable().exactOptional(),
  ...inputOptions,
});

export const spawned = z.strictObject({ runId: uuid, childSessionKey: z.string() });

export const subagent = z.strictObject({
  runId: uuid,
  childSessionKey: z.string(),
  parentSessionKey: z.string(),
  label: z.string().nullable(),
  task: z.string(),
  depth: count,
  status: z.enum(RUN_STATUSES),
  mode: z.enum(['run', 'session']),
  cleanup: z.enum(['keep', 'delete']),
  result: z.string().nullable(),
  error: z.string().nullable(),
  tokens: z.strictObject({ input: count, output: count }),
  ...costFields,
  createdAt: iso,
  deadlineAt: iso.nullable(),
  endedAt: iso.nullable(),
  announcement: z
    .strictObject({ messageId: uuid, sessionKey: z.string(), status: z.enum(MESSAGE_STATUSES) })
    .nullable(),
});
export type SubagentView = z.output<typeof subagent>;

/** What `POST /v1/subagents/{runId}/kill` takes. */
export const killRequest = z.strictObject({ below: z.enum(['keep', 'stop']).exactOptional() });

/** `killed`: how many runs have ended by it, those below it among them; 0: it had ended already. */
export const killed = z.strictObject({ killed: count });

export const steerRequest = z
  .strictObject({ text: words.exactOptional(), message: words.exactOptional() })
  .refine(({ text, message }) => (text === undefined) !== (message === undefined), {
    error: 'expected text (or message, which is the same), one of them',
  });

/** `joins`: its running turn; `waits`: it is its next turn; `again`: it had ended, and has started again under `runId`. */
export const steered = z.strictObject({
  runId: uuid,
  messageId: uuid.nullable(),
  how: z.enum(['joins', 'waits', 'again']),
});
