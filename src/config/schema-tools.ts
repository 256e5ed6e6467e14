// The shape of `tools` and `mcp`: which tools there are, the limits of those that have some, and
// the MCP servers whose tools agents have.
import { z } from 'zod';
import {
  choice,
  optional,
  section,
  text,
  word,
  count,
  deliveryUrl,
  duration,
  flag,
  headerValue,
  hosts,
  httpUrl,
  LIST_MAX,
  names,
  path,
  seconds,
  plainText,
  reachable,
} from './schema-scalars.ts';
import { APPROVAL_ASKS, APPROVAL_CONDITIONS, nameMcpTool } from '../core/tool-policy.ts';
import { externalTools } from './schema-inputs.ts';
import type { Refuse } from './config-error.ts';

/** Dollars. */
const price = z.number().min(0).max(10_000);
const model = word.describe('the model, as `provider/model`');
const options = optional(z.record(z.string(), z.unknown())).describe(
  'fields of each request, in the words of the AI SDK, such as `{quality: "low"}`',
);

/**
 * The models of pictures and sounds: each is a tool or, for `transcribe`, what audio is read with.
 * Without its model it is not there.
 */
const mediaModels = {
  image: optional(section({ model })).describe('the tool `image`: a model that sees reads a picture'),
  imageGenerate: optional(
    section({
      model,
      size: optional(z.string().regex(/^\d{2,5}x\d{2,5}$/, 'a size such as "1024x1024"')).describe(
        'the size of pictures; none: the default of the model',
      ),
      options,
      usdPerImage: optional(price).describe('the price of a picture, if the model has none by tokens'),
    }),
  ).describe('the tool `image_generate`'),
  tts: optional(
    section({
      model,
      voice: optional(text).describe('the voice; none: the default of the model'),
      format: choice(['mp3', 'opus', 'aac', 'flac', 'wav'], 'mp3').describe('the format of the files'),
      options,
      usdPerMChars: optional(price).describe('the price of a million characters, if the model has none by tokens'),
    }),
  ).describe('the tool `tts`'),
  transcribe: optional(
    section({
      model,
      options,
      usdPerMinute: optional(price).describe('the price of a minute of audio, if the model has none by tokens'),
    }),
  ).describe('audio that comes with messages is transcribed with this model'),
};

/** How long a call waits for a person that nothing else is said of. */
export const APPROVAL_MS = 86_400_000;

/** In the order in which they are asked unless the configuration has another. */
export const SEARCH_PROVIDERS = ['brave', 'tavily', 'exa', 'searxng'] as const;

export type SearchProviderName = (typeof SEARCH_PROVIDERS)[number];

const keyed = (variable: string) =>
  section({
    apiKey: optional(headerValue).describe(`its key; \`${variable}\` overrides it`),
    baseUrl: optional(httpUrl).describe('another address in place of its own, such as that of a proxy'),
  });

