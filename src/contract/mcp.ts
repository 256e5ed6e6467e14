// MCP servers and their tools on the wire.
import { z } from 'zod';
import { APPROVAL_ASKS } from '../core/tool-policy.ts';
import { count, flag, iso, text, wholeList } from './fields.ts';

export const MCP_STATES = ['new', 'connected', 'lost', 'disabled'] as const;

const state = z
  .enum(MCP_STATES)
  .describe(
    '`connected`: it answered when it was asked last; `lost`: it did not; `new`: no worker has asked it yet; `disabled`: the configuration switches it off',
  );
const error = text.nullable().describe('Why it did not answer; null: it did, or was not asked');
const toolCount = count.describe('Its tools that agents have');

export const mcpServer = z.strictObject({
  name: text.describe('The name of the server in the configuration, and the beginning of the names of its tools'),
  transport: z
    .enum(['stdio', 'http'])
    .describe('`stdio`: each worker starts it as a process; `http`: it runs elsewhere'),
  agents: z.array(text).readonly().nullable().describe('The agents that have its tools; null: all'),
  state,
  since: iso.nullable().describe('Since when the state is so; null: no worker has noted it'),
  error,
  serverName: text.nullable().describe('What the server calls itself; null: not known'),
  serverVersion: text.nullable().describe('The version of the server; null: not known'),
  protocol: text.nullable().describe('The version of the protocol that is spoken with it; null: not known'),
  sandbox: z
    .enum(['on', 'reduced', 'off'])
    .nullable()
    .describe(
      'Whether the worker that asked it last runs it in the sandbox; `reduced`: it does, and the server lacks something there; null: the server is no process, or was not asked',
    ),
  sandboxReason: text.nullable().describe('Why it runs outside the sandbox, or what it lacks there; null: neither'),
  sandboxFix: text
    .nullable()
    .describe('What to do about that; null: nothing, or the configuration says that it runs outside'),
  toolCount,
  leftOutCount: count.describe('Its tools that no agent has; its list of tools says why'),
  changedCount: count.describe('Its tools whose description, schema or hints have changed since they were first seen'),
  unknownNames: z.array(text).readonly().describe('Names of tools in its configuration that it does not have'),
  listedAt: iso.nullable().describe('When its tools were stored last; null: never'),
  checkedAt: iso.nullable().describe('When it was asked last; null: never'),
});
export type McpServerView = z.output<typeof mcpServer>;

export const mcpServers = wholeList(mcpServer, 'The servers of the configuration, by name');

export const mcpTool = z.strictObject({
  name: text.describe('The name of the tool at its server'),
  offeredAs: text.describe('Its name among the tools of agents'),
  description: text.describe('What the server says of it'),
  inputSchema: z.record(text, z.unknown()).describe('The JSON Schema of its input'),
  isReadOnly: flag.describe('Whether a call counts as one that only reads'),
  isIdempotent: flag.describe('Whether a call is sent again when its outcome is not known'),
  approval: z
    .enum(APPROVAL_ASKS)
    .nullable()
    .describe(
      'Whether a person is asked before a call, as the configuration of its server says; null: it says nothing',
    ),
  leftOut: text.nullable().describe('Why no agent has it; null: agents have it'),
  seenAt: iso.describe('When the server listed it last'),
  changedAt: iso.nullable().describe('When it changed last; null: it has not changed'),
  change: z
    .array(text)
    .nullable()
    .describe('How it changed then, in lines that begin with `- ` or `+ `; null: it has not'),
});
export type McpToolView = z.output<typeof mcpTool>;

export const mcpTools = wholeList(mcpTool, 'The tools that the server had when it was asked last, by name');

export const mcpProbe = z.strictObject({
  state,
  error,
  toolCount,
  serverName: mcpServer.shape.serverName,
  serverVersion: mcpServer.shape.serverVersion,
  protocol: mcpServer.shape.protocol,
});
export type McpProbe = z.output<typeof mcpProbe>;
