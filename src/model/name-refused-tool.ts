// Which tool a provider refuses: some count tools from 0 (`tools.3.custom.input_schema`), and no provider knows the MCP server of one.
import { serverOfMcpTool } from '../core/tool-policy.ts';
import { ModelError } from './model.ts';

const PLACES = [/\btools\.(\d+)\./, /function_?declarations\[(\d+)\]/i, /\btools\[(\d+)\]/];

/** The error with the name of the tool that its request was refused for, and its MCP server; the same where it is about no tool. */
export function nameRefusedTool(error: unknown, tools: readonly { name: string }[]): unknown {
  if (!(error instanceof ModelError) || (error.status !== 400 && error.status !== 422)) return error;
  const place = PLACES.flatMap((pattern) => pattern.exec(error.message)?.[1] ?? [])[0];
  const quoted = tools.find(({ name }) => new RegExp(`['"\`]${name}['"\`]`).test(error.message));
  const name = quoted?.name ?? tools[Number(place ?? Number.NaN)]?.name;
  if (name === undefined) return error;
  const server = serverOfMcpTool(name);
  const from =
    server === null
      ? ''
      : ` of the MCP server ${server}: deny it in mcp.servers.${server}.tools, or mend its schema there`;
  return error.saying(`${error.message} (the tool ${name}${from})`);
}
