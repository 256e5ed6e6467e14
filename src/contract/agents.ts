// Agents on the wire, and what their fields mean.
import { z } from 'zod';
import { text, flag, count, wholeList } from './fields.ts';

const names = z.array(text);

export const agent = z.strictObject({
  id: text.describe('The id of the agent'),
  model: text.describe('The model, as provider/model'),
  fallbacks: names.describe('Models to use, in this order, when the model is unavailable'),
  thinking: text.describe('The thinking level of its model'),
  promptMode: text.describe('Which sections its system prompt has: `full`, `minimal` or `none`'),
  workspace: text.describe('The path of the folder with its files'),
  toolPolicies: z
    .array(
      z.strictObject({
        allow: names.exactOptional().describe('Names of the only allowed tools; absent: all tools'),
        deny: names.describe('Names of tools that are not allowed'),
      }),
    )
    .describe('The policies for its tools: a tool must be allowed by every policy and denied by none'),
  heartbeat: z
    .strictObject({
      everyMs: count.describe('The interval in milliseconds; 0: never'),
      target: text.describe(
        'Where alerts go: `none`, `last`, `webhook`, a channel, or the address of a chat: `channel:telegram/main/42`',
      ),
      activeHours: z
        .strictObject({
          start: text.describe('The first minute, as HH:MM'),
          end: text.describe('The minute at which they end, as HH:MM'),
          timezone: text.describe('`user`, `local`, or an IANA time zone'),
        })
        .nullable()
        .describe('The hours in which it is polled; null: at any time'),
      gate: z
        .enum(['command', 'url', 'file'])
        .nullable()
        .describe('What must have changed for the agent to be called; null: nothing'),
    })
    .describe('When the agent is polled'),
  crons: z
    .strictObject({
      total: count.describe('The number of all its crons'),
      enabled: count.describe('The number of its enabled crons'),
    })
    .describe('The number of its crons'),
  sessions: z
    .strictObject({
      count: count.describe('The number of sessions that were counted'),
      isCapped: flag.describe('Whether older sessions were not counted'),
    })
    .describe('The number of its sessions among the 10,000 newest, without those of batches'),
});
export type AgentView = z.output<typeof agent>;

export const agentList = wholeList(agent, 'The agents in the order of the configuration');
