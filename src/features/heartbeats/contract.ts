// The polls of heartbeats on the wire.
import { z } from 'zod';
import { text, uuid, iso, sessionKey } from '../../contract/fields.ts';

export const heartbeat = z.strictObject({
  id: uuid.describe('The id of the poll'),
  agentId: text.describe('The id of the agent that is polled'),
  sessionKey,
  scheduledFor: iso.describe('When the poll was due'),
  trigger: z.enum(['interval', 'manual']).describe('Whether the interval or a request started it'),
  status: z
    .enum(['claimed', 'fired', 'skipped'])
    .describe('`claimed`: not ended yet; `fired`: the agent was called; `skipped`: it was not'),
  reason: text.nullable().describe('Why it was skipped; null: it was not'),
  detail: text.nullable().describe('More about the reason, for people; null: there is no more'),
  result: z
    .enum(['acknowledged', 'alert', 'duplicate', 'failed'])
    .nullable()
    .describe('How the agent answered; null: it has not, or was not asked'),
  messageId: uuid.nullable().describe('The message that asks the agent; null: there is none'),
  turnId: uuid.nullable().describe('The turn that answers it; null: there is none'),
  settledAt: iso.nullable().describe('When it ended; null: it has not ended'),
});

export type HeartbeatView = z.output<typeof heartbeat>;
