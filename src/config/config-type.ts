// The configuration as the rest of Holdfast sees it: complete, frozen, every default filled in. Durations are milliseconds unless
// the name ends in its unit. The file's keys and these fields have the same names; `runtime` is the environment.
import type { KeyRole } from '../core/access/key-role.ts';
import type { BudgetSettings } from '../core/budget/budget.ts';
import type { ArgumentEncoding, ProviderFamily } from '../core/history/provider-family.ts';
import type { WrittenLimit } from '../core/governor/rate-limit.ts';
import type { InputOptions } from '../core/input-options.ts';
import type { WrittenPriceRow } from '../core/prices/price-row.ts';
import type { CronDelivery, CronPayload, CronTarget } from '../core/schedule/cron.ts';
import type { AgentDefaults, AgentEntry, ToolPolicySettings } from './agent-type.ts';
import type { PlatformSettings, WebhookSettings } from './channel-type.ts';
import type { Lane, QueueDrop, QueueMode } from './choices.ts';
import type { PluginSettings } from './plugin-type.ts';
import type { RuntimeSettings } from './runtime-type.ts';

/** A cron of the file. Missing fields are filled in by `schedule/cron-definition.ts`. */
export interface CronJob extends InputOptions {
  name: string;
  agentId?: string;
  schedule:
    | { kind: 'at'; at: string }
    | { kind: 'every'; everyMs: number; anchor?: string }
    | { kind: 'cron'; expr: string; tz?: string; staggerMs?: number };
  target?: CronTarget;
  payload: CronPayload;
  wake?: 'now' | 'next-heartbeat';
  misfire?: Misfire | null;
  delivery?: CronDelivery | null;
  deleteAfterRun?: boolean;
  enabled?: boolean;
}

type Misfire = 'run_once' | 'run_all' | 'skip';

interface QueueSettings {
  mode: QueueMode;
  byChannel: Record<string, QueueMode>;
  debounceMs: number;
  /** The longest time that messages after a turn are collected, in milliseconds. */
  gatherMsMax: number;
  cap: number;
  drop: QueueDrop;
}

interface ImageSettings {
  /** Absolute folders from which images are read, in addition to the agent's workspace and `media` in the data directory. */
  roots: string[];
  /** `provider/model` of models that take no images, with `*`. */
  textOnlyModels: string[];
}

/** Bounds of waiting messages, requests and answers; above them: 429, 503 or 413 before anything is accepted (G27, G28). */
interface Limits {
  waitingPerSession: number;
  waitingTotal: number;
  bodyBytes: number;
  jsonDepth: number;
  /** Longest `Prefer: wait`, and how many requests may wait at the same time. */
  waitSeconds: number;
  waitingRequests: number;
  /** Open event streams. */
  eventStreams: number;
  /** Largest `limit` of a list. */
  pageItems: number;
  /** Of one batch: its items, the bytes of its lines and of one line, and how far a compressed one may expand. */
  batchItems: number;
  batchBytes: number;
  batchLineBytes: number;
  batchGzipRatio: number;
}

/** The settings of every provider, also of those that plugins serve; absent: those of its transport. */
export interface ProviderSettings {
  /** Where the Messages API of the provider is; absent: the SDK's own address, or a plugin serves the provider. */
  baseUrl?: string;
  apiKey?: string;
  headers?: Record<string, string>;
  /** The retry budget of one turn, shared by all layers (G16); absent: that of the built-in provider. */
  maxRetries?: number;
  family?: ProviderFamily;
  toolCallArgumentsEncoding?: ArgumentEncoding;
}

interface AnthropicSettings extends ProviderSettings {
  headers: Record<string, string>;
  maxRetries: number;
  /** Sends `x-holdfast-session`, `-turn`, `-epoch`, `-call` with every model call. */
  auditHeaders: boolean;
  /** False: answers come as one body, for gateways that cannot stream. */
  streaming: boolean;
}

/** The logs of model calls; off unless switched on. */
interface Diagnostics {
  /** Every request and answer, without secrets and images; absent path: `payloads.jsonl` in the data directory. */
  payloadLog: { enabled: boolean; path?: string };
  /** The tokens that were read from the provider's cache, and where a prefix was lost; absent path: `cache-trace.jsonl` there. */
  cacheTrace: { enabled: boolean; path?: string };
}

