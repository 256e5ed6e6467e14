// Lays the file over the defaults and checks what only shows when both are together: paths made absolute, aliases that exist, limits
// that fit each other.
import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { closestOf } from './closest.ts';
import type { ConfigIssue } from './config-error.ts';
import type { AgentDefaults, FileSettings } from './config-type.ts';
import { defaultSettings } from './defaults.ts';
import type { FileInput } from './schema.ts';

/** Providers that a `provider/model` may name. */
const PROVIDERS = ['anthropic'];

/** The file over the defaults, with absolute paths. */
export function mergeSettings(input: FileInput, dataDir: string, baseDir: string): FileSettings {
  // The schema's output has the shape of the settings with every key optional; `schema.ts` proves it.
  const settings = mergeOver(defaultSettings(join(dataDir, 'workspace')), input) as FileSettings;
  settings.workspace.path = absolute(settings.workspace.path, baseDir);
  const { phone, ids } = settings.owner;
  if (phone !== undefined) settings.owner.ids = [...new Set([phone, ...ids])];
  settings.docs.path = absolute(settings.docs.path, baseDir);
  settings.plugins.modules = settings.plugins.modules.map((path) => absolute(path, baseDir));
  settings.images.roots = settings.images.roots.map((path) => absolute(path, baseDir));
  for (const file of Object.values(settings.diagnostics)) {
    if (file.path !== undefined) file.path = absolute(file.path, baseDir);
  }
  for (const agent of settings.agents.list) {
    if (agent.workspace !== undefined) agent.workspace = absolute(agent.workspace, baseDir);
  }
  return settings;
}

/**
 * A copy of `base` with `over` laid on it: objects key by key, everything else as a whole. Absent and undefined leave what is
 * there. Neither argument is changed.
 */
export function mergeOver<Base>(base: Base, over: unknown): Base {
  if (over === undefined) return structuredClone(base);
  if (!isObject(base) || !isObject(over)) return structuredClone(over) as Base;
  const merged: Record<string, unknown> = { ...base };
  for (const [key, value] of Object.entries(over)) {
    if (key === '__proto__') continue;
    merged[key] = mergeOver(Object.hasOwn(merged, key) ? merged[key] : undefined, value);
  }
  return merged as Base;
}

/** Faults that need more than one value to be seen. */
export function crossCheck(settings: FileSettings): ConfigIssue[] {
  const issues: ConfigIssue[] = [];
  const refuse = (path: string, value: unknown, allowed: string) => {
    issues.push({ path, value, allowed, message: `is ${JSON.stringify(value)}; allowed: ${allowed}` });
  };
  checkAgent('agents.defaults', settings.agents.defaults, refuse);
  const seen = new Set<string>();
  for (const [at, entry] of settings.agents.list.entries()) {
    if (seen.has(entry.id)) refuse(`agents.list[${at}].id`, entry.id, 'an id that no other agent has');
    seen.add(entry.id);
    const { id: _id, workspace: _workspace, tools: _tools, ...own } = entry;
    // What an agent inherits was already checked with the defaults: only what it changes can be at fault here.
    if (Object.keys(own).length > 0) checkAgent(`agents.list[${at}]`, mergeOver(settings.agents.defaults, own), refuse);
  }
  const keyNames = settings.api.keys.map((each) => each.name);
  for (const [at, name] of keyNames.entries()) {
    if (keyNames.indexOf(name) !== at) refuse(`api.keys[${at}].name`, name, 'a name that no other key has');
  }
  checkCrons(settings, refuse);
  return issues;
}

type Refuse = (path: string, value: unknown, allowed: string) => void;

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

function checkAgent(path: string, agent: AgentDefaults, refuse: Refuse): void {
  for (const [alias, ref] of Object.entries(agent.models)) {
    if (!isModelRef(ref)) refuse(`${path}.models.${alias}`, ref, modelRefText());
  }
  const models = {
    model: agent.model,
    'compaction.model': agent.compaction.model,
    'subagents.model': agent.subagents.model,
  };
  for (const [key, name] of Object.entries(models)) {
    if (name === undefined || Object.hasOwn(agent.models, name) || isModelRef(name)) continue;
    const close = closestOf(name, Object.keys(agent.models));
    refuse(
      `${path}.${key}`,
      name,
      `${modelRefText()}, or an alias of "models"${close === undefined ? '' : ` (did you mean "${close}"?)`}`,
    );
  }
  const { command, url, file } = agent.heartbeat.when ?? {};
  const looks = [command, url, file].filter((look) => look !== undefined).length;
  if (agent.heartbeat.when !== undefined && looks !== 1) {
    refuse(
      `${path}.heartbeat.when`,
      agent.heartbeat.when,
      'exactly one of command, url and file, those of the defaults included',
    );
  }
  const { softTrim, softTrimRatio, hardClearRatio } = agent.contextPruning;
  if (softTrim.headChars + softTrim.tailChars > softTrim.maxChars) {
    refuse(`${path}.contextPruning.softTrim`, softTrim, 'headChars and tailChars together at most maxChars');
  }
  if (hardClearRatio < softTrimRatio) {
    refuse(`${path}.contextPruning.hardClearRatio`, hardClearRatio, `at least softTrimRatio (${softTrimRatio})`);
  }
  if (agent.compaction.reserveTokens >= agent.contextTokens) {
    refuse(
      `${path}.compaction.reserveTokens`,
      agent.compaction.reserveTokens,
      `less than contextTokens (${agent.contextTokens})`,
    );
  }
}

function isModelRef(name: string): boolean {
  const slash = name.indexOf('/');
  return PROVIDERS.includes(name.slice(0, Math.max(slash, 0))) && slash < name.length - 1;
}

function modelRefText(): string {
  return PROVIDERS.map((provider) => `"${provider}/<model>"`).join(', ');
}

function absolute(path: string, baseDir: string): string {
  const expanded = path === '~' || path.startsWith('~/') ? join(homedir(), path.slice(1)) : path;
  return isAbsolute(expanded) ? expanded : resolve(baseDir, expanded);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
