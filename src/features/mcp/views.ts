// What people see of MCP servers: those of the configuration, with what is stored of them.
import type { Config, McpServerSettings } from '../../config.ts';
import type { McpServerView, McpToolView } from '../../contract/mcp.ts';
import type { ViewDatabase } from '../../database/page.ts';
import { sandboxStep } from '../../tools/sandbox/rules/sandbox-step.ts';
import { findClosest } from '../../config/config-error.ts';
import { describeChange, judgeTools, type ListedTool } from './rules.ts';
import { viewMcpServers, type ServerInfo, type ServerRow } from './store/servers.ts';

export async function listServers({ mcp }: Pick<Config, 'mcp'>, db: ViewDatabase): Promise<McpServerView[]> {
  const names = Object.keys(mcp.servers);
  const rows = names.length === 0 ? [] : await viewMcpServers(db, names);
  const byName = new Map(rows.map((row) => [row.name, row]));
  return Object.entries(mcp.servers)
    .map(([name, settings]) => viewServer(name, settings, byName.get(name)))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

function viewServer(name: string, settings: McpServerSettings, row: ServerRow | undefined): McpServerView {
  const tools = judgeTools(name, settings, row?.tools ?? []);
  const { sandbox } = (settings.command === undefined ? null : row?.info) ?? {};
  const offered = tools.filter(({ leftOut }) => leftOut === null);
  return {
    name,
    transport: settings.command === undefined ? 'http' : 'stdio',
    agents: settings.agents ?? null,
    state: settings.enabled ? (row?.state ?? 'new') : 'disabled',
    since: time(row?.changedAt),
    error: row?.error ?? null,
    serverName: row?.info?.name ?? null,
    serverVersion: row?.info?.version ?? null,
    protocol: row?.info?.protocol ?? null,
    sandbox: sandbox === undefined ? null : placeOf(sandbox),
    sandboxReason: sandbox?.reason ?? null,
    sandboxFix: sandbox?.isDecided !== false || sandbox.reason === null ? null : sandboxStep(sandbox.reason),
    toolCount: settings.enabled ? offered.length : 0,
    leftOutCount: tools.length - offered.length,
    changedCount: row?.tools.filter(({ changedAt }) => changedAt !== null).length ?? 0,
    unknownNames: row?.listedAt === null || row === undefined ? [] : unknownToolNames(settings, row.tools),
    listedAt: time(row?.listedAt),
    checkedAt: time(row?.checkedAt),
  };
}

function placeOf({ isOn, reason }: NonNullable<ServerInfo['sandbox']>): 'on' | 'reduced' | 'off' {
  if (!isOn) return 'off';
  return reason === null ? 'on' : 'reduced';
}

/** The names in the configuration that none of the tools has, with what was probably meant. */
function unknownToolNames(
  { tools: { allow = [], deny, ...named } }: McpServerSettings,
  tools: readonly ListedTool[],
): string[] {
  const known = tools.map(({ name }) => name);
  const folded = new Set(known.map((name) => name.toLowerCase()));
  const written = [...allow, ...deny].filter((name) => !name.includes('*') && !folded.has(name.trim().toLowerCase()));
  return [...written, ...Object.keys(named).filter((name) => !known.includes(name))].map((name) => {
    const close = findClosest(name, known);
    return close === undefined ? name : `${name} (did you mean ${close}?)`;
  });
}

/** The tools of a server; null: the configuration has no such server. */
export async function listTools(
  { mcp }: Pick<Config, 'mcp'>,
  db: ViewDatabase,
  server: string,
): Promise<McpToolView[] | null> {
  const settings = Object.hasOwn(mcp.servers, server) ? mcp.servers[server] : undefined;
  if (settings === undefined) return null;
  const [row] = await viewMcpServers(db, [server]);
  const stored = row?.tools ?? [];
  return judgeTools(server, settings, stored).map(
    ({ name, offeredAs, definition, isReadOnly, isIdempotent, approval, leftOut }, at) => {
      const { seenAt, changedAt = null, previous = null } = stored[at] ?? {};
      return {
        name,
        offeredAs,
        description: definition.description,
        inputSchema: definition.inputSchema,
        isReadOnly,
        isIdempotent,
        approval,
        leftOut,
        seenAt: time(seenAt) ?? '',
        changedAt: time(changedAt),
        change: previous === null ? null : describeChange(previous, definition),
      };
    },
  );
}

function time(at: string | Date | null | undefined): string | null {
  return at === null || at === undefined ? null : new Date(at).toISOString();
}
