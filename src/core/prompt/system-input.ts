// What the system prompt is made of: one plain object, and the shape of a section. Nothing in here changes from message to
// message of one chat: no message id, no time, no name of a sender (those belong to the user's role), so that what stands above
// the cache boundary keeps its bytes.
import type { PromptMode } from './prompt-mode.ts';
import type { ThinkingLevel } from './thinking-directive.ts';

/** A file of the workspace that is shown to the model. */
export interface WorkspaceFile {
  /** As configured, `AGENTS.md`. */
  name: string;
  /** Absolute. */
  path: string;
  /** Null: there is no such file. */
  content: string | null;
}

/** Where the turn's message came from, as Holdfast itself knows it. */
export interface InboundMeta {
  chatId?: string;
  channel: string;
  provider?: string;
  surface?: string;
  chatType: 'direct' | 'group' | 'channel';
}

/** How the agent takes part in a group. */
interface GroupRole {
  /** `always-on`: sees every message; `trigger-only`: only what is addressed to it. */
  activation: 'always-on' | 'trigger-only';
  /** True in the turn that explains the role, the first of a session; later ones leave it out. */
  isIntroduced: boolean;
}

interface SandboxFacts {
  workdir: string;
  hostMount: string;
  workspaceAccess: 'read-write' | 'read-only' | 'none';
}

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
  /** The workspace files in the order in which they may spend the total. */
  files: readonly WorkspaceFile[];
  fileLimits: { charsPerFileMax: number; charsTotalMax: number };
  /** IANA zone of the user. */
  timezone: string;
  /** `provider/model`, in use and configured. */
  model: string;
  defaultModel?: string;
  thinking: ThinkingLevel;
  /** Alias to `provider/model`. */
  modelAliases?: Readonly<Record<string, string>>;
  runtime: RuntimeFacts;
  channel?: string;
  capabilities?: readonly string[];
  /** The owners as they are to be shown: raw ids, or their hashes. */
  authorizedSenders?: readonly string[];
  /** Absent for turns that answer no message and never had one. */
  inbound?: InboundMeta;
  group?: GroupRole;
  /** What the operator of a group says to the agent there. */
  groupSystemPrompt?: string;
  /** Further instructions of whoever started the session: a parent's task, an API caller's own system text. */
  extraSystemPrompt?: string;
  /** The XML list of skills. */
  skillsPrompt?: string;
  docsPath?: string;
  sandbox?: SandboxFacts;
  ttsHint?: string;
  reactions?: { channel: string; mode: 'minimal' | 'extensive' };
  /** True when replies may carry `[[reply_to_current]]` tags. */
  hasReplyTags?: boolean;
  /** True when the model must write its reasoning in tags. */
  hasReasoningTags?: boolean;
  /** Absent: heartbeats are off. */
  heartbeatPrompt?: string;
}

/** Whose words a section holds. */
export type SectionOrigin = 'holdfast' | 'configuration' | 'workspace' | 'channel';

/** One part of the system prompt. */
export interface Section {
  name: string;
  /** The modes that it appears in. */
  modes: readonly PromptMode[];
  origin: SectionOrigin;
  /** Its lines; none when it has nothing to say. Blank lines between lines are dropped, those inside a line are kept. */
  lines: (input: SystemPromptInput) => readonly (string | null)[];
}
