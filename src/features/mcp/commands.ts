// `holdfast mcp`: MCP servers and their tools.
import type { McpToolView } from '../../contract/mcp.ts';
import { CliError, EXIT } from '../../cli/cli-error.ts';
import { command, lists, localCommand, prints, type Words } from '../../cli/command.ts';
import type { Terminal } from '../../cli/terminal.ts';

const SERVER = { server: ['<server>', 'its name in the configuration'] } as const;

export const words: Words = {
  mcp: {
    list: command({
      summary: 'list the MCP servers of the configuration, with how they answered last',
      run: lists(
        'listMcpServers',
        (terminal) => [
          { title: 'SERVER', value: (row) => row.name },
          { title: 'STATE', value: (row) => row.state, style: (row) => (row.state === 'lost' ? 'red' : 'green') },
          {
            title: 'SANDBOX',
            value: ({ sandbox, sandboxReason }) => (sandboxReason === null ? sandbox : `${sandbox}: ${sandboxReason}`),
            dropOrder: 5,
            isProse: true,
          },
          { title: 'TOOLS', value: (row) => row.toolCount },
          { title: 'LEFT OUT', value: (row) => row.leftOutCount, dropOrder: 2 },
          { title: 'CHANGED', value: (row) => row.changedCount, dropOrder: 3 },
          {
            title: 'ASKED',
            value: (row) => (row.checkedAt === null ? 'never' : terminal.time(row.checkedAt)),
            dropOrder: 4,
          },
          {
            title: 'PROBLEM',
            value: (row) => row.error ?? describeUnknown(row.unknownNames),
            dropOrder: 1,
            isProse: true,
          },
        ],
        {
          none: 'the configuration has no MCP servers; add them under mcp.servers',
          note({ items }, terminal) {
            for (const { name, sandbox, sandboxReason, sandboxFix } of items) {
              if (sandboxFix === null) continue;
              const how = sandbox === 'off' ? 'runs outside the sandbox' : 'lacks something in the sandbox';
              terminal.note(`${name} ${how}: ${sandboxReason}. ${sandboxFix}`);
            }
          },
        },
      ),
    }),
    tools: command({
      summary: 'print the tools of an MCP server, what counts for them, and how their descriptions have changed',
      takes: SERVER,
      async run({ server }, api, terminal) {
        const answer = await api.call('listMcpTools', { server });
        if (terminal.isJson) terminal.json(answer);
        else
          terminal.print(
            answer.items.map((tool) => describeTool(tool, terminal)).join('\n') || `${server} has no tools`,
          );
      },
    }),
    login: localCommand({
      summary: 'log in at an MCP server by OAuth: prints an address for a browser on this machine',
      takes: SERVER,
      async run(input, { terminal }) {
        const { logIn } = await import('./login-command.ts');
        return await logIn(input, terminal);
      },
    }),
    probe: command({
      summary: 'have a worker ask an MCP server for its tools now, and print how that ended',
      takes: SERVER,
      async run({ server }, api, terminal) {
        return probe(server)({ server }, api, terminal);
      },
    }),
  },
};

const probe = (server: string) =>
  prints('probeMcpServer', ({ error, toolCount, serverName, serverVersion, protocol }) => {
    if (error === null)
      return `${server} has ${toolCount} tools (${serverName} ${serverVersion}, protocol ${protocol})`;
    throw new CliError({
      code: 'mcp_server_lost',
      exitCode: EXIT.failed,
      message: `${server} cannot be reached: ${error}`,
      fix: `Correct mcp.servers.${server} and restart the workers, or start the server`,
    });
  });

function describeUnknown(names: readonly string[]): string {
  return names.length === 0 ? '' : `it has no tool ${names.join(', ')}`;
}

function describeTool(tool: McpToolView, terminal: Terminal): string {
  const kind = tool.isReadOnly ? 'reads' : tool.isIdempotent ? 'may run twice' : 'runs once';
  const lines = [`${tool.offeredAs} (${tool.leftOut === null ? kind : `left out: ${tool.leftOut}`})`];
  const [first = ''] = tool.description.split('\n');
  if (first !== '') lines.push(`  ${first}`);
  if (tool.change !== null)
    lines.push(`  changed ${terminal.time(tool.changedAt ?? '')}:`, ...tool.change.map((line) => `    ${line}`));
  return lines.join('\n');
}
