// The shape of `mcp`: the MCP servers whose tools agents have, in the form in which other clients write them.
import { z } from 'zod';
import {
  choice,
  count,
  flag,
  headerValue,
  httpUrl,
  names,
  optional,
  path,
  plainText,
  reachable,
  LIST_MAX,
  section,
  seconds,
  text,
} from './schema-scalars.ts';
import { APPROVAL_ASKS } from './choices.ts';
import { nameMcpTool } from '../core/tool-policy.ts';
import type { Refuse } from './config-error.ts';
import { APPROVAL_MS, type toolsSchema } from './schema-tools.ts';

export const MCP_TRUST = ['none', 'hints'] as const;

/** A provider takes names of tools that begin with a letter; the two underscores divide the name of the server from that of the tool. */
const SERVER_NAME = /^[A-Za-z](?:[A-Za-z0-9-]|_(?!_)){0,30}[A-Za-z0-9]$|^[A-Za-z]$/;
const SERVER_NAME_TEXT =
  '1 to 32 letters, digits, - and single _, that begin with a letter and end with a letter or a digit';

const toolSettings = z.strictObject({
  idempotent: optional(z.boolean()).describe(
    '`true`: the server runs a call once, however often the same idempotency key arrives, so that it is repeated after a crash',
  ),
  readOnly: optional(z.boolean()).describe('`true`: a call only reads; implies `idempotent`'),
  approval: optional(z.enum(APPROVAL_ASKS)).describe(
    'whether a person is [asked](approvals.md) before a call, as `ask` of a rule; counts before `tools.approvals.rules`',
  ),
});

const toolsOfServer = z
  .object({
    allow: optional(names).describe('names, or patterns with `*`, of its tools that are offered; none: all'),
    deny: names.default([]).describe('exceptions from `allow`'),
  })
  .catchall(toolSettings)
  .prefault({});

