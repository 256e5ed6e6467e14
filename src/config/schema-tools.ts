// The shape of `tools`: which there are, and the limits of those that have some.
import { z } from 'zod';
import { mediaModels } from './schema-media-models.ts';
import { APPROVAL_ASKS, APPROVAL_CONDITIONS } from './choices.ts';
import { externalTools } from './schema-inputs.ts';
import {
  choice,
  count,
  deliveryUrl,
  duration,
  flag,
  headerValue,
  hosts,
  httpUrl,
  LIST_MAX,
  names,
  optional,
  path,
  seconds,
  section,
  word,
} from './schema-scalars.ts';

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
      'the user (name or number) that runs commands when the service runs as root; none: see [limits](limits.md)',
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
      'the providers of [`web_search`](web-search.md), in the order in which they are asked; none: those that have a key or an address, in the order brave, tavily, exa, searxng',
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
      '`true`: agents have a [browser](browser.md): the MCP server `browser`, for which `@playwright/mcp` has to be installed',
    ),
    executablePath: optional(path).describe('the Chromium that is started; none: the Chrome of the machine'),
  }),
  canvas: section({
    enabled: flag(false).describe(
      '`true`: agents have the tool [`canvas`](canvas.md), which shows an HTML page beside the session in the dashboard',
    ),
  }),
  gateway: section({
    enabled: flag(false).describe(
      '`true`: agents have the tool [`gateway`](gateway.md) in turns of owners; changes of the configuration wait for an approval',
    ),
  }),
  external: externalTools
    .default([])
    .describe(
      'tools that other programs run: a call waits for its result, as [external tools](external-tools.md) describe',
    ),
  externalWebhook: optional(deliveryUrl).describe('where calls of external tools are sent, signed as deliveries are'),
  loopDetection: section({
    unknownToolThreshold: count(1, 1000)
      .default(3)
      .describe('calls of a tool that does not exist after which the turn ends with a note'),
  }),
});
