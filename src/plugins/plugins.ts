// The plugins of a process, as turns use them. A turn continues whatever a handler does: an error,
// an answer of the wrong shape or a late one is logged and changes nothing. Without a handler for a
// hook, nothing is done.
import { deepFreeze } from '../core/json.ts';
import {
  NO_TRANSFORMS,
  readBootstrapFiles,
  mergeChanges,
  NO_CHANGES,
  readPromptChanges,
  type PromptChanges,
} from '../prompt/read-contributions.ts';
import type { AttributedContribution, WorkspaceFile } from '../prompt/system-input.ts';
import type { TextTransforms } from '../model/stream/replace-text.ts';
import { withDeadline } from '../clock.ts';
import type { Logger } from '../logger.ts';
import type { Transport } from '../model/transport.ts';
import type { SandboxRuntime } from '../tools/sandbox/port.ts';
import type { Tool } from '../tools/tool.ts';
import type { CheckedHarness } from './harness.ts';
import { hookDeadline } from './plugin-error.ts';
import type {
  BootstrapEvent,
  HookContext,
  HookName,
  LlmInputEvent,
  PromptHookEvent,
  HookHandlers,
} from './plugin-api.ts';

/** How long one handler may take, and all handlers of one hook together, in milliseconds. */
const HANDLER_MS_MAX = 10_000;
const HOOK_MS_MAX = 30_000;
/** How many handlers that are not awaited may run; notifications over it are dropped. */
const UNAWAITED_MAX = 100;

/** The facts of a turn; the signal is made for each handler. */
export type HookFacts = Omit<HookContext, 'signal'>;

/** A contribution and the provider that it is for; null: for all. */
export interface RegisteredContribution {
  provider: string | null;
  contribution: AttributedContribution;
}

export interface PluginParts {
  ids: readonly string[];
  tools: readonly Tool[];
  hooks: HookTable;
  textTransforms: TextTransforms;
  contributions: readonly RegisteredContribution[];
  /** What serves models of providers; absent: nothing. */
  transports?: readonly Transport[];
  /** What answers turns in place of the built-in loop; absent: nothing. */
  harnesses?: readonly CheckedHarness[];
  /** What commands can run in; absent: nothing. */
  sandboxes?: readonly SandboxRuntime[];
  logger: Logger;
  /** How long one handler may take; absent: 10 s. */
  handlerMsMax?: number;
}

export class Plugins {
  /** In the order of the configuration. */
  readonly ids: readonly string[];
  readonly tools: readonly Tool[];
  readonly textTransforms: TextTransforms;
  /** One for each provider that plugins serve. */
  readonly transports: readonly Transport[];
  readonly harnesses: readonly CheckedHarness[];
  readonly sandboxes: readonly SandboxRuntime[];
  readonly #hooks: HookTable;
  readonly #contributions: readonly RegisteredContribution[];
  readonly #logger: Logger;
  readonly #handlerMsMax: number;
  #unawaited = 0;

  constructor(parts: PluginParts) {
    this.ids = parts.ids;
    this.tools = parts.tools;
    this.textTransforms = parts.textTransforms;
    this.transports = parts.transports ?? [];
    this.harnesses = parts.harnesses ?? [];
    this.sandboxes = parts.sandboxes ?? [];
    this.#hooks = parts.hooks;
    this.#contributions = parts.contributions;
    this.#logger = parts.logger;
    this.#handlerMsMax = parts.handlerMsMax ?? HANDLER_MS_MAX;
  }

  /** What plugins add to the system prompt for a provider, in the order of registration. */
  contributionsFor(provider: string): readonly AttributedContribution[] {
    return this.#contributions
      .filter((one) => one.provider === null || one.provider === provider)
      .map(({ contribution }) => contribution);
  }

  /** True when a plugin may change the prompts of turns. */
  get changesPrompts(): boolean {
    return this.#hooks.of('before_prompt_build').length + this.#hooks.of('before_agent_start').length > 0;
  }

