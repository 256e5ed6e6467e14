// What a plugin is: a module that exports `register(api)`. These are the types that its author
// works with; docs/plugins.md is the reference. Every value of a plugin is checked where it is
// received (`read-*.ts`), because plain JavaScript may violate these types.
import type { ModelMessage } from '../core/model-request.ts';
import type { PromptContribution, WorkspaceFile } from '../prompt/system-input.ts';
import type { Replacement } from '../model/stream/replace-text.ts';
import type { Transport } from '../model/transport.ts';
import type { SandboxRuntime } from '../tools/sandbox/port.ts';
import type { Tool } from '../tools/tool.ts';
import type { Harness } from './harness.ts';
import type { PluginMessage, PluginQueueResult, PluginSystemEvent } from './plugin-inbox.ts';

/** The module of a plugin. One of `register`, `createTools` and `tools` must be there. */
export interface PluginModule {
  /**
   * 1 to 64 of `a-z 0-9 _ -`; absent: the name of its file, or of its folder when that is called
   * `index`.
   */
  id?: string;
  /** Called once when a worker starts. After it has returned, nothing more can be registered. */
  register?(api: PluginApi): void | Promise<void>;
  tools?: readonly Tool[];
  createTools?(): readonly Tool[] | Promise<readonly Tool[]>;
}

/**
 * The argument of `register`. Every function throws an error that names the fault of its arguments.
 */
export interface PluginApi {
  readonly id: string;
  /**
   * `plugins.entries.<id>.config` of the configuration file, as it is written there; `{}` when
   * there is none.
   */
  readonly config: Readonly<Record<string, unknown>>;
  readonly logger: PluginLogger;
  /**
   * Adds a handler. Those of higher priority (default 0) run first, those of equal priority in the
   * order of registration.
   */
  on<Name extends HookName>(hook: Name, handler: HookHandlers[Name], options?: { priority?: number }): void;
  registerTool(tool: Tool): void;
  /** Replaces fixed texts: `input` in the model's requests, `output` in its answers. */
  registerTextTransform(transform: { input?: readonly Replacement[]; output?: readonly Replacement[] }): void;
  /**
   * Adds to the system prompt of every turn, or rewords one of three sections. `provider` absent:
   * for all providers.
   */
  registerPromptContribution(contribution: PromptContribution, options?: { provider?: string }): void;
  /**
   * Serves the models of a provider: `provider/...` is then a model that agents and messages may
   * name. One plugin for each provider.
   */
  registerTransport(transport: Transport): void;
  /**
   * Answers turns in place of the built-in loop, if `harness` of the agent names it or it supports
   * the model.
   */
  registerHarness(harness: Harness): void;
  /**
   * Makes the sandbox that commands run in, if `sandbox.runtime` names it. It is used where its
   * canary succeeds.
   */
  registerSandbox(runtime: SandboxRuntime): void;
  /**
   * Queues a line for the next prompt of a session, marked as untrusted, once for its key. To be
   * called by tools, by handlers and at any later time. Begins no turn. Resolves after the commit;
   * when it rejects, call it again with the same key.
   */
  queueSystemEvent(event: PluginSystemEvent): Promise<PluginQueueResult>;
  /**
   * Sends a message to a session, which answers it in a turn, once for its key. The same applies as
   * to `queueSystemEvent`.
   */
  sendMessage(message: PluginMessage): Promise<PluginQueueResult>;
  /**
   * Neutralises text of others: imitations of Holdfast's own lines are changed. Use it for text
   * that the plugin did not write itself.
   */
  neutralise(text: string): string;
}

export interface PluginLogger {
  debug(message: string, details?: object): void;
  info(message: string, details?: object): void;
  warn(message: string, details?: object): void;
  error(message: string, details?: object): void;
}

/** The facts of a turn, for every handler. */
export interface HookContext {
  agentId: string;
  sessionKey: string;
  sessionId: string;
  /** Absolute. */
  workspaceDir: string;
  /** The channel that the message came through; null for turns that answer none. */
  messageProvider: string | null;
  /** The turn's id. */
  runId: string;
  /** What began the turn: `message`, `followup`, `batch`, `announcement`, `cron` or `heartbeat`. */
  trigger: string;
  /** Aborts at the handler's deadline: a later result is ignored. */
  signal: AbortSignal;
}

/**
 * A prompt before plugins change it, and the history as the model will see it. Frozen: to change
 * something, return it.
 */
export interface PromptHookEvent {
  readonly prompt: string;
  readonly messages: readonly ModelMessage[];
}

/**
 * The return value of a handler of a prompt hook; all fields are optional, and blank texts are
 * ignored.
 */
export interface PromptHookResult {
  /** Before the user prompt. */
  prependContext?: string;
  /** In place of the system prompt. */
  systemPrompt?: string;
  /** Before the system prompt, and after it. */
  prependSystemContext?: string;
  appendSystemContext?: string;
  /** Before the history, like earlier messages; never stored in the transcript. */
  injectMessages?: readonly { role: 'user' | 'assistant'; content: string | ModelMessage['content'] }[];
}

/**
 * The files of the project context. Handlers change `bootstrapFiles`: put in, take out, reword, or
 * set another list.
 */
export interface BootstrapEvent {
  bootstrapFiles: WorkspaceFile[];
}

/** The request that the model is about to get. Frozen. */
export interface LlmInputEvent {
  readonly runId: string;
  readonly sessionId: string;
  readonly provider: string;
  readonly model: string;
  readonly systemPrompt: string;
  readonly prompt: string;
  /** Injected messages included, the prompt not. */
  readonly historyMessages: readonly ModelMessage[];
  /** How many images the prompt shows. */
  readonly imagesCount: number;
}

type MaybePromise<Value> = Value | Promise<Value>;
type PromptHandler = (event: PromptHookEvent, context: HookContext) => MaybePromise<PromptHookResult | null | void>;

/**
 * The hooks, and the types of their handlers. A handler that throws, or times out, changes nothing.
 */
export interface HookHandlers {
  /** Before the prompt of a turn is stored. */
  before_prompt_build: PromptHandler;
  /** The same, run after it; its text is added after the other's. */
  before_agent_start: PromptHandler;
  /**
   * When the workspace files of a prompt have been read, and those that its session must not see
   * are removed.
   */
  'agent:bootstrap': (event: BootstrapEvent, context: HookContext) => MaybePromise<void>;
  /** When the turn is stored and its first request is about to be sent. Not awaited. */
  llm_input: (event: LlmInputEvent, context: HookContext) => MaybePromise<void>;
}

export type HookName = keyof HookHandlers;
