// The names of the tools of MCP servers among those of an agent.

/** Divides the name of a server, which does not have it, from that of its tool. */
const BETWEEN = '__';

/** The name under which a tool is offered. Characters that not all providers take become `_`. */
export function nameMcpTool(server: string, tool: string): string {
  return `${server}${BETWEEN}${tool.replaceAll(/[^A-Za-z0-9_-]/g, '_')}`;
}

/** The server of a tool that has such a name; null: it is of no server. */
export function serverOfMcpTool(name: string): string | null {
  const at = name.indexOf(BETWEEN);
  return at < 1 ? null : name.slice(0, at);
}
