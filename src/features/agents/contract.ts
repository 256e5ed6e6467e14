// Agents on the wire, and what their fields mean.
import { z } from 'zod';
import { budget } from '../../contract/budgets.ts';
import { binding } from '../../contract/bindings.ts';
import { usageItem } from '../../contract/costs.ts';
import { mcpServer } from '../../contract/mcp.ts';
import { pause } from '../../contract/pauses.ts';
import { failure, turnTitle } from '../../contract/views.ts';
import { ofService } from '../../contract/guarded.ts';
import { text, flag, count, iso, sessionKey, sessionTitle, uuid, wholeList } from '../../contract/fields.ts';
import { APPROVAL_ASKS } from '../../core/tool-policy.ts';
import { cron } from '../crons/contract.ts';
import { TOOL_ORIGINS } from './rules.ts';

const names = z.array(text);

const week = usageItem
  .omit({ startsAt: true, group: true })
  .describe('What it did and cost today and on the six days before, in UTC');

const agent = z.strictObject({
  id: text.describe('The id of the agent'),
  paused: pause.nullable().describe('The pause that holds all of its sessions; null: none does'),
  week,
  model: text.describe('The model, as provider/model'),
  fallbacks: names.describe('Models to use, in this order, when the model is unavailable'),
  thinking: text.describe('The thinking level of its model'),
  promptMode: text.describe('Which sections its system prompt has: `full`, `minimal` or `none`'),
  workspace: ofService(text, 'The path of the folder with its files'),
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
      target: ofService(
        text,
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
  crons: ofService(
    z.strictObject({
      total: count.describe('The number of all its crons'),
      enabled: count.describe('The number of its enabled crons'),
    }),
    'The number of its crons',
  ),
  sessions: z
    .strictObject({
      count: count.describe('The number of sessions that were counted'),
      isCapped: flag.describe('Whether older sessions were not counted'),
    })
    .describe('The number of its sessions among the 10,000 newest, without those of batches'),
});
export type AgentView = z.output<typeof agent>;

const version = z.strictObject({
  sha256: text.describe('The hash of the text that prompts had of the file'),
  chars: count.describe('The length of that text'),
  since: iso.describe('When the first of the turns that were read had it'),
  until: iso.describe('When the last of them had it'),
  turnId: uuid.nullable().describe('The last of these turns that the key sees; null: it sees none'),
});

const instruction = z.strictObject({
  name: text.describe('The name of the file in the workspace'),
  text: text
    .nullable()
    .describe('What the newest prompt has of it; null: no prompt of the turns that were read has it'),
  versions: z.array(version).describe('Its versions in the prompts of the newest turns, newest first'),
});

const agentTool = z.strictObject({
  name: text.describe('The name of the tool'),
  origin: z
    .enum(TOOL_ORIGINS)
    .describe('`holdfast`: it is built in; `mcp`: of an MCP server; `external`: another program runs it; `plugin`'),
  server: text.nullable().describe('The MCP server of the tool; null: it is of none'),
  isAllowed: flag.describe('Whether the policies of the agent let it through'),
  because: text.nullable().describe('The setting that leaves it out; null: none does'),
  approval: z
    .enum(APPROVAL_ASKS)
    .nullable()
    .describe('How often the first rule that names it asks a person; null: no rule names it'),
  isOffered: flag.nullable().describe('Whether the newest turn of the agent had it; null: there is no such turn'),
});
export type AgentTool = z.output<typeof agentTool>;

export const agentDetails = agent.extend({
  instructions: z.array(instruction).describe('The files that its prompts have, in the order of the configuration'),
  toolList: z.array(agentTool).describe('The tools that are known, with whether it has them and why'),
  mcpServers: z.array(mcpServer).describe('The MCP servers whose tools it has'),
  cronList: z.array(cron).describe('Its newest crons, at most 50'),
  budgets: z.array(budget).describe('The budgets that count its calls: its own, and those of all agents'),
  channels: z
    .strictObject({
      isDefault: flag.describe('Whether it gets the messages of chats that no binding matches'),
      bindings: z.array(binding).describe('The bindings that name it, in the order of the configuration'),
    })
    .describe('The chats whose messages it gets'),
  lastFailures: z
    .array(failure.extend({ title: turnTitle, sessionKey, sessionTitle }))
    .describe('Its newest turns that failed or timed out, at most 5'),
  days: z
    .array(usageItem)
    .describe('What it did and cost, by day in UTC, oldest first; days on which nothing happened are left out'),
});
export type AgentDetails = z.output<typeof agentDetails>;

export const agentList = wholeList(agent, 'The agents in the order of the configuration');