/** The contents of the configuration file. */
export interface FileSettings {
  agents: { defaults: AgentDefaults; list: AgentEntry[] };
  workspace: { path: string; bootstrapFiles: string[] };
  messages: { queue: QueueSettings };
  session: {
    /** Turns of history the model is shown in direct chats and in groups; absent: all. */
    dmHistoryLimit?: number;
    historyLimit?: number;
    /**
     * What happens to a prompt without an answer (its turn failed or was stopped) when the next one arrives: it is hidden, or both
     * are sent as one message. Either way its row stays.
     */
    orphanedPrompts: 'hide' | 'merge';
    resetTriggers: string[];
    /** This many messages are exchanged automatically after the first answer. */
    agentToAgent: { maxPingPongTurns: number };
    reset: { mode: 'none' | 'daily' | 'idle'; atHour: number; idleMinutes: number };
  };
  /** Turns that run at the same time in one worker process. */
  lanes: Record<Lane, number>;
  cron: { enabled: boolean; misfire: Misfire; maxCatchUp: number; jobs: CronJob[] };
  models: {
    providers: { anthropic: AnthropicSettings } & Record<string, ProviderSettings>;
    /**
     * While a model is away: how long a turn waits for it, and the shortest and the longest time between two probes of it, in
     * milliseconds.
     */
    outage: { giveUpAfter: number; probeMs: { min: number; max: number } };
    /** Rows that add to the built-in price table, or replace rows of it. */
    prices: WrittenPriceRow[];
    /** How fast models may be asked by all workers together. */
    limits: WrittenLimit[];
  };
  /** Batches of the provider. Times are in milliseconds unless the name says otherwise. */
  batches: {
    /** A submission waits for more requests until the oldest has waited this long, or until it has this many requests or bytes. */
    windowMs: number;
    requestsMax: number;
    bytesMax: number;
    /** The shortest and the longest time between two polls of a batch. */
    pollMs: { min: number; max: number };
    /** A submission with an unknown outcome is made again when the provider's list has not shown it for so long. */
    settleMs: number;
    /** A batch that was found in the list and is not proved to be the own one after so long is given up. */
    unprovenMs: number;
    /** True: no other program makes batches with this key, so a batch that was found needs no proof. */
    isExclusive: boolean;
    /** How long a message may take, from its arrival. */
    deadlineSeconds: number;
    /** How long ended batches are kept. */
    retention: number;
  };
  tools: ToolPolicySettings & {
    /**
     * `backgroundSeconds`: the longest that a command in the background may run. `user`: the user that runs commands, a name or a number;
     * absent: the user of the service, unless that is root (see `tools/command-user.ts`).
     */
    exec: {
      enabled: boolean;
      timeoutSeconds: number;
      backgroundSeconds: number;
      sandbox: 'off';
      user?: string | number;
    };
    /** `allowPrivate`: hosts (`wiki.lan`, `10.0.0.7:8080`) that may be fetched although their addresses are not public. */
    fetch: { enabled: boolean; timeoutSeconds: number; maxBytes: number; allowPrivate: string[] };
    /** `channels`: where messages may be sent in addition to the chat of the session; `*`: every configured channel. */
    message: { enabled: boolean; channels: string[] };
    /**
     * Which sessions an agent's tools show and write to: only its own (`self`), those that it spawned, too (`tree`), all of its agent, or
     * all whose agent `agentToAgent` lets it speak with.
     */
    sessions: { visibility: 'self' | 'tree' | 'agent' | 'all' };
    /** `allow`: agents (or `*`) that may see and exchange messages with sessions of other agents; others must not. */
    agentToAgent: { enabled: boolean; allow: string[] };
    loopDetection: { unknownToolThreshold: number };
  };
  /** `ids` holds the phone number as well. */
  owner: { phone?: string; ids: string[]; display: 'raw' | 'hash'; displaySecret?: string };
  /** The container that the operator runs the worker in, and with it the agent's tools; what prompts say of it. */
  sandbox: {
    enabled: boolean;
    /** `external`: the operator states that there is such a container. Required when `enabled`. */
    runtime?: 'external';
    /** Where the workspace is mounted from; absent: prompts do not say. */
    hostMount?: string;
    workspaceAccess: 'read-write' | 'read-only' | 'none';
    browserUrl?: string;
  };
  /** Where the agent reads about Holdfast itself; absolute. */
  docs: { enabled: boolean; path: string };
  tts: { enabled: boolean; hint?: string };
  reactions: { mode: 'off' | 'minimal' | 'extensive' };
  reasoning: { enabled: boolean };
  /** `citations`: whether replies name the place in the memory. */
  memory: { citations: 'auto' | 'off' };
  heartbeat: { enabled: boolean };
  /** In the file, platforms are siblings of `webhook`. */
  channels: { webhook: WebhookSettings; platforms: Record<string, PlatformSettings> };
  /** In the file also a list alone: the modules. */
  plugins: PluginSettings;
  images: ImageSettings;
  api: {
    /** Without a role a key is that of an operator. */
    keys: { name: string; key: string; role?: KeyRole | undefined }[];
    /** Names, in addition to loopback names, under which a service on a loopback address may be called. */
    hosts: string[];
    /** The address of the API for clients when it is behind a proxy; its host is one of `hosts`. */
    publicUrl?: string;
    /** What the dashboard calls this installation, such as `production`. Not a secret: it is shown before the sign-in. */
    environment?: string;
  };
  /** How long live events are kept. */
  events: { retention: number };
  /** How long rows are kept after their end, in milliseconds; absent: permanently. `events` in the file is `events.retention`. */
  retention: {
    turns: number;
    events?: number;
    messages?: number;
    transcripts?: number;
    idempotencyKeys?: number;
    deliveries?: number;
    deadLetters?: number;
  };
  /** How much model calls may cost; absent: this process leaves the budgets that others have configured as they are. */
  budgets?: (Omit<BudgetSettings, 'limitMicros'> & { limitUsd: number })[];
  limits: Limits;
  /** `content`: traces also show texts. `trustParent`: a request may say which trace its message belongs to. */
  telemetry: { content: boolean; trustParent: boolean };
  diagnostics: Diagnostics;
  openai: {
    /** False: the OpenAI-compatible endpoints do not exist. */
    enabled: boolean;
    /** How long a turn waits for the results of tools that the client runs. */
    callerSeconds: number;
    /** How long uploaded files are kept. */
    fileDays: number;
  };
  shutdown: { graceMs: number };
}

/** The whole configuration: complete, checked, frozen. */
export interface Config extends FileSettings {
  runtime: RuntimeSettings;
}
