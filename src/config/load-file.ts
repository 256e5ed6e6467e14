// Reads the configuration file: text to checked settings, with aliases resolved, paths made
// absolute and every fault listed. Nothing of a faulty file is used.
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, resolve, isAbsolute, join } from 'node:path';
import { parseExpressionAt, type Node, type SourceLocation } from 'acorn';
import JSON5 from 'json5';
import { z } from 'zod';
import { decodeText, NOT_TEXT } from '../core/text.ts';
import { checked, isObject, camelCase, schemaBelow, unwrapSchema } from './check-input.ts';
import { type ConfigIssue, collectFaults, type Refuse } from './config-error.ts';
import { fileSchema, type FileSettings, SANDBOX_ENABLED, WORKSPACE_PATH, type AgentDefaults } from './schema.ts';
import { homedir } from 'node:os';
import { BROWSER_SERVER, browserServer } from './browser-preset.ts';
import { checkChannels, checkModels, listProviders, writtenAgents, checkPolicies } from './check-names.ts';
import { resolveChat, type ChatDelivery } from './schema-channels.ts';
import { formatChannelUrl } from '../core/channel-address.ts';
import { hasOneSource, ONE_SOURCE } from './schema-agents.ts';
import { checkProvider, checkSearch } from './providers.ts';
import { realPathOf, workspacesFolderOf } from './places.ts';
import { approvalRulesOf, checkMcp, type McpServerSettings } from './schema-tools.ts';

const FILE_BYTES_MAX = 1_048_576;
/** Deeper than any setting. */
const DEPTH_MAX = 64;

export interface LoadedFile {
  /** Absolute; null when there is no file. */
  path: string | null;
  /** Relative paths in the file start here. */
  baseDir: string;
  /** Complete; without the faulty values. */
  settings: FileSettings;
  /** Where its values are; empty when there is no file. */
  places: ReadonlyMap<string, WrittenPlace>;
  issues: ConfigIssue[];
}

/**
 * Reads and checks the file at `configured` (from HOLDFAST_CONFIG), or `holdfast.json` in `cwd` if
 * there is one.
 */
export function loadFile(configured: string | undefined, cwd: string): LoadedFile {
  const path = resolve(cwd, configured ?? 'holdfast.json');
  const nothing = { path: null, baseDir: cwd, settings: checked(fileSchema, {}).output, places: new Map(), issues: [] };
  if (configured === undefined && !existsSync(path)) return nothing;
  const source = configured === undefined ? path : 'HOLDFAST_CONFIG';
  const read = readJson5(path, source);
  if ('issue' in read) return { ...nothing, path, issues: [read.issue] };
  return { path, baseDir: dirname(path), places: read.places, ...checkFile(read.value) };
}

/** Checks a parsed file. */
function checkFile(value: unknown): { settings: FileSettings; issues: ConfigIssue[] } {
  const aliasIssues: ConfigIssue[] = [];
  const renamed = resolveAliases(value, fileSchema, [], aliasIssues);
  const { output, issues } = checked(fileSchema, renamed);
  return { settings: output, issues: [...aliasIssues, ...issues] };
}

function readJson5(
  path: string,
  source: string,
): { value: unknown; places: ReadonlyMap<string, WrittenPlace> } | { issue: ConfigIssue } {
  const fault = (message: string) => ({ issue: { path: source, value: path, allowed: 'a JSON5 file', message } });
  try {
    if (statSync(path).size > FILE_BYTES_MAX) return fault(`${path} is larger than ${FILE_BYTES_MAX} bytes`);
    const text = decodeText(readFileSync(path));
    if (text === null) return fault(`${path} ${NOT_TEXT}; save it in UTF-8`);
    const value: unknown = JSON5.parse(text);
    if (measureDepth(value) > DEPTH_MAX) return fault(`${path} is nested deeper than ${DEPTH_MAX} levels`);
    return { value, places: findPlaces(text) };
  } catch (error) {
    const reason = error instanceof Error ? error.message.replace(/^JSON5: /, '') : String(error);
    return fault(error instanceof SyntaxError ? `${path} is not JSON5: ${reason}` : `cannot read ${path}: ${reason}`);
  }
}

