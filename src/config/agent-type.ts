// The settings of agents: the defaults of all, and those that each can override.
import type { PruningSettings } from '../core/pruning/prune-tool-results.ts';
import type { ToolPolicy } from '../core/tool-policy.ts';
import type { IdleLimits } from '../core/stream/idle-timeout.ts';
import type { ThinkingLevel } from './choices.ts';
import type { DeepPartial } from './deep-partial.ts';

type PromptMode = 'full' | 'minimal' | 'none';

/** Names or patterns with `*` of tools. A tool must pass `allow` (absent: every tool passes; empty: none) and must not match `deny`. */
export interface ToolPolicySettings {
  allow?: string[];
  deny: string[];
}

interface ContextPruning extends Omit<PruningSettings, 'contextTokens'> {
  mode: 'off' | 'cache-ttl';
  ttl: number;
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
  /** The headings of AGENTS.md whose sections the next prompt repeats. */
  postCompactionSections: string[];
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
  /** The harness of every turn, before all other settings; absent: none is pinned. */
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

/** The source that must have changed since the last check before the agent is called; exactly one of the three. */
export interface HeartbeatGate {
  /** A shell command, run in the agent's workspace: its exit code and its output. */
  command?: string;
  /** Its answer. Private addresses only if `tools.fetch.allowPrivate` names the host. */
  url?: string;
  /** The content of a file; a relative path begins in the agent's workspace. */
  file?: string;
  timeoutSeconds: number;
}

interface SubagentSettings {
  maxSpawnDepth: number;
  /** The limits of active runs, of one session and of all below the top of a family. */
  maxChildrenPerSession: number;
  maxDescendants: number;
  /** Turns of subagents that run at the same time in one worker process, if `lanes.subagent` allows as many. */
  maxConcurrent: number;
  /** 0: no limit of its own. */
  runTimeoutSeconds: number;
  /** Absent: the agent's model. */
  model?: string;
  /** Absent: the agent's level. */
  thinking?: ThinkingLevel;
  /** Agents that may be spawned in addition to the agent itself; `*`: any. */
  allowAgents: string[];
  /** Announcements for a busy session are collected until none has arrived for this long, in milliseconds. */
  announceDebounce: number;
}

/** The settings for all agents (`agents.defaults`) and for each of them (`agents.list`). */
export interface AgentDefaults {
  /** `provider/model`, or an alias of `models`. */
  model: string;
  /** Models that are asked in this order when the model is away, or refuses for a reason of its own: `provider/model` or aliases. */
  fallbacks: string[];
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
  /** The model provider's text for the system prompt. */
  promptContribution: PromptContributionSettings;
  /** Whether the chat's context is above the cache boundary or below it. */
  chatContextPlace: 'stable' | 'dynamic';
  /** The model's context window. */
  contextTokens: number;
  /**
   * How long a model may be silent; 0: as long as the turn may take. The limit of cron jobs has a shorter default, and follows the other one where
   * the file sets only that.
   */
  llm: IdleLimits;
  contextPruning: ContextPruning;
  compaction: Compaction;
  /** What answers the turns. */
  harness: HarnessSettings;
  heartbeat: HeartbeatSettings;
  subagents: SubagentSettings;
}

/** One agent of the file, with the workspace made absolute; missing settings come from the defaults. */
export type AgentEntry = {
  id: string;
  workspace?: string | undefined;
  tools?: DeepPartial<ToolPolicySettings> | undefined;
} & DeepPartial<AgentDefaults>;

/** What `agentOf` answers: the defaults with the agent's own settings over them. `model` is resolved to `provider/model`. */
export interface AgentSettings extends AgentDefaults {
  id: string;
  /** Absolute; not necessarily existing yet. */
  workspaceDir: string;
  /** The policy of all agents and that of this one, and in a turn those of its inputs: a tool must pass all of them. */
  toolPolicies: readonly ToolPolicy[];
}
