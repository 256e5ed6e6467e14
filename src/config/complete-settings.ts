// What needs more than one value of the configuration: paths made absolute, aliases that exist, limits that fit each other.
import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { BROWSER_SERVER, browserServer } from './browser-preset.ts';
import { checkChannels } from './check-channels.ts';
import { checkModels, listProviders, writtenAgents } from './check-models.ts';
import { checkPolicies } from './check-tools.ts';
import { collectFaults, type ConfigIssue, type Refuse } from './config-error.ts';
import { resolveChat, type ChatDelivery } from './resolve-chat.ts';
import { formatChannelUrl } from '../core/channel-address.ts';
import { hasOneSource, ONE_SOURCE } from './schema-agents.ts';
import { checkProvider } from './providers.ts';
import { realPathOf } from './real-path.ts';
import { approvalRulesOf, checkMcp, type McpServerSettings } from './schema-mcp.ts';
import { checkSearch } from './search-providers.ts';
import { SANDBOX_ENABLED, WORKSPACE_PATH, type AgentDefaults, type FileSettings } from './schema.ts';
import { workspacesFolderOf } from './workspaces-folder.ts';

/** The settings of a file with what follows from others, and with absolute paths. */
export function completeSettings(settings: FileSettings, dataDir: string, baseDir: string): FileSettings {
  const {
    workspace,
    owner,
    docs,
    plugins,
    images,
    sandbox,
    diagnostics,
    agents,
    retention,
    events,
    models,
    mcp,
    tools,
  } = settings;
  if (retention.events !== undefined) events.retention = retention.events;
  if (owner.phone !== undefined) owner.ids = [...new Set([owner.phone, ...owner.ids])];
  workspace.path =
    workspace.path === WORKSPACE_PATH
      ? join(workspacesFolderOf(dataDir), 'workspace')
      : absolute(workspace.path, baseDir);
  docs.path = absolute(docs.path, baseDir);
  plugins.modules = plugins.modules.map((path) => absolute(path, baseDir));
  images.roots = images.roots.map((path) => absolute(path, baseDir));
  sandbox.readable = sandbox.readable.map((path) => absolute(path, baseDir));
  for (const file of Object.values(diagnostics)) {
    if (file.path !== undefined) file.path = absolute(file.path, baseDir);
  }
  for (const provider of Object.values(models.providers)) {
    // A file, not the name of a package.
    if ('package' in provider && provider.package?.startsWith('.') === true)
      provider.package = absolute(provider.package, baseDir);
  }
  if (tools.browser.executablePath?.startsWith('.') === true)
    tools.browser.executablePath = absolute(tools.browser.executablePath, baseDir);
  if (tools.browser.enabled) mcp.servers[BROWSER_SERVER] ??= browserServer(tools);
  tools.approvals.rules.unshift(...approvalRulesOf(mcp));
  for (const server of Object.values(mcp.servers)) {
    if (server.cwd !== undefined) server.cwd = absolute(server.cwd, baseDir);
    // A file beside the configuration, not a program of PATH.
    if (server.command?.startsWith('.') === true) server.command = absolute(server.command, baseDir);
  }
  for (const [, { heartbeat }] of writtenAgents(settings)) {
    const chat = resolveTarget(settings, heartbeat.target);
    if (chat !== null && 'address' in chat) heartbeat.target = formatChannelUrl(chat.address);
  }
  for (const agent of agents.list) {
    if (agent.workspace !== undefined) agent.workspace = absolute(agent.workspace, baseDir);
  }
  return settings;
}

/** Faults that need more than one value to be seen. */
export function crossCheck(settings: FileSettings, dataDir: string): ConfigIssue[] {
  return collectFaults((refuse) => {
    checkWorkspaces(settings, dataDir, refuse);
    for (const [path, agent] of writtenAgents(settings)) checkAgent(path, agent, { settings, refuse });
    const keyNames = settings.api.keys.map((each) => each.name);
    for (const [at, name] of keyNames.entries()) {
      if (keyNames.indexOf(name) !== at) refuse(`api.keys[${at}].name`, name, 'a name that no other key has');
    }
    const hasPlugins = settings.plugins.modules.length > 0;
    for (const [name, provider] of Object.entries(settings.models.providers))
      checkProvider(name, provider, { hasPlugins, refuse });
    checkPolicies(settings, refuse);
    checkMcp(
      settings.mcp,
      settings.agents.list.map(({ id }) => id),
      refuse,
    );
    const browser: McpServerSettings | undefined = settings.mcp.servers[BROWSER_SERVER];
    if (settings.tools.browser.enabled && browser?.perSession !== true)
      refuse('tools.browser.enabled', true, `false with a server of mcp.servers that is named "${BROWSER_SERVER}"`);
    checkSandbox(settings, refuse);
    checkSearch(settings, refuse);
    checkCrons(settings, refuse);
    checkChannels(settings, refuse);
    checkModels(settings, listProviders(settings), refuse);
  });
}