/** Where a value of a file is. */
export interface WrittenPlace {
  /** The line of its key, in a list that of the value; from 1. */
  line: number;
  /** Where the value begins. */
  offset: number;
}

/** What JSON5 has of the syntax of JavaScript. */
interface Json5Node extends Node {
  loc: SourceLocation;
  elements?: Json5Node[];
  properties?: { key: Json5Node & { name?: string; value?: string }; value: Json5Node }[];
}

/**
 * The places of all values, by their paths (`agents.list[0].id`) as the file writes its keys; the
 * path of the whole file is empty. The text is valid JSON5, whose parser does not say where values
 * are. As every such text is an expression of JavaScript, a parser of that does.
 */
export function findPlaces(text: string): ReadonlyMap<string, WrittenPlace> {
  const places = new Map<string, WrittenPlace>();
  const add = (path: string, value: Json5Node, { loc }: Json5Node): void => {
    places.set(path, { line: loc.start.line, offset: value.start });
    for (const [n, item] of value.elements?.entries() ?? []) add(`${path}[${n}]`, item, item);
    for (const { key, value: child } of value.properties ?? [])
      add(`${path === '' ? '' : `${path}.`}${key.name ?? key.value}`, child, key);
  };
  const file: Node = parseExpressionAt(text, 0, { ecmaVersion: 'latest', locations: true });
  add('', file as Json5Node, file as Json5Node);
  return places;
}

/**
 * How many objects and lists lie within each other; counted without recursion, whose depth is
 * limited.
 */
function measureDepth(value: unknown): number {
  let depth = 0;
  for (let level = [value].filter(isObject); level.length > 0 && depth <= DEPTH_MAX; depth += 1) {
    level = level.flatMap((each) => Object.values(each)).filter(isObject);
  }
  return depth;
}

/**
 * Renames keys written in snake_case to the camelCase key of the schema, where there is one; values
 * of records keep theirs.
 */
function resolveAliases(value: unknown, schema: z.ZodType, path: string[], issues: ConfigIssue[]): unknown {
  const inner = unwrapSchema(schema);
  const resolved = (child: unknown, step: string): unknown => {
    const below = schemaBelow(inner, step);
    return below === undefined ? child : resolveAliases(child, below, [...path, step], issues);
  };
  if (Array.isArray(value) && inner instanceof z.ZodArray) return value.map((each, at) => resolved(each, String(at)));
  if (!isObject(value) || Array.isArray(value) || !(inner instanceof z.ZodObject)) return value;
  const { shape } = inner;
  const entries = Object.entries(value).map(([key, child]) => {
    const name = !Object.hasOwn(shape, key) && Object.hasOwn(shape, camelCase(key)) ? camelCase(key) : key;
    if (name !== key && Object.hasOwn(value, name)) {
      const message = `is given twice, as ${JSON.stringify(key)} and as ${JSON.stringify(name)}`;
      issues.push({ path: [...path, name].join('.'), value: undefined, allowed: 'one of the two', message });
    }
    return [name, resolved(child, name)];
  });
  return Object.fromEntries(entries);
}

// What needs more than one value: settings that follow from others, names that exist, limits that
// fit each other.

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

/**
 * The chat that a target is, in the form of the file; null: it is none, or has become its address.
 */
function resolveTarget(settings: FileSettings, target: string | ChatDelivery) {
  return typeof target === 'string' ? null : resolveChat(settings, target);
}

function absolute(path: string, baseDir: string): string {
  const expanded = path === '~' || path.startsWith('~/') ? join(homedir(), path.slice(1)) : path;
  return isAbsolute(expanded) ? expanded : resolve(baseDir, expanded);
}
