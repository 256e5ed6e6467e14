// The shape of `tools`: which there are, and the limits of those that have some.
import { z } from 'zod';
import { choice, count, flag, hosts, names, optional, seconds, section, word } from './schema-scalars.ts';

export const toolsSchema = section({
  allow: optional(names).describe(
    'names, or patterns with `*`, of the tools that agents can use; none: all tools, `[]`: no tools. A name without `*` that matches no tool is a fault',
  ),
  deny: names.default([]).describe("exceptions from `allow`. An agent's own policy applies in addition"),
  exec: section({
    enabled: flag(true).describe('`false`: no shell commands'),
    timeoutSeconds: seconds().default(120).describe('the deadline of a command'),
    backgroundSeconds: seconds().default(1800).describe('the deadline of a command in the background'),
    sandbox: z.literal('off').default('off').describe('there is no sandbox; see [limits](limits.md)'),
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
  loopDetection: section({
    unknownToolThreshold: count(1, 1000)
      .default(3)
      .describe('calls of a tool that does not exist after which the turn ends with a note'),
  }),
});
