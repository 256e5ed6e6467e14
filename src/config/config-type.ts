// The configuration as the rest of Holdfast sees it: complete, frozen, every default filled in. Durations are milliseconds unless
// the name ends in its unit. The file's keys and these fields have the same names (CONTRACT section 3); `runtime` is the environment.

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
}

interface SubagentSettings {
  maxSpawnDepth: number;
  maxChildrenPerSession: number;
  maxConcurrent: number;
  /** 0: no limit of its own. */
  runTimeoutSeconds: number;
  /** Absent: the agent's model. */
  model?: string;
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
  bootstrapWarning: 'once' | 'always' | 'off';
  /** The model's context window. */
  contextTokens: number;
  llm: { idleTimeoutSeconds: number };
  contextPruning: ContextPruning;
  compaction: Compaction;
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
    resetTriggers: string[];
    reset: { mode: 'none' | 'daily' | 'idle'; atHour: number; idleMinutes: number };
  };
  /** Turns at once in one worker process. */
  lanes: Record<Lane, number>;
  cron: { enabled: boolean; misfire: Misfire; maxCatchUp: number };
  models: { providers: { anthropic: AnthropicSettings } };
  tools: ToolPolicy & {
    exec: { enabled: boolean; timeoutSeconds: number; sandbox: 'off' };
    fetch: { enabled: boolean; timeoutSeconds: number; maxBytes: number };
    loopDetection: { unknownToolThreshold: number };
  };
  owner: { phone?: string; ids: string[]; display: 'raw' | 'hash'; displaySecret?: string };
  sandbox: { enabled: boolean };
  tts: { enabled: boolean; hint?: string };
  reactions: { mode: 'minimal' | 'extensive' };
  reasoning: { enabled: boolean };
  heartbeat: { enabled: boolean };
  channels: { webhook: WebhookSettings };
  /** Absolute paths of modules. */
  plugins: string[];
  api: { keys: { name: string; key: string }[] };
  /** How long live events are kept. */
  events: { retention: number };
  limits: Limits;
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
