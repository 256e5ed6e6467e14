// The API with which a plugin registers its parts. Each call is checked; after `close` nothing more
// can be registered, so that the capabilities of a process do not change while it runs.
import { PluginValueError, readPromptContribution, readTextTransforms } from '../prompt/read-contributions.ts';
import { neutralise } from '../prompt/untrusted-text.ts';
import type { TextTransforms } from '../model/stream/replace-text.ts';
import type { Logger } from '../logger.ts';
import type { Transport } from '../model/transport.ts';
import type { SandboxRuntime } from '../tools/sandbox/port.ts';
import type { Tool } from '../tools/tool.ts';
import type { CheckedHarness } from './harness.ts';
import { HOOK_NAMES, type HookTable, type RegisteredContribution } from './plugins.ts';
import type { HookName, PluginApi, PluginLogger } from './plugin-api.ts';
import { PluginError } from './plugin-error.ts';
import { checkInput, type PluginInbox } from './plugin-inbox.ts';
import { readHarness, readTransport } from './read-registrations.ts';
import { readTool } from './read-tools.ts';

/** What all plugins have registered so far. */
export interface Registrations {
  tools: Tool[];
  hooks: HookTable;
  textTransforms: TextTransforms[];
  contributions: RegisteredContribution[];
  transports: Transport[];
  harnesses: CheckedHarness[];
  sandboxes: SandboxRuntime[];
}

export interface PluginApiOptions {
  path: string;
  id: string;
  config: Record<string, unknown>;
  /** False leaves out everything with which a plugin could put words into a prompt. */
  mayChangePrompts: boolean;
  logger: Logger;
  registrations: Registrations;
  inbox: PluginInbox;
}

/** Hooks that put words into prompts; the others only listen. */
const PROMPT_HOOKS: ReadonlySet<HookName> = new Set(['before_prompt_build', 'before_agent_start', 'agent:bootstrap']);

/** The api of one plugin, and what ends its registration. */
// oxlint-disable-next-line max-lines-per-function -- One short method for each call of the plugin API.
export function createPluginApi(options: PluginApiOptions): { api: PluginApi; close: () => void } {
  const { path, id, mayChangePrompts, registrations } = options;
  let isClosed = false;

  const register = (what: string, add: () => void): void => {
    if (isClosed) throw new PluginError(path, `${what} was called after register() had returned`);
    try {
      add();
    } catch (error) {
      throw error instanceof PluginValueError ? new PluginError(path, `${what}: ${error.message}`, error) : error;
    }
  };
  const leaveOut = (what: string): void => {
    options.logger.warn(
      { plugin: id, what },
      'Plugin registration ignored: the configuration does not allow this plugin to change prompts',
    );
  };

  const api: PluginApi = {
    id,
    config: options.config,
    logger: pluginLogger(options.logger, id),
    neutralise,
    async queueSystemEvent(event) {
      checkInput(path, 'queueSystemEvent', event);
      return options.inbox.queueSystemEvent(id, event);
    },
    async sendMessage(message) {
      checkInput(path, 'sendMessage', message);
      return options.inbox.sendMessage(id, message);
    },
    on: (hook, handler, { priority = 0 } = {}) =>
      register(`on(${JSON.stringify(hook)})`, () => {
        checkHandler(path, hook, handler, priority);
        if (PROMPT_HOOKS.has(hook) && !mayChangePrompts) return leaveOut(hook);
        registrations.hooks.add(hook, { plugin: id, priority, handler });
      }),
    registerTool: (tool) =>
      register('registerTool', () => registrations.tools.push(readTool(path, tool, 'registerTool'))),
    registerTextTransform: (transform) =>
      register('registerTextTransform', () => {
        const { input, output } = readTextTransforms(transform);
        if (input.length > 0 && !mayChangePrompts) leaveOut('input of registerTextTransform');
        registrations.textTransforms.push({ input: mayChangePrompts ? input : [], output });
      }),
    registerPromptContribution: (contribution, { provider = null } = {}) =>
      register('registerPromptContribution', () => {
        const read = readPromptContribution(contribution);
        if (!mayChangePrompts) return leaveOut('registerPromptContribution');
        registrations.contributions.push({ provider, contribution: { ...read, origin: `plugin:${id}` } });
      }),
    registerTransport: (transport) =>
      register('registerTransport', () => {
        const read = readTransport(path, transport);
        // The whole request and answer of a model pass through a transport, so it could insert any
        // text.
        if (!mayChangePrompts) return leaveOut('registerTransport');
        if (registrations.transports.some(({ provider }) => provider === read.provider)) {
          throw new PluginError(path, `another plugin already serves the provider ${JSON.stringify(read.provider)}`);
        }
        registrations.transports.push(read);
      }),
    registerHarness: (harness) =>
      register('registerHarness', () => {
        const read = readHarness(path, harness);
        // A harness writes the whole answer of a turn.
        if (!mayChangePrompts) return leaveOut('registerHarness');
        if (registrations.harnesses.some((other) => other.id === read.id)) {
          throw new PluginError(path, `another harness already has the id ${JSON.stringify(read.id)}`);
        }
        registrations.harnesses.push(read);
      }),
    registerSandbox: (runtime) =>
      register('registerSandbox', () => {
        checkSandbox(path, runtime);
        if (registrations.sandboxes.some(({ name }) => name === runtime.name)) {
          throw new PluginError(path, `another sandbox already has the name ${JSON.stringify(runtime.name)}`);
        }
        registrations.sandboxes.push(runtime);
      }),
  };
  return { api, close: () => (isClosed = true) };
}

function checkHandler(path: string, hook: unknown, handler: unknown, priority: unknown): void {
  if (!HOOK_NAMES.some((name) => name === hook)) {
    throw new PluginError(path, `there is no hook ${JSON.stringify(hook)}; known: ${HOOK_NAMES.join(', ')}`);
  }
  if (typeof handler !== 'function') throw new PluginError(path, `the handler of ${String(hook)} is not a function`);
  if (typeof priority !== 'number' || !Number.isFinite(priority)) {
    throw new PluginError(path, `the priority of ${String(hook)} is ${String(priority)}, not a number`);
  }
}

function checkSandbox(path: string, value: unknown): void {
  const { name, wrap } = (value ?? {}) as Partial<SandboxRuntime>;
  const isName = typeof name === 'string' && /^[a-z0-9][a-z0-9_-]{0,63}$/.test(name);
  if (!isName || ['bubblewrap', 'container', 'external'].includes(name)) {
    throw new PluginError(
      path,
      `registerSandbox: name is ${JSON.stringify(name)}; allowed: 1 to 64 of a-z 0-9 _ -, and no built-in one`,
    );
  }
  if (typeof wrap !== 'function') throw new PluginError(path, 'registerSandbox: wrap must be a function');
}

function pluginLogger(logger: Logger, plugin: string): PluginLogger {
  return {
    debug: (message, details) => logger.debug({ plugin, ...details }, message),
    info: (message, details) => logger.info({ plugin, ...details }, message),
    warn: (message, details) => logger.warn({ plugin, ...details }, message),
    error: (message, details) => logger.error({ plugin, ...details }, message),
  };
}
