// Loads the plugins of the configuration, one after the other, and collects what they register. A
// plugin that cannot be loaded, or that registers an invalid value, stops the start with its path
// and the reason.
import { basename, dirname, extname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { PluginSettings } from '../config.ts';
import { mergeTextTransforms } from '../prompt/read-contributions.ts';
import { withDeadline } from '../clock.ts';
import type { Logger } from '../logger.ts';
import { withoutPlugins, Plugins, HookTable } from './plugins.ts';
import type { PluginModule } from './plugin-api.ts';
import { hookDeadline, messageOf, PluginError } from './plugin-error.ts';
import { CLOSED_INBOX, type PluginInbox } from './plugin-inbox.ts';
import { createPluginApi, type Registrations } from './create-plugin-api.ts';
import { readTools } from './read-tools.ts';

export interface LoadOptions {
  logger: Logger;
  /** What relative paths are relative to. */
  cwd: string;
  /** How long a plugin may take to register, in milliseconds; absent: 30 s. */
  registerMsMax?: number;
  /** Where what plugins queue goes; absent: nothing can be queued. */
  inbox?: PluginInbox | undefined;
}

const REGISTER_MS_MAX = 30_000;
const ID = /^[a-z0-9][a-z0-9_-]{0,63}$/;

/**
 * The plugins of the modules, in their order. A module is loaded once in a process. Throws
 * `PluginError`.
 */
export async function loadPlugins(settings: PluginSettings, options: LoadOptions): Promise<Plugins> {
  const { logger } = options;
  const registrations: Registrations = {
    tools: [],
    hooks: new HookTable(),
    textTransforms: [],
    contributions: [],
    transports: [],
    harnesses: [],
    sandboxes: [],
  };
  const ids: string[] = [];
  for (const module of settings.modules) {
    const path = resolve(options.cwd, module);
    const exported = await importExports(path);
    const id = readId(path, exported.id);
    if (ids.includes(id)) throw new PluginError(path, `another plugin already has the id ${JSON.stringify(id)}`);
    ids.push(id);
    if (settings.entries[id]?.enabled === false) continue;
    await registerOne({ path, id, exported, settings, registrations, options });
  }
  refuseUnknownEntries(settings, ids);
  if (ids.length === 0) return withoutPlugins(logger);
  return new Plugins({
    ...registrations,
    ids,
    textTransforms: mergeTextTransforms(registrations.textTransforms),
    logger,
  });
}

interface Loading {
  path: string;
  id: string;
  exported: PluginExports;
  settings: PluginSettings;
  registrations: Registrations;
  options: LoadOptions;
}

async function registerOne({ path, id, exported, settings, registrations, options }: Loading): Promise<void> {
  const { register, createTools, tools } = exported;
  if (register === undefined && createTools === undefined && tools === undefined) {
    throw new PluginError(path, 'it exports neither `register` nor `tools` nor `createTools`');
  }
  const timeoutMs = options.registerMsMax ?? REGISTER_MS_MAX;
  if (createTools !== undefined) {
    registrations.tools.push(...readTools(path, await called(path, 'createTools', createTools, timeoutMs)));
  } else if (tools !== undefined) {
    registrations.tools.push(...readTools(path, tools));
  }
  if (register === undefined) return;
  const entry = settings.entries[id];
  const { api, close } = createPluginApi({
    path,
    id,
    config: entry?.config ?? {},
    mayChangePrompts: entry?.hooks?.allowPromptInjection ?? true,
    logger: options.logger,
    registrations,
    inbox: options.inbox ?? CLOSED_INBOX,
  });
  try {
    await called(path, 'register', register, timeoutMs, api);
  } finally {
    close();
  }
}

/** The exports of a module, not checked yet. */
type PluginExports = Partial<Record<keyof PluginModule, unknown>>;

async function importExports(path: string): Promise<PluginExports> {
  try {
    return (await import(pathToFileURL(path).href)) as PluginExports;
  } catch (error) {
    throw new PluginError(path, `cannot be loaded: ${messageOf(error)}`, error);
  }
}

/** The return value of a plugin's function. */
async function called(
  path: string,
  name: string,
  exported: unknown,
  timeoutMs: number,
  ...values: unknown[]
): Promise<unknown> {
  if (typeof exported !== 'function') throw new PluginError(path, `\`${name}\` is not a function`);
  try {
    return await withDeadline<unknown>(hookDeadline(timeoutMs), () => exported(...values));
  } catch (error) {
    if (error instanceof PluginError) throw error;
    throw new PluginError(path, `${name}() failed: ${messageOf(error)}`, error);
  }
}

function readId(path: string, exported: unknown): string {
  if (exported === undefined) {
    const name = basename(path, extname(path));
    const own = name === 'index' ? basename(dirname(path)) : name;
    const id = own
      .toLowerCase()
      .replaceAll(/[^a-z0-9_-]+/g, '-')
      .slice(0, 64);
    return ID.test(id) ? id : 'plugin';
  }
  if (typeof exported === 'string' && ID.test(exported)) return exported;
  throw new PluginError(path, `its id ${JSON.stringify(exported) ?? 'is nothing'} is not 1 to 64 of a-z 0-9 _ -`);
}

// A setting for a plugin that does not exist is a mistake: for example a ban without effect.
function refuseUnknownEntries({ entries }: PluginSettings, ids: readonly string[]): void {
  const unknown = Object.keys(entries).find((id) => !ids.includes(id));
  if (unknown === undefined) return;
  throw new PluginError(unknown, `plugins.entries names it, but the plugins are: ${ids.join(', ') || 'none'}`);
}