export const mcpServerSchema = z.strictObject({
  type: optional(z.enum(['stdio', 'http', 'streamable-http'])).describe(
    'as other clients write it; `command` or `url` says the same',
  ),
  command: optional(path).describe('the program of a server that is a process (stdio); each worker starts its own'),
  args: z.array(plainText(20_000)).max(1000).default([]).describe('its arguments. Put secrets into `env`'),
  env: z
    .record(z.string().regex(/^[A-Za-z_]\w*$/, 'the name of an environment variable'), plainText(100_000))
    .default({})
    .describe('its environment, beside HOME, LOGNAME, PATH, SHELL, TERM and USER of the worker'),
  cwd: optional(path).describe(
    'its working directory, which it may write; none: a folder of its own in the sandbox, that of the worker outside',
  ),
  sandbox: optional(z.enum(['auto', 'off'])).describe(
    '`auto` or none: it runs in the [sandbox](mcp.md#in-the-sandbox) as `tools.exec.sandbox` says of commands; `off`: outside',
  ),
  network: optional(z.union([z.literal('none'), z.array(reachable).max(LIST_MAX)])).describe(
    'the hosts that it can reach in the sandbox, through a proxy, as `sandbox.network`; none: all public ones (`["*"]`)',
  ),
  url: optional(httpUrl).describe('the address of a server that speaks streamable HTTP'),
  headers: z
    .record(z.string().regex(/^[\w!#$%&'*+.^`|~-]+$/, 'an HTTP header name'), headerValue)
    .default({})
    .describe('headers of each request to it'),
  auth: z
    .strictObject({
      type: optional(z.literal('oauth')).describe('`oauth`: by a login, see `holdfast mcp login`; none: by `token`'),
      token: optional(headerValue).describe('sent as `Authorization: Bearer <token>`'),
      clientId: optional(text).describe(
        'with `oauth`, the id of a client that is registered there; none: it registers itself',
      ),
      clientSecret: optional(text).describe('the secret of that client, if it has one'),
      scope: optional(text).describe('with `oauth`, the scopes that are asked for; none: those that the server names'),
    })
    .exactOptional()
    .describe('how it knows Holdfast'),
  enabled: flag(true).describe('`false`: as if it were not here'),
  agents: optional(names).describe('the ids of the agents that have its tools; none: all'),
  tools: toolsOfServer.describe(
    'which of its tools are offered, and by the name of a tool what the operator knows of it, such as `{"search": {"readOnly": true}}`',
  ),
  trust: choice(MCP_TRUST, 'none').describe(
    '`hints`: what the server says of its tools (`readOnlyHint`, `idempotentHint`) counts where `tools` says nothing; `none`: nothing that it says counts',
  ),
  timeoutSeconds: seconds().default(60).describe('the deadline of a call'),
  node: flag(false).describe('`true`: a paired device; agents have its tools through the tool `nodes`, not one by one'),
});
/** `perSession`: each session has a process of its own. Only presets have it. */
export type McpServerSettings = z.output<typeof mcpServerSchema> & { perSession?: true };

export const mcpSchema = section({
  toolsMax: count(0, 1000)
    .default(40)
    .describe(
      'the most tools of MCP servers that an agent is shown; with more, it gets `mcp_find` and `mcp_call` in their place',
    ),
  servers: z
    .record(z.string().regex(SERVER_NAME, SERVER_NAME_TEXT), mcpServerSchema)
    .default({})
    .describe('[MCP servers](mcp.md) by name'),
});
export type McpSettings = z.output<typeof mcpSchema>;

/** Refuses servers that cannot be reached by what is said about them. */
export function checkMcp({ servers }: McpSettings, agentIds: readonly string[], refuse: Refuse): void {
  const seen = new Map<string, string>();
  for (const [name, settings] of Object.entries(servers)) {
    const at = `mcp.servers.${name}`;
    const same = seen.get(name.toLowerCase());
    if (same !== undefined) refuse(at, name, `a name that differs from "${same}" in more than the case of letters`);
    seen.set(name.toLowerCase(), name);
    checkTransport(at, settings, refuse);
    for (const [index, id] of (settings.agents ?? []).entries())
      if (!agentIds.includes(id)) refuse(`${at}.agents[${index}]`, id, `the id of an agent (${agentIds.join(', ')})`);
  }
}

function checkTransport(at: string, settings: McpServerSettings, refuse: Refuse): void {
  const { type, command, url, args, env, cwd, sandbox, network, headers, auth } = settings;
  if ((command === undefined) === (url === undefined)) {
    const value = command === undefined ? null : { command, url };
    refuse(at, value, '"command" with "args" for a server that Holdfast starts, or "url" for one that runs already');
    return;
  }
  const { type: how, token, ...ofOAuth } = auth ?? { token: '' };
  if ((how === undefined) === (token === undefined))
    refuse(`${at}.auth`, Object.keys(auth ?? {}), '"token", or "type": "oauth" without it');
  if (how === undefined && Object.keys(ofOAuth).length > 0)
    refuse(`${at}.auth`, Object.keys(ofOAuth), '"clientId", "clientSecret" and "scope" with "type": "oauth" only');
  if (type !== undefined && (type === 'stdio') !== (command !== undefined))
    refuse(`${at}.type`, type, command === undefined ? '"http" with "url"' : '"stdio" with "command"');
  const other = command === undefined ? { args, env, cwd, sandbox, network } : { headers, auth };
  for (const [field, value = {}] of Object.entries(other)) {
    const given = typeof value === 'string' ? value : Object.keys(value);
    if (given.length > 0)
      refuse(`${at}.${field}`, given, `nothing with "${command === undefined ? 'url' : 'command'}"`);
  }
}

type ApprovalRule = z.output<typeof toolsSchema>['approvals']['rules'][number];

/** The rules of approvals that the settings of tools make. */
export function approvalRulesOf({ servers }: McpSettings): ApprovalRule[] {
  return Object.entries(servers).flatMap(([server, { tools }]) =>
    Object.entries(tools).flatMap(([tool, settings]) => {
      if (settings === undefined || Array.isArray(settings) || settings.approval === undefined) return [];
      return [
        { tools: [nameMcpTool(server, tool)], agents: [], when: [], ask: settings.approval, timeout: APPROVAL_MS },
      ];
    }),
  );
}
