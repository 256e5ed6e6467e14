// Refuses policies that name what does not exist. A misspelt name in `deny` denies nothing, so it would leave on what was meant to be off
// (G30): it stops the start instead. Patterns with `*` may match nothing, because tools of plugins come and go.
import { type ExternalTool, BUILT_IN_TOOLS, type ToolPolicy } from '../core/tool-policy.ts';
import { findClosest } from './find-closest.ts';
import { collectFaults, refuseFaults, type Refuse } from './config-error.ts';
import type { DeepPartial } from './walk-schema.ts';
import type { Config, FileSettings } from './schema.ts';

/** Those that stand in for the tools of MCP servers where there are too many. */
const MCP_TOOLS = ['mcp_find', 'mcp_call'];

type PolicySettings = Pick<FileSettings, 'agents' | 'tools' | 'plugins' | 'cron' | 'mcp'>;

/** Throws `ConfigError` with every name of a policy that is none of these tools, nor a built-in one, and every external tool with the name of one. */
export function checkKnownTools(config: Config, tools: readonly string[]): void {
  refuseFaults((refuse) => {
    refuseUnknownTools(config, [...BUILT_IN_TOOLS, ...tools], refuse);
    refuseTakenNames(config, [...BUILT_IN_TOOLS, ...tools], refuse);
  });
}

/** Refuses unknown names as far as they can be known before plugins are loaded: with plugins, tools are checked afterwards. */
export function checkPolicies(settings: PolicySettings, refuse: Refuse): void {
  if (settings.plugins.modules.length === 0) refuseUnknownTools(settings, BUILT_IN_TOOLS, refuse);
  refuseTakenNames(settings, BUILT_IN_TOOLS, refuse);
  refuseUnknownAgents(settings, refuse);
}

/** Owned by this file: written once, when the plugins of a process are loaded. */
const addedTools = new WeakMap<Config, readonly string[]>();

/** Notes the tools that plugins add in this process. For the loader of plugins. */
export function noteAddedTools(config: Config, tools: readonly string[]): void {
  addedTools.set(config, tools);
}

/**
 * The fault of the policy of a request: a name that no tool has; null: there is none. A process that has not loaded its plugins cannot know which
 * tools they add: with plugins configured it lets any name pass, and a name that no tool has allows and denies nothing.
 */
export function toolPolicyFault(
  config: Config,
  policy: ToolPolicy | undefined,
  externalTools: readonly ExternalTool[] = [],
): { path: string; message: string } | null {
  const added = addedTools.get(config) ?? (config.plugins.modules.length === 0 ? [] : null);
  const names = [...BUILT_IN_TOOLS, ...(added ?? [])];
  const [fault] = collectFaults((refuse) => {
    const taken = [...names, ...config.tools.external.map(({ name }) => name)];
    refuseTakenNames({ mcp: config.mcp, tools: { external: externalTools } }, taken, refuse);
    if (policy === undefined || added === null) return;
    const known = knownTools(config, [...names, ...externalTools.map(({ name }) => name)]);
    refuseUnknownNames({ path: 'tools', policy }, known, refuse);
  });
  if (fault === undefined) return null;
  return { path: fault.path, message: `expected ${fault.allowed}, got ${JSON.stringify(fault.value)}` };
}

/** Refuses external tools with the name that another tool has, or that a tool of an MCP server may have. */
function refuseTakenNames(
  { tools, mcp }: { tools: { external: readonly Pick<ExternalTool, 'name'>[] }; mcp: { servers: object } },
  taken: readonly string[],
  refuse: Refuse,
): void {
  const folded = new Set([...taken, ...MCP_TOOLS].map((name) => name.toLowerCase()));
  const prefixes = Object.keys(mcp.servers).map((server) => `${server}__`.toLowerCase());
  for (const [at, { name }] of tools.external.entries()) {
    const written = name.toLowerCase();
    if (folded.has(written) || prefixes.some((prefix) => written.startsWith(prefix)))
      refuse(`tools.external[${at}].name`, name, 'a name that no other tool has (letter case aside)');
  }
}

interface KnownTools {
  names: readonly string[];
  /** Any name that begins with one of these may be a tool: which there are, an MCP server says later. */
  prefixes: readonly string[];
}

function knownTools({ mcp, tools }: Pick<PolicySettings, 'mcp' | 'tools'>, own: readonly string[]): KnownTools {
  const names = [...own, ...tools.external.map(({ name }) => name)];
  return { names, prefixes: Object.keys(mcp.servers).map((server) => `${server}__`.toLowerCase()) };
}

function refuseUnknownTools(settings: PolicySettings, names: readonly string[], refuse: Refuse): void {
  const { tools, agents, cron } = settings;
  const known = knownTools(settings, names);
  const policies = [
    { path: 'tools', policy: tools },
    ...agents.list.map((agent, at) => ({ path: `agents.list[${at}].tools`, policy: agent.tools ?? {} })),
    ...cron.jobs.map((job, at) => ({ path: `cron.jobs[${at}].tools`, policy: job.tools ?? {} })),
  ];
  for (const policy of policies) refuseUnknownNames(policy, known, refuse);
}

function refuseUnknownNames(
  { path, policy }: { path: string; policy: DeepPartial<ToolPolicy> },
  { names, prefixes }: KnownTools,
  refuse: Refuse,
): void {
  const folded = new Set(names.map((name) => name.toLowerCase()));
  for (const list of ['allow', 'deny'] as const) {
    for (const [at, name] of (policy[list] ?? []).entries()) {
      const written = name.toLowerCase();
      if (name.includes('*') || folded.has(written) || prefixes.some((prefix) => written.startsWith(prefix))) continue;
      refuse(`${path}.${list}[${at}]`, name, `the name of a tool or a pattern with "*" (${hintFor(name, names)})`);
    }
  }
}

function refuseUnknownAgents({ tools, agents }: PolicySettings, refuse: Refuse): void {
  const ids = agents.list.map(({ id }) => id);
  const lists = [
    { path: 'agents.defaults.subagents.allowAgents', names: agents.defaults.subagents.allowAgents },
    ...agents.list.map(({ subagents }, at) => ({
      path: `agents.list[${at}].subagents.allowAgents`,
      names: subagents?.allowAgents ?? [],
    })),
    { path: 'tools.agentToAgent.allow', names: tools.agentToAgent.allow },
  ];
  for (const { path, names } of lists) {
    for (const [at, name] of names.entries()) {
      if (name === '*' || ids.includes(name)) continue;
      refuse(`${path}[${at}]`, name, `"*" or the id of an agent (${hintFor(name, ids)})`);
    }
  }
}

function hintFor(name: string, known: readonly string[]): string {
  const close = findClosest(name, known);
  return close === undefined ? `known: ${known.join(', ')}` : `did you mean ${JSON.stringify(close)}?`;
}
