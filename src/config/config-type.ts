// The configuration as the rest of Holdfast sees it: complete, frozen, every default filled in. Durations are milliseconds unless
// the name ends in its unit. The file's keys and these fields have the same names (CONTRACT section 3); `runtime` is the environment.
import type { CronDelivery, CronPayload, CronTarget } from '../core/schedule/cron.ts';

/** A class of turns with its own concurrency. */
export type Lane = 'main' | 'subagent' | 'cron' | 'batch';
export const LANES: readonly Lane[] = ['main', 'subagent', 'cron', 'batch'];

/** What happens to a message that finds its session busy. */
export type QueueMode = 'steer' | 'followup' | 'collect' | 'interrupt' | 'steer-backlog' | 'reject' | 'rollback';
export const QUEUE_MODES: readonly QueueMode[] = [
  'steer',
  'followup',
  'collect',
  'interrupt',
  'steer-backlog',
  'reject',
  'rollback',
];

/** What gives way when a session's inbox is over its cap. */
export type QueueDrop = 'summarize' | 'old' | 'new';
export const QUEUE_DROPS: readonly QueueDrop[] = ['summarize', 'old', 'new'];

export type ThinkingLevel = 'off' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'adaptive';
export const THINKING_LEVELS: readonly ThinkingLevel[] = [
  'off',
  'minimal',
  'low',
  'medium',
  'high',
  'xhigh',
  'adaptive',
];

