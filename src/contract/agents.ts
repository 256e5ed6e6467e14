// Agents on the wire, and what their fields mean.
import { z } from 'zod';

const count = z.int().min(0);
const names = z.array(z.string());

export const agent = z.strictObject({
  id: z.string(),
  model: z.string(),
  fallbacks: names,
  thinking: z.string(),
  promptMode: z.string(),
  workspace: z.string(),
  toolPolicies: z.array(z.strictObject({ allow: names.exactOptional(), deny: names })),
  heartbeat: z.strictObject({
    everyMs: count,
    target: z.string(),
    activeHours: z.strictObject({ start: z.string(), end: z.string(), timezone: z.string() }).nullable(),
    gate: z.enum(['command', 'url', 'file']).nullable(),
  }),
  crons: z.strictObject({ total: count, enabled: count }),
  sessions: z.strictObject({ count, isCapped: z.boolean() }),
});

export const agentList = z.strictObject({ items: z.array(agent), nextCursor: z.null() });

/** By operation and field. A part of `field-descriptions.ts`. */
export const AGENT_DESCRIPTIONS: Readonly<Record<string, string>> = {
  'listAgents.items': 'The agents in the order of the configuration',
  'listAgents.items.model': 'The model as provider/model',
  fallbacks: 'Models to use, in this order, when the model is unavailable',
  promptMode: 'Which sections the system prompt has',
  workspace: 'The folder with its files',
  toolPolicies: 'The policies for its tools: a tool must be allowed by every policy and denied by none',
  allow: 'Names of tools; absent: all tools',
  deny: 'Names of tools',
  'listAgents.items.heartbeat': 'When the agent is polled',
  'listAgents.items.heartbeat.everyMs': 'The interval in milliseconds; 0: never',
  'listAgents.items.heartbeat.activeHours': 'The hours in which it is polled; null: at any time',
  'listAgents.items.heartbeat.activeHours.start': 'The first minute, as HH:MM',
  'listAgents.items.heartbeat.activeHours.end': 'The minute at which they end, as HH:MM',
  'listAgents.items.heartbeat.activeHours.timezone': 'user, local, or an IANA time zone',
  'listAgents.items.heartbeat.gate':
    'What must have changed since the last poll for the agent to be called; null: it is called at each poll',
  'listAgents.items.heartbeat.target': 'Where alerts go: none, last or a channel',
  'listAgents.items.crons': 'The number of its crons',
  'listAgents.items.crons.total': 'All crons',
  'listAgents.items.crons.enabled': 'Enabled crons',
  'listAgents.items.sessions': 'The number of its sessions among the 10,000 newest, without those of batches',
  'listAgents.items.sessions.isCapped': 'Whether older sessions were not counted',
};