  /**
   * Runs both prompt hooks, one handler after the other, with the same event; their changes are
   * merged. Never throws.
   */
  async changePrompt(event: PromptHookEvent, facts: HookFacts): Promise<PromptChanges> {
    if (!this.changesPrompts) return NO_CHANGES;
    // The messages are the objects that are sent: a change to one would change the transcript
    // without being stored.
    const frozen = deepFreeze({ prompt: event.prompt, messages: [...event.messages] });
    const results: PromptChanges[] = [];
    for (const hook of ['before_prompt_build', 'before_agent_start'] as const) {
      await this.#runInTurn(hook, facts, async ({ plugin, handler }, context) => {
        const { changes, unknownFields } = readPromptChanges(plugin, await handler(frozen, context));
        if (unknownFields.length > 0) {
          this.#logger.warn({ plugin, hook, fields: unknownFields }, 'Plugin returned unknown fields');
        }
        // A result after the deadline must not be added to results that are being merged.
        if (!context.signal.aborted) results.push(changes);
      });
    }
    return results.length === 0 ? NO_CHANGES : mergeChanges(results);
  }

  /** True when a plugin may change the workspace files of a prompt. */
  get changesBootstrapFiles(): boolean {
    return this.#hooks.of('agent:bootstrap').length > 0;
  }

  /**
   * Lets plugins change the workspace files, one after the other. A handler that fails leaves them
   * as they were before it. Never throws.
   */
  async changeBootstrapFiles(files: readonly WorkspaceFile[], facts: HookFacts): Promise<readonly WorkspaceFile[]> {
    let current = files;
    await this.#runInTurn('agent:bootstrap', facts, async ({ plugin, handler }, context) => {
      const event: BootstrapEvent = { bootstrapFiles: current.map((file) => ({ ...file })) };
      await handler(event, context);
      const read = readBootstrapFiles(event.bootstrapFiles);
      if (read.dropped.length > 0) {
        this.#logger.warn(
          { plugin, dropped: read.dropped },
          'Bootstrap files without a path were dropped from the answer of a plugin',
        );
      }
      if (!context.signal.aborted) current = read.files;
    });
    return current;
  }

  /** True when a plugin has a handler for the model's input. */
  get hearsLlmInput(): boolean {
    return this.#hooks.of('llm_input').length > 0;
  }

  /** Calls all handlers of the hook in parallel, without awaiting them. Never throws. */
  notifyLlmInput(event: LlmInputEvent, facts: HookFacts): void {
    const frozen = deepFreeze({ ...event, historyMessages: [...event.historyMessages] });
    for (const registered of this.#hooks.of('llm_input')) {
      if (this.#unawaited >= UNAWAITED_MAX) {
        this.#logger.warn(
          { plugin: registered.plugin, waiting: UNAWAITED_MAX },
          'Plugin is too slow; a notification to it was dropped',
        );
        continue;
      }
      this.#unawaited += 1;
      const call = async (context: HookContext): Promise<void> => await registered.handler(frozen, context);
      void this.#runOne('llm_input', registered, facts, call, this.#handlerMsMax).finally(() => (this.#unawaited -= 1));
    }
  }

  async #runInTurn<Name extends HookName>(
    hook: Name,
    facts: HookFacts,
    run: (registered: RegisteredHandler<Name>, context: HookContext) => Promise<void>,
  ): Promise<void> {
    const startedAtMs = performance.now();
    for (const registered of this.#hooks.of(hook)) {
      const leftMs = Math.min(this.#handlerMsMax, HOOK_MS_MAX - (performance.now() - startedAtMs));
      if (leftMs <= 0) {
        this.#logger.error(
          { plugin: registered.plugin, hook, session: facts.sessionKey },
          'Hook was skipped because no time is left',
        );
        continue;
      }
      await this.#runOne(hook, registered, facts, (context) => run(registered, context), leftMs);
    }
  }

  async #runOne<Name extends HookName>(
    hook: Name,
    { plugin }: RegisteredHandler<Name>,
    facts: HookFacts,
    run: (context: HookContext) => Promise<void>,
    timeoutMs: number,
  ): Promise<void> {
    try {
      await withDeadline(hookDeadline(timeoutMs), (signal) => run({ ...facts, signal }));
    } catch (error) {
      this.#logger.error({ err: error, plugin, hook, session: facts.sessionKey }, 'Hook of a plugin failed');
    }
  }
}

export function withoutPlugins(logger: Logger): Plugins {
  return new Plugins({
    ids: [],
    tools: [],
    hooks: new HookTable(),
    textTransforms: NO_TRANSFORMS,
    contributions: [],
    logger,
  });
}

// The handlers of all plugins, in the order in which they run.

export const HOOK_NAMES: readonly HookName[] = [
  'before_prompt_build',
  'before_agent_start',
  'agent:bootstrap',
  'llm_input',
];

export interface RegisteredHandler<Name extends HookName> {
  plugin: string;
  priority: number;
  handler: HookHandlers[Name];
}

export class HookTable {
  readonly #handlers: { [Name in HookName]: RegisteredHandler<Name>[] } = {
    before_prompt_build: [],
    before_agent_start: [],
    'agent:bootstrap': [],
    llm_input: [],
  };

  /** Adds a handler after those of the same priority. */
  add<Name extends HookName>(hook: Name, added: RegisteredHandler<Name>): void {
    const handlers = this.#handlers[hook];
    const at = handlers.findIndex(({ priority }) => priority < added.priority);
    handlers.splice(at === -1 ? handlers.length : at, 0, added);
  }

  /** The handlers of a hook, higher priority first. */
  of<Name extends HookName>(hook: Name): readonly RegisteredHandler<Name>[] {
    return this.#handlers[hook];
  }
}