export const toolsSchema = section({
  allow: optional(names).describe(
    'names, or patterns with `*`, of the tools that agents can use; none: all tools, `[]`: no tools. A name without `*` that matches no tool is a fault',
  ),
  deny: names.default([]).describe("exceptions from `allow`. An agent's own policy applies in addition"),
  exec: section({
    enabled: flag(true).describe('`false`: no shell commands'),
    timeoutSeconds: seconds().default(120).describe('the deadline of a command'),
    backgroundSeconds: seconds().default(1800).describe('the deadline of a command in the background'),
    sandbox: choice(['auto', 'required', 'off'], 'auto').describe(
      'whether commands run in a [sandbox](sandbox.md): `auto` where its check says that it works, `required` there and nowhere else, `off` never',
    ),
    user: optional(z.union([word, count(0, 4_294_967_294)])).describe(
      'the user (name or number) that runs commands when the service runs as root; none: see [outside a sandbox](sandbox.md#outside-a-sandbox)',
    ),
  }),
  fetch: section({
    enabled: flag(true).describe('`false`: no `web_fetch`'),
    timeoutSeconds: seconds().default(30).describe('the deadline of a fetch'),
    maxBytes: count(1, 100_000_000).default(2_097_152).describe('maximum number of bytes of a page'),
    allowPrivate: hosts.describe(
      'hosts (`wiki.lan`, `10.0.0.7:8080`) that can be fetched although their addresses are not public',
    ),
  }),
  search: section({
    providers: optional(
      z
        .array(z.enum(SEARCH_PROVIDERS))
        .min(1)
        .refine((list) => new Set(list).size === list.length, 'each provider once'),
    ).describe(
      'the providers of [`web_search`](tools.md#web-search), in the order in which they are asked; none: those that have a key or an address, in the order brave, tavily, exa, searxng',
    ),
    brave: keyed('BRAVE_API_KEY'),
    tavily: keyed('TAVILY_API_KEY'),
    exa: keyed('EXA_API_KEY'),
    searxng: section({
      baseUrl: optional(httpUrl).describe('the address of a SearXNG, which can be in a private network'),
    }),
    timeoutSeconds: seconds().default(10).describe('how long one provider may take to answer'),
  }),
  ...mediaModels,
  message: section({
    enabled: flag(true).describe('`false`: no `message` tool'),
    channels: names.default([]).describe('channels that agents can write to beside that of the session; `*`: all'),
  }),
  sessions: section({
    visibility: choice(['self', 'tree', 'agent', 'all'], 'tree').describe(
      "the sessions that an agent's tools can read and write to: `self` its own, `tree` also those that it spawned, `agent` all of its agent, `all` also those that `agentToAgent` allows",
    ),
  }),
  agentToAgent: section({
    enabled: flag(false).describe('whether sessions of different agents can read and write to each other'),
    allow: names.default([]).describe('the agents to which this applies; `*`: all'),
  }),
  approvals: section({
    rules: z
      .array(
        z.strictObject({
          tools: names.min(1).describe('names of tools, or patterns with `*`'),
          agents: names.default([]).describe('the agents to which the rule applies; none: all'),
          when: z
            .array(z.enum(APPROVAL_CONDITIONS))
            .default([])
            .describe(
              'the rule applies if one of these holds of the call; none: always. See [approvals](approvals.md#conditions)',
            ),
          ask: choice(APPROVAL_ASKS, 'always').describe(
            '`always`: each call; `once`: not again for the same input in the same session; `never`: matching calls run, whatever later rules say',
          ),
          timeout: duration(1, 1_000, 30 * 86_400_000)
            .default(APPROVAL_MS)
            .describe('without a decision until then, the call is denied'),
        }),
      )
      .max(LIST_MAX)
      .default([])
      .describe('tool calls that wait for a person; the first rule that matches a call decides'),
    approvers: names
      .default([])
      .describe(
        'senders (`42` or `telegram:42`) who can decide with `/approve` and `/deny` in a chat; none: no sender can',
      ),
    webhook: optional(deliveryUrl).describe('where new requests are sent, signed as deliveries are'),
  }),
  browser: section({
    enabled: flag(false).describe(
      '`true`: agents have a [browser](tools.md#browser): the MCP server `browser`, for which `@playwright/mcp` has to be installed',
    ),
    executablePath: optional(path).describe('the Chromium that is started; none: the Chrome of the machine'),
  }),
  canvas: section({
    enabled: flag(false).describe(
      '`true`: agents have the tool [`canvas`](tools.md#canvas), which shows an HTML page beside the session in the dashboard',
    ),
  }),
  gateway: section({
    enabled: flag(false).describe(
      '`true`: agents have the tool [`gateway`](tools.md#gateway) in turns of owners; changes of the configuration wait for an approval',
    ),
  }),
  external: externalTools
    .default([])
    .describe(
      'tools that other programs run: a call waits for its result, as [external tools](tools.md#external-tools) describe',
    ),
  externalWebhook: optional(deliveryUrl).describe('where calls of external tools are sent, signed as deliveries are'),
  loopDetection: section({
    unknownToolThreshold: count(1, 1000)
      .default(3)
      .describe('calls of a tool that does not exist after which the turn ends with a note'),
  }),
});

// `mcp`: the MCP servers, in the form in which other clients write them.

export const MCP_TRUST = ['none', 'hints'] as const;

/**
 * A provider takes names of tools that begin with a letter; the two underscores divide the name of
 * the server from that of the tool.
 */
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
