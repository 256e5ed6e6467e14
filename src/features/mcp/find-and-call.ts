// `mcp_find` and `mcp_call`: in place of the tools of MCP servers where there are too many to show.
// A call by `mcp_call` is that of its tool: to the policies, which have chosen the tools, to the
// ledger and to the server.
import { z } from 'zod';
import { findClosest } from '../../config/config-error.ts';
import { isObject } from '../../core/json.ts';
import { cutHead } from '../../core/text.ts';
import { defineTool } from '../../tools/define-tool.ts';
import { errorOutcome, textOutcome, type Tool } from '../../tools/tool.ts';
import { markOf, untrusted, UNTRUSTED_CHARS_MAX } from '../../tools/untrusted-result.ts';
import { rankTools, type OfferedTool, type ToolDefinition } from './rules.ts';

const FOUND_MAX = 8;
const FOUND_CHARS_MAX = Math.floor(UNTRUSTED_CHARS_MAX / FOUND_MAX);

export interface CallableTool extends OfferedTool {
  tool: Tool;
}

export function createFindAndCall(tools: readonly CallableTool[]): Tool[] {
  const servers = [...new Set(tools.map(({ server }) => server))].toSorted();
  return [createFind(tools, servers), createCall(tools)];
}

function createFind(tools: readonly CallableTool[], servers: readonly string[]): Tool {
  return defineTool({
    name: 'mcp_find',
    description: `Search the ${tools.length} tools of the MCP servers ${servers.join(', ')}. Returns the names, descriptions and input schemas of those that fit best; run one with mcp_call.`,
    summary: 'Search the tools of MCP servers',
    input: z.strictObject({
      query: z.string().trim().min(1).max(500).describe('What the tool should do, in a few words'),
    }),
    isIdempotent: true,
    isReadOnly: true,
    run: ({ query }, call) => {
      const found = rankTools(tools, query, FOUND_MAX);
      if (found.length === 0)
        return Promise.resolve(
          textOutcome(`No tool of ${servers.join(', ')} has a word of this in its name or description.`),
        );
      const lines = found.map(({ offeredAs, definition }) =>
        cutHead(describeTool(offeredAs, definition), FOUND_CHARS_MAX),
      );
      return Promise.resolve(textOutcome(untrusted('List of tools', lines.join('\n\n'), markOf(call))));
    },
  });
}

/** A tool in words for a model. */
export function describeTool(name: string, { description, inputSchema }: ToolDefinition): string {
  return `${name}: ${description}\ninput: ${JSON.stringify(inputSchema)}`;
}

function createCall(tools: readonly CallableTool[]): Tool {
  const byName = new Map(tools.map(({ offeredAs, tool }) => [offeredAs, tool]));
  const find = (input: unknown): Tool | undefined =>
    isObject(input) && typeof input['name'] === 'string' ? byName.get(input['name'].trim()) : undefined;
  const tool = defineTool({
    name: 'mcp_call',
    description: 'Run a tool of an MCP server that mcp_find has named.',
    summary: 'Run a tool of an MCP server',
    input: z.strictObject({
      name: z.string().min(1).describe('The name of the tool, as mcp_find returns it'),
      input: z.record(z.string(), z.unknown()).describe('Its input, as its schema says'),
    }),
    isIdempotent: tools.every((each) => each.isIdempotent),
    isReadOnly: tools.every((each) => each.isReadOnly),
    timeoutMs: Math.max(...tools.map((each) => each.tool.timeoutMs ?? 0)),
    async run({ name, input }, call) {
      const target = byName.get(name.trim());
      if (target !== undefined) return await target.run(input, call);
      const close = findClosest(name, [...byName.keys()]);
      const hint = close === undefined ? 'Search with mcp_find' : `Did you mean ${close}?`;
      return errorOutcome(`mcp_call: name: there is no tool ${JSON.stringify(cutHead(name, 100))}. ${hint}`);
    },
  });
  return {
    ...tool,
    runs: (input) => find(input)?.spec.name,
    mayRepeat: (input) => find(input)?.isIdempotent ?? true,
    onlyReads: (input) => find(input)?.isReadOnly ?? true,
  };
}
