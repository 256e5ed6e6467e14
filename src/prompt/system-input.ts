// What the system prompt is made of: one plain object, and the shape of a section. Nothing in here
// changes from message to message of one chat: no message id, no time, no name of a sender (those
// belong to the user's role), so that what stands above the cache boundary keeps its bytes.
import type { ReasoningLevel } from '../core/reply.ts';
import type { ThinkingLevel } from '../core/models.ts';
import type { SessionKind } from '../core/session-key.ts';

/** A file of the workspace that is shown to the model. */
export interface WorkspaceFile {
  /** The configured name, such as `AGENTS.md`. */
  name: string;
  /** Absolute. */
  path: string;
  /** Null: there is no such file. */
  content: string | null;
}

export interface FittedFile {
  name: string;
  path: string;
  /** Empty when nothing of it is shown. */
  text: string;
  /** Its size in characters; 0 when the file does not exist. */
  rawChars: number;
  /** The limit that cut it; absent: it is shown whole. */
  cutBy?: 'file' | 'total';
}

/** Where the turn's message came from, as Holdfast itself knows it. */
export interface InboundMeta {
  chatId?: string;
  channel: string;
  provider?: string;
  surface?: string;
  chatType: 'direct' | 'group' | 'channel';
}

/**
 * How the agent takes part in a group: `always-on` sees every message, `trigger-only` only those
 * addressed to it.
 */
export type GroupActivation = 'always-on' | 'trigger-only';

/** The container that the worker and its tools run in. */
export interface SandboxFacts {
  /** Absent: not known. */
  hostMount?: string;
  workspaceAccess: 'read-write' | 'read-only' | 'none';
  /** Where its browser is seen; absent: it has none. */
  browserUrl?: string;
}

/** The sandbox that every command of the agent runs in. */
export interface ExecSandboxFacts {
  /** The hosts that it reaches; empty: none. */
  hosts: readonly string[];
  isReadOnly: boolean;
}

/**
 * The contributions of a provider or a plugin to the prompt: texts at two fixed places, and
 * replacements of three sections.
 */
export interface PromptContribution {
  /** Above the cache boundary, before the safety section: must be the same in every turn. */
  stablePrefix?: string;
  /** Below it. */
  dynamicSuffix?: string;
  /** Heading included. `interaction_style` has a section after the tools only when it is set. */
  sectionOverrides?: Partial<Record<OverridableSection, string>>;
}

export type OverridableSection = 'interaction_style' | 'tool_call_style' | 'execution_bias';

/** The machine that the turn runs on. */
export interface RuntimeFacts {
  host?: string;
  /** `Linux 6.14.0`. */
  os?: string;
  arch?: string;
  /** `v24.21.0`. */
  node?: string;
  shell?: string;
  /** The repository of the workspace, if it is one. */
  repo?: string;
}

export interface SystemPromptInput {
  mode: PromptMode;
  agentId: string;
  /** The tools of this turn, in any order. */
  tools: readonly { name: string; summary: string }[];
  workspaceDir: string;
  workspaceNotes?: readonly string[];
  /** The workspace files as they are shown, in that order. */
  files: readonly FittedFile[];
  /** IANA zone of the user. */
  timezone: string;
  /** `provider/model`, in use and configured. */
  model: string;
  defaultModel?: string;
  thinking: ThinkingLevel;
  /** Whether the session shows the model's thinking. */
  reasoning: ReasoningLevel;
  /** Alias to `provider/model`. */
  modelAliases?: Readonly<Record<string, string>>;
  runtime: RuntimeFacts;
  channel?: string;
  capabilities?: readonly string[];
  /** The operator's lines about the `message` tool on the channel. */
  messageHints?: readonly string[];
  /** What messages there may have in addition to text; absent: nothing. */
  messageFeatures?: { media: boolean; reactions: boolean };
  /** The owners as they are shown: raw ids, or their hashes. */
  authorizedSenders?: readonly string[];
  /** Absent for turns that answer no message and never had one. */
  inbound?: InboundMeta;
  /**
   * Set in the turn that explains the agent's role in a group: the first of a session; absent in
   * later ones.
   */
  groupIntro?: GroupActivation;
  /** The group operator's instructions to the agent. */
  groupSystemPrompt?: string;
  /**
   * Further instructions of the creator of the session: a parent's task, an API caller's own system
   * text.
   */
  extraSystemPrompt?: string;
  /**
   * What replaces them since a later turn, below the cache boundary, so that the part above keeps
   * its bytes; empty: they no longer hold.
   */
  changedInstructions?: string;
  /** Absent: `auto`, sources in the memory are named where that helps. */
  memoryCitations?: 'auto' | 'off';
  /** The XML list of skills. */
  skillsPrompt?: string;
  /** The folder of the documentation, which `read` reaches, and the names of its files. */
  docs?: { path: string; files: readonly string[] };
  sandbox?: SandboxFacts;
  /** Absent: there is none, or not everywhere. */
  execSandbox?: ExecSandboxFacts;
  ttsHint?: string;
  reactions?: { channel: string; mode: 'minimal' | 'extensive' };
  /** True when the model must write its reasoning in tags. */
  hasReasoningTags?: boolean;
  /** Absent: heartbeats are off. */
  heartbeatPrompt?: string;
  /** The channels that messages can be sent to. */
  channelNames?: readonly string[];
  /** Provider's first, then the plugins'; where two replace the same section, the first is used. */
  contributions?: readonly AttributedContribution[];
  /**
   * True moves the chat's context below the cache boundary: it is then free to differ from turn to
   * turn.
   */
  isExtraContextDynamic?: boolean;
}

export interface AttributedContribution extends PromptContribution {
  origin: 'configuration' | `plugin:${string}`;
}

/**
 * The origin of a section; a plugin is named. `client`: who made the session, over the API or as
 * its parent.
 */
export type SectionOrigin = 'holdfast' | 'configuration' | 'workspace' | 'channel' | 'client' | `plugin:${string}`;

/** One part of the system prompt. */
export interface Section {
  name: string;
  /** The modes that it appears in; absent: full and minimal. */
  modes?: readonly PromptMode[];
  /** Absent: Holdfast. */
  origin?: SectionOrigin | ((input: SystemPromptInput) => SectionOrigin);
  /**
   * Its lines; none when it has nothing to say. Blank lines between lines are dropped, those inside
   * a line are kept.
   */
  lines: (input: SystemPromptInput) => readonly (string | null)[];
}

export function hasTool({ tools }: SystemPromptInput, name: string): boolean {
  return tools.some((tool) => tool.name.toLowerCase() === name);
}

/** `full`: all sections; `minimal`: what delegated work needs; `none`: the identity line alone. */
export type PromptMode = 'full' | 'minimal' | 'none';

export const EVERY_MODE: readonly PromptMode[] = ['full', 'minimal', 'none'];
export const FULL_AND_MINIMAL: readonly PromptMode[] = ['full', 'minimal'];
export const FULL_ONLY: readonly PromptMode[] = ['full'];

/**
 * The mode of a session: subagents and cron sessions never get more than `minimal`, all others what
 * is configured.
 */
export function choosePromptMode(kind: SessionKind, configured: PromptMode): PromptMode {
  const isDelegated = kind === 'subagent' || kind === 'cron';
  return isDelegated && configured === 'full' ? 'minimal' : configured;
}