/** A cron of the file. What it leaves out is filled in by `schedule/cron-definition.ts`. */
export interface CronJob {
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

type PromptMode = 'full' | 'minimal' | 'none';
type Misfire = 'run_once' | 'run_all' | 'skip';
export type LogLevel = 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent';
export type LogFormat = 'pretty' | 'json';

/** Names or patterns with `*` of tools. A tool must pass `allow` (absent: every tool passes) and must not match `deny`. */
export interface ToolPolicy {
  allow?: string[];
  deny: string[];
}

interface ContextPruning {
  mode: 'off' | 'cache-ttl';
  ttl: number;
  keepLastAssistants: number;
  /** Share of the context window from which tool results are trimmed, and from which they are cleared. */
  softTrimRatio: number;
  hardClearRatio: number;
  minPrunableToolChars: number;
  softTrim: { maxChars: number; headChars: number; tailChars: number };
  hardClear: { enabled: boolean; placeholder: string };
  /** Which tools' results may be pruned. */
  tools: { allow: string[]; deny: string[] };
}

interface Compaction {
  reserveTokens: number;
  keepRecentTokens: number;
  timeoutSeconds: number;
  aggregateWaitSeconds: number;
  maxAttempts: number;
  /** Absent: the agent's model. */
  model?: string;
  /** Whether the model may write to the memory of the day before older entries leave its sight. */
  memoryFlush: { enabled: boolean };
}

interface PromptContributionSettings {
  /** Above the cache boundary, before the safety section. */
  stablePrefix?: string;
  /** Below it. */
  dynamicSuffix?: string;
  /** Sections in other words, heading included. */
  sectionOverrides: { interactionStyle?: string; toolCallStyle?: string; executionBias?: string };
}

interface HarnessSettings {
  /** The harness of every turn, whatever else is said; absent: none is pinned. */
  pinned?: string;
  /** `built-in`, `auto` (a plugin's when one is made for the model), or the id of a plugin's harness. */
  runtime: string;
  /** What answers when the harness that `runtime` names is not there; `none`: the turn fails. */
  fallback: 'built-in' | 'none';
}

interface HeartbeatSettings {
  /** 0: off. */
  every: number;
  prompt: string;
  ackMaxChars: number;
  /** `HH:MM`, end `24:00` allowed; equal: never. `timezone` is `user`, `local` or an IANA zone. */
  activeHours?: { start: string; end: string; timezone: string };
  /** `none`, `last`, or the name of a channel. */
  target: string;
  dedupeHours: number;
  /** Absent: the agent is asked at every poll. */
  when?: HeartbeatGate;
}

/** What must look different from the last time before the agent is asked; exactly one of the three. */
export interface HeartbeatGate {
  /** A shell command, run in the agent's workspace: its exit code and what it prints. */
  command?: string;
  /** What it answers. Private addresses only where `tools.fetch.allowPrivate` names the host. */
  url?: string;
  /** The content of a file; a relative path begins in the agent's workspace. */
  file?: string;
  timeoutSeconds: number;
}

interface SubagentSettings {
  maxSpawnDepth: number;
  /** Of one session, and of everybody below the top of a family: runs that have not ended. */
  maxChildrenPerSession: number;
  maxDescendants: number;
  /** Turns of subagents at once in one worker process, as far as `lanes.subagent` allows more. */
  maxConcurrent: number;
  /** 0: no limit of its own. */
  runTimeoutSeconds: number;
  /** Absent: the agent's model. */
  model?: string;
  /** Absent: the agent's level. */
  thinking?: ThinkingLevel;
  /** Agents that may be spawned beside the agent itself; `*`: any. */
  allowAgents: string[];
  /** Announcements that find their session busy gather until none came for so long, in milliseconds. */
  announceDebounce: number;
}

/** What can be set for all agents (`agents.defaults`) and for each of them (`agents.list`). */
export interface AgentDefaults {
  /** `provider/model`, or an alias of `models`. */
  model: string;
  /** Alias to `provider/model`. */
  models: Record<string, string>;
  promptMode: PromptMode;
  thinking: ThinkingLevel;
  /** IANA zone of the user. */
  userTimezone: string;
  /** `utc`, `local`, `user` or an IANA zone: in which times in prompts are written. */
  envelopeTimezone: string;
  /** The deadline of a turn. */
  timeoutSeconds: number;
  /** Model calls at most in a turn. */
  maxSteps: number;
  /** The most of one workspace file, and of all together, in the prompt. */
  bootstrapMaxChars: number;
  bootstrapTotalMaxChars: number;
  /** Warns when workspace files do not fit, or nearly do not: once for each state of them in a session, in every turn, never. */
  bootstrapWarning: 'once' | 'always' | 'off';
  /** In place of the whole system prompt; a cache boundary in it divides it. */
  systemPromptOverride?: string;
  /** What the model's provider wants said in the system prompt. */
  promptContribution: PromptContributionSettings;
  /** Whether the chat's context stands above the cache boundary or below it. */
  chatContextPlace: 'stable' | 'dynamic';
  /** The model's context window. */
  contextTokens: number;
  /** How long a model may be silent; 0: as long as the turn may take. The default is less in cron jobs, see `idle-timeout.ts`. */
  llm: { idleTimeoutSeconds: number };
  contextPruning: ContextPruning;
  compaction: Compaction;
  /** What answers the turns. */
  harness: HarnessSettings;
  heartbeat: HeartbeatSettings;
  subagents: SubagentSettings;
}

/** One agent of the file, with the workspace made absolute; what it leaves out comes from the defaults. */
export type AgentEntry = {
  id: string;
  workspace?: string | undefined;
  tools?: DeepPartial<ToolPolicy> | undefined;
} & DeepPartial<AgentDefaults>;

/** What `agentOf` answers: the defaults with the agent's own settings over them. `model` is resolved to `provider/model`. */
export interface AgentSettings extends AgentDefaults {
  id: string;
  /** Absolute; not necessarily existing yet. */
  workspaceDir: string;
  /** The policy of all agents and that of this one: a tool must pass both. */
  toolPolicies: readonly ToolPolicy[];
}

interface QueueSettings {
  mode: QueueMode;
  byChannel: Record<string, QueueMode>;
  debounceMs: number;
  /** The longest that messages behind a turn gather, however many come, in milliseconds. */
  gatherMsMax: number;
  cap: number;
  drop: QueueDrop;
}

/** Where replies go when a message names no `deliver` of its own. */
interface WebhookSettings {
  /** Absent: replies without a `deliver` of their own stay in the transcript. */
  url?: string;
  /** Standard Webhooks secret (`whsec_...`); absent: generated once in the data directory. */
  secret?: string;
  timeoutMs: number;
  maxAttempts: number;
  /** A reply older than this is not sent any more. */
  expiresAfter: number;
}

/** A chat platform that messages come from, by the name that they give as their `channel`. */
export interface PlatformSettings {
  /** Absent: true. */
  enabled?: boolean;
  /** What it is called in prompts; absent: its name. */
  label?: string;
  /** The agent's own number there. */
  phone?: string;
  /** What it can do, for the runtime line: `inlineButtons`. */
  capabilities?: string[];
  /** What its chats should know of the `message` tool there: a line each. */
  messageHints?: string[];
  /** Absent: `reactions.mode` where agents can react (Telegram, Signal), else off. */
  reactions?: 'off' | 'minimal' | 'extensive';
  /** Which messages of a group reach the agent; absent: those that mention it. */
  groupActivation?: 'mention' | 'always';
  /** By account id; `details` such as `dm:allowlist`. */
  accounts?: Record<string, { name?: string; details?: string[] }>;
  /** Turns of history in its groups, its direct chats, and with single people; absent: those of `session`. */
  historyLimit?: number;
  dmHistoryLimit?: number;
  dms?: Record<string, { historyLimit?: number }>;
}

/** What is said of one plugin. */
interface PluginEntry {
  /** Absent: true. */
  enabled?: boolean;
  /** `allowPromptInjection: false`: it may not put words into prompts. */
  hooks?: { allowPromptInjection?: boolean };
  /** The plugin's own settings: it is given them as they are. */
  config?: Record<string, unknown>;
}

export interface PluginSettings {
  /** Absolute paths of modules, in the order in which they are loaded. */
  modules: string[];
  /** By the id of the plugin. */
  entries: Record<string, PluginEntry>;
}

interface ImageSettings {
  /** Absolute folders that images are read from, beside the agent's workspace and `media` in the data directory. */
  roots: string[];
  /** `provider/model` of models that take no images, with `*`. */
  textOnlyModels: string[];
}

/** Bounds of what may wait, come in or be answered; over them: 429, 503 or 413 before anything is accepted (G27, G28). */
interface Limits {
  waitingPerSession: number;
  waitingTotal: number;
  bodyBytes: number;
  jsonDepth: number;
  /** Longest `Prefer: wait`, and how many requests may wait at once. */
  waitSeconds: number;
  waitingRequests: number;
  /** Open event streams. */
  eventStreams: number;
  /** Largest `limit` of a list. */
  pageItems: number;
}

interface AnthropicSettings {
  baseUrl?: string;
  apiKey?: string;
  headers: Record<string, string>;
  /** The retry budget of one turn, shared by all layers (G16). */
  maxRetries: number;
  /** Sends `x-holdfast-session`, `-turn`, `-epoch`, `-call` with every model call. */
  auditHeaders: boolean;
  /** False: answers come as one body, for gateways that cannot stream. */
  streaming: boolean;
  /** How the provider writes the arguments of tool calls: some encode `<`, `&` and quotes in them as in HTML. */
  toolCallArgumentsEncoding: 'none' | 'html-entities';
}

/** What is written down about model calls; off unless switched on. */
interface Diagnostics {
  /** Every request and answer, without secrets and images; absent path: `payloads.jsonl` in the data directory. */
  payloadLog: { enabled: boolean; path?: string };
  /** What was read from the provider's cache, and where a prefix was lost; absent path: `cache-trace.jsonl` there. */
  cacheTrace: { enabled: boolean; path?: string };
}

/** What the configuration file can say. */
export interface FileSettings {
  agents: { defaults: AgentDefaults; list: AgentEntry[] };
  workspace: { path: string; bootstrapFiles: string[] };
  messages: { queue: QueueSettings };
  session: {
    /** Turns of history the model is shown in direct chats and in groups; absent: all. */
    dmHistoryLimit?: number;
    historyLimit?: number;
    /**
     * What becomes of a prompt that nobody answered (its turn failed or was stopped) when the next one comes: it is hidden, or both
     * are sent as one message. Either way its row stays.
     */
    orphanedPrompts: 'hide' | 'merge';
    resetTriggers: string[];
    /** So many messages may go to and fro by themselves after the first answer. */
    agentToAgent: { maxPingPongTurns: number };
    reset: { mode: 'none' | 'daily' | 'idle'; atHour: number; idleMinutes: number };
  };
  /** Turns at once in one worker process. */
  lanes: Record<Lane, number>;
  cron: { enabled: boolean; misfire: Misfire; maxCatchUp: number; jobs: CronJob[] };
  models: { providers: { anthropic: AnthropicSettings } };
  tools: ToolPolicy & {
    /** `backgroundSeconds`: the longest that a command in the background may run. */
    exec: { enabled: boolean; timeoutSeconds: number; backgroundSeconds: number; sandbox: 'off' };
    /** `allowPrivate`: hosts (`wiki.lan`, `10.0.0.7:8080`) that may be fetched although their addresses are not public. */
    fetch: { enabled: boolean; timeoutSeconds: number; maxBytes: number; allowPrivate: string[] };
    /** `channels`: where messages may go beside the chat that the session talks in; `*`: every configured channel. */
    message: { enabled: boolean; channels: string[] };
    /**
     * Which sessions an agent's tools show and write to: only its own (`self`), those that it spawned, too (`tree`), all of its agent, or
     * all whose agent `agentToAgent` lets it speak with.
     */
    sessions: { visibility: 'self' | 'tree' | 'agent' | 'all' };
    /** `allow`: agents (or `*`) that sessions of other agents may be shown to and hear from; absent from it, they may not. */
    agentToAgent: { enabled: boolean; allow: string[] };
    loopDetection: { unknownToolThreshold: number };
  };
  /** `ids` holds the phone number as well. */
  owner: { phone?: string; ids: string[]; display: 'raw' | 'hash'; displaySecret?: string };
  /** What the prompt says of the container that the agent's tools run in. */
  sandbox: {
    enabled: boolean;
    workdir: string;
    /** Absent: the agent's workspace. */
    hostMount?: string;
    workspaceAccess: 'read-write' | 'read-only' | 'none';
    browserUrl?: string;
  };
  /** Where the agent reads about Holdfast itself; absolute. */
  docs: { enabled: boolean; path: string };
  tts: { enabled: boolean; hint?: string };
  reactions: { mode: 'off' | 'minimal' | 'extensive' };
  reasoning: { enabled: boolean };
  /** `citations`: whether replies name where in the memory something stands. */
  memory: { citations: 'auto' | 'off' };
  heartbeat: { enabled: boolean };
  /** In the file, platforms stand beside `webhook`. */
  channels: { webhook: WebhookSettings; platforms: Record<string, PlatformSettings> };
  /** In the file also a list alone: the modules. */
  plugins: PluginSettings;
  images: ImageSettings;
  api: { keys: { name: string; key: string }[] };
  /** How long live events are kept. */
  events: { retention: number };
  limits: Limits;
  diagnostics: Diagnostics;
  shutdown: { graceMs: number };
}

/** What the environment says (CONTRACT section 2). An empty variable counts as unset. */
export interface RuntimeSettings {
  /** Absent: embedded PostgreSQL in the data directory. */
  databaseUrl?: string;
  /** Absent: BullMQ's PostgreSQL backend. */
  redisUrl?: string;
  /** Absolute. */
  dataDir: string;
  /** Absolute path of the file that was read; null when there is none. */
  configPath: string | null;
  host: string;
  /** 0: any free port. */
  port: number;
  /** Absent: the generated one, see `ensureApiKey`. */
  apiKey?: string;
  leaseMs: number;
  reconcileMs: number;
  /** `lanes`, with what HOLDFAST_CONCURRENCY says over it. */
  concurrency: Record<Lane, number>;
  logLevel: LogLevel;
  logFormat: LogFormat;
  /** ANTHROPIC_API_KEY, else `models.providers.anthropic.apiKey`; absent: the scripted model. */
  anthropicApiKey?: string;
  /** ANTHROPIC_BASE_URL, else `models.providers.anthropic.baseUrl`; absent: the SDK's own. */
  anthropicBaseUrl?: string;
}

/** The whole configuration: complete, checked, frozen. */
export interface Config extends FileSettings {
  runtime: RuntimeSettings;
}

/** Every object field optional, all the way down; arrays are replaced as a whole. */
export type DeepPartial<T> = T extends readonly unknown[]
  ? T
  : T extends object
    ? { [Key in keyof T]?: DeepPartial<T[Key]> | undefined }
    : T;
