// Tool calls of turns on the wire.
import { z } from 'zod';
import { HOLD_CODES } from '../core/statuses.ts';
import { count, endedAt, flag, startedAt, text } from './fields.ts';

export const waitsFor = z
  .enum(HOLD_CODES)
  .nullable()
  .describe(
    'What a waiting tool call waits for: its client (`caller`), a person (`approval`), another program (`external_tool`), a task of its server (`task`); null: it does not wait',
  );

export const toolCall = z.strictObject({
  callId: text.describe('The id of the tool call'),
  name: text.describe('The name of the tool'),
  status: z
    .enum(['intent', 'waiting', 'done', 'failed', 'unknown', 'skipped'])
    .describe(
      'How it ended; `intent`: it has not; `waiting`: it waits for an approval or for a result from outside; `unknown`: a crash interrupted it',
    ),
  waitsFor,
  isIdempotent: flag.describe('Whether the call may run again after a crash'),
  runs: count.describe('How often the call was started'),
  startedAt,
  endedAt,
});
export type ToolCallView = z.output<typeof toolCall>;