/** The file tools, and commands outside a sandbox, reach all of a workspace. */
function checkWorkspaces({ workspace, agents }: FileSettings, dataDir: string, refuse: Refuse): void {
  const allowed = 'a folder that is not the data directory, which has the keys and the database';
  const isDataDir = (path: string): boolean => realPathOf(path) === realPathOf(dataDir);
  if (isDataDir(workspace.path)) refuse('workspace.path', workspace.path, allowed);
  for (const [at, agent] of agents.list.entries())
    if (agent.workspace !== undefined && isDataDir(agent.workspace))
      refuse(`agents.list[${at}].workspace`, agent.workspace, allowed);
}

function checkSandbox({ sandbox: { enabled, runtime, image }, tools, plugins }: FileSettings, refuse: Refuse): void {
  if (enabled && runtime !== 'external' && tools.exec.sandbox !== 'required')
    refuse('sandbox.enabled', true, SANDBOX_ENABLED);
  if (runtime === 'container' && image === undefined)
    refuse('sandbox.image', null, 'the name of an image that has the programs of the commands');
  if (!['bubblewrap', 'container', 'external'].includes(runtime) && plugins.modules.length === 0)
    refuse(
      'sandbox.runtime',
      runtime,
      '"bubblewrap", "container", "external", or the name of a runtime of a plugin in plugins.modules',
    );
}

function checkCrons({ cron, agents }: FileSettings, refuse: Refuse): void {
  const ids = agents.list.map(({ id }) => id);
  const seen = new Set<string>();
  for (const [at, { name, agentId = ids[0] ?? 'main' }] of cron.jobs.entries()) {
    if (!ids.includes(agentId)) refuse(`cron.jobs[${at}].agentId`, agentId, ids.join(', '));
    if (seen.has(`${agentId} ${name}`))
      refuse(`cron.jobs[${at}].name`, name, 'a name that no other cron of the agent has');
    seen.add(`${agentId} ${name}`);
  }
}

function checkAgent(
  path: string,
  { heartbeat, contextPruning, compaction, contextTokens }: AgentDefaults,
  { settings, refuse }: { settings: FileSettings; refuse: Refuse },
) {
  const chat = resolveTarget(settings, heartbeat.target);
  if (chat !== null && 'fault' in chat) {
    const { field, allowed } = chat.fault;
    refuse(`${path}.heartbeat.target.${field}`, (heartbeat.target as unknown as ChatDelivery)[field], allowed);
  }
  if (heartbeat.when !== undefined && !hasOneSource(heartbeat.when)) {
    refuse(`${path}.heartbeat.when`, heartbeat.when, `${ONE_SOURCE}, including those of the defaults`);
  }
  const { softTrim, softTrimRatio, hardClearRatio } = contextPruning;
  if (softTrim.headChars + softTrim.tailChars > softTrim.maxChars) {
    refuse(`${path}.contextPruning.softTrim`, softTrim, 'headChars and tailChars together at most maxChars');
  }
  if (hardClearRatio < softTrimRatio) {
    refuse(`${path}.contextPruning.hardClearRatio`, hardClearRatio, `at least softTrimRatio (${softTrimRatio})`);
  }
  const { reserveTokens } = compaction;
  if (reserveTokens >= contextTokens) {
    refuse(`${path}.compaction.reserveTokens`, reserveTokens, `less than contextTokens (${contextTokens})`);
  }
}

/** The chat that a target is, in the form of the file; null: it is none, or has become its address. */
function resolveTarget(settings: FileSettings, target: string | ChatDelivery) {
  return typeof target === 'string' ? null : resolveChat(settings, target);
}

function absolute(path: string, baseDir: string): string {
  const expanded = path === '~' || path.startsWith('~/') ? join(homedir(), path.slice(1)) : path;
  return isAbsolute(expanded) ? expanded : resolve(baseDir, expanded);
}
