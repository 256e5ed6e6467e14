// The inputs of a session's prompts that must not change during the session: the workspace's files
// and skills at its start, and the facts of its chat. An edited file becomes visible after a reset;
// a turn that answers no message keeps the chat of earlier turns, so that the system prompt keeps
// its bytes.
import { lstat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { shareNext } from '../../../coalesce.ts';
import type { AgentSettings, Config } from '../../../config.ts';
import { channelOf, type InboundMessage } from '../../../core/inbound.ts';
import {
  filesForMode,
  fitWorkspaceFiles,
  type FileLimits,
  baseNameOf,
  chooseBootstrapMode,
  bootstrapParts,
  reportBudget,
} from '../../../prompt/bootstrap.ts';
import type { PromptMode, FittedFile, InboundMeta, WorkspaceFile } from '../../../prompt/system-input.ts';
import { skillsPrompt } from '../../../prompt/skills.ts';
import { isFromSession } from '../../../core/session-message.ts';
import type { SessionView } from '../../../core/view.ts';
import type { TurnContext } from '../context.ts';
import { loadSkills } from './load-skills.ts';
import { loadWorkspaceFiles } from './load-workspace.ts';
import type { ValueSnapshot } from '../transcript-cache.ts';
import { given } from '../../../core/json.ts';
import { createHash } from 'node:crypto';
import type { PromptPart } from '../../../prompt/prompt-parts.ts';
import type { SessionKind } from '../../../core/session-key.ts';
import type { PromptedKind } from '../../sessions/claim-session.ts';
import type { Toolset } from '../../../tools/toolset.ts';

/** The workspace as a session sees it. */
export interface SessionWorkspace {
  /** The files as the prompt shows them. */
  files: FittedFile[];
  limits: FileLimits;
  /** The XML list of skills; empty: none. */
  skills: string;
  /** The repository that the workspace is in; null: none. */
  repo: string | null;
}

/** The chat of a session's messages, as the system prompt describes it. */
export interface ChatFacts {
  channel?: string;
  inbound?: InboundMeta;
  groupSystemPrompt?: string;
  /** The extra prompt of the first turn. */
  extraSystemPrompt?: string;
  /** The instructions with which a later message has replaced them; empty: none. */
  changedInstructions?: string;
}

export interface SessionContext {
  workspace: ValueSnapshot<SessionWorkspace>;
  chat: ValueSnapshot<ChatFacts>;
}

export interface SessionContextInput {
  agent: AgentSettings;
  mode: PromptMode;
  /** What earlier turns of the transcript fixed; empty in its first. */
  view: SessionView;
  /** The last of the turn's inputs when they are messages. */
  message: InboundMessage | null;
  /** True in a turn that answers a heartbeat poll: it works through the checklist as it is now. */
  isPoll: boolean;
  /** Changes the files of a session that begins, before they are fitted: the place of plugins. */
  changeFiles: (files: readonly WorkspaceFile[]) => Promise<readonly WorkspaceFile[]>;
}

/**
 * The context of a turn's session: recalled, or made in its first turn. Throws
 * `WorkspaceFileError`.
 */
export async function readSessionContext(context: TurnContext, input: SessionContextInput): Promise<SessionContext> {
  const { view } = input;
  const hashes = [view.workspaceSha256, view.chatSha256].filter((sha256) => sha256 !== undefined);
  const known = await context.store.snapshotCache.recall(context.store.database, hashes);
  // The values of these hashes were stored here.
  const workspace = known.get(view.workspaceSha256 ?? '') as SessionWorkspace | undefined;
  const before = known.get(view.chatSha256 ?? '') as ChatFacts | undefined;
  const kept = context.store.snapshotCache.keep(workspace ?? (await openWorkspace(context, input)));
  return {
    workspace: input.isPoll ? { ...kept, value: await withChecklist(kept.value, input.agent) } : kept,
    chat: context.store.snapshotCache.keep(updateChatFacts(input.message, before)),
  };
}

async function openWorkspace(context: TurnContext, input: SessionContextInput): Promise<SessionWorkspace> {
  const { agent, mode } = input;
  const { workspaceDir } = agent;
  const seen = await readWorkspace({ context, workspaceDir, names: context.config.workspace.bootstrapFiles });
  const files = await input.changeFiles(filesForMode(seen.files, mode));
  const limits = { charsPerFileMax: agent.bootstrapMaxChars, charsTotalMax: agent.bootstrapTotalMaxChars };
  return {
    files: fitWorkspaceFiles(files, limits),
    limits,
    skills: mode === 'full' ? seen.skills : '',
    repo: seen.repo,
  };
}

const CHECKLIST = 'HEARTBEAT.md';

// The list is below the cache boundary and agents edit it as they work, so a poll reads it again.
// The same file decides whether a poll is needed.
async function withChecklist(workspace: SessionWorkspace, { workspaceDir }: AgentSettings): Promise<SessionWorkspace> {
  const at = workspace.files.findIndex(({ name }) => name === CHECKLIST);
  if (at < 0) return workspace;
  const files = await loadWorkspaceFiles(workspaceDir, [CHECKLIST], { freshForMs: 0 });
  return { ...workspace, files: workspace.files.toSpliced(at, 1, ...fitWorkspaceFiles(files, workspace.limits)) };
}

interface WorkspaceContent {
  files: readonly WorkspaceFile[];
  skills: string;
  repo: string | null;
}

interface WorkspaceRead {
  context: TurnContext;
  workspaceDir: string;
  /** The files to read. */
  names: readonly string[];
}

// Many sessions may begin together: those that begin during a read share the next one, which sees
// every edit made before them.
const readWorkspace = shareNext(readOnce, ({ workspaceDir, names }: WorkspaceRead) =>
  JSON.stringify([workspaceDir, ...names]),
);

async function readOnce({ context, workspaceDir, names }: WorkspaceRead): Promise<WorkspaceContent> {
  const [files, { skills, faults }, repo] = await Promise.all([
    loadWorkspaceFiles(workspaceDir, names, { freshForMs: 0 }),
    loadSkills(workspaceDir),
    findRepository(workspaceDir),
  ]);
  for (const error of faults) context.logger.warn({ err: error }, 'Skill cannot be read and is left out');
  return { files, skills: skillsPrompt(skills), repo };
}

const PARENTS_MAX = 32;

/** The nearest folder at or above a path that has a `.git`; null when there is none. */
async function findRepository(place: string): Promise<string | null> {
  let at = place;
  for (let level = 0; level < PARENTS_MAX; level += 1) {
    const isRepository = await lstat(join(at, '.git')).then(
      () => true,
      () => false,
    );
    if (isRepository) return at;
    if (dirname(at) === at) return null;
    at = dirname(at);
  }
  return null;
}

/**
 * The chat that a message names; without a message, or with one from another session without a
 * chat, it does not change.
 */
function updateChatFacts(message: InboundMessage | null, before: ChatFacts | undefined): ChatFacts {
  if (message === null) return before ?? {};
  const { extraSystemPrompt: _first, changedInstructions: _changed, ...chat } = before ?? {};
  return {
    ...(isFromSession(message) ? chat : toChatFacts(message)),
    ...updateInstructions(message.extraSystemPrompt, before),
  };
}

/**
 * Further instructions stay until a message contains others; an empty text removes them. Those of
 * the first turn keep their place, so that the system prompt keeps its bytes up to the cache
 * boundary.
 */
function updateInstructions(
  given: string | undefined,
  before: ChatFacts | undefined,
): Pick<ChatFacts, 'extraSystemPrompt' | 'changedInstructions'> {
  const { extraSystemPrompt = '', changedInstructions } = before ?? { extraSystemPrompt: given ?? '' };
  const now = given ?? changedInstructions ?? extraSystemPrompt;
  return {
    ...(extraSystemPrompt === '' ? {} : { extraSystemPrompt }),
    ...(now === extraSystemPrompt ? {} : { changedInstructions: now }),
  };
}

function toChatFacts(message: InboundMessage): ChatFacts {
  const { chatId, provider, surface, chatType = 'direct', groupSystemPrompt } = message;
  const channel = channelOf(message);
  return {
    channel,
    inbound: { channel, chatType, ...given({ chatId, provider, surface }) },
    ...given({ groupSystemPrompt }),
  };
}

// The notes on the agent's workspace at the beginning of a prompt: that its files do not fit, and
// that its setup is pending.

export interface NotesInput {
  config: Config;
  agent: AgentSettings;
  toolset: Toolset;
  workspace: SessionWorkspace;
  kind: PromptedKind;
  sessionKind: SessionKind;
  /**
   * The states of the workspace's size that the session has been warned of, as hashes, oldest
   * first.
   */
  warned: readonly string[];
}

export interface Notes {
  /** Before the user prompt. */
  parts: PromptPart[];
  /** The states that have been warned of from now on. */
  warned: readonly string[];
}

const BOOTSTRAP_FILE = 'bootstrap.md';
const WARNED_MAX = 32;
const HASH_CHARS = 12;

/** The notes of a turn. Throws `WorkspaceFileError`. */
export async function bootstrapNotes(input: NotesInput): Promise<Notes> {
  // A configured system prompt shows no files, so there is nothing to say about them.
  if (input.agent.systemPromptOverride !== undefined) return { parts: [], warned: input.warned };
  const warning = budgetWarning(input);
  return { parts: [...warning.parts, ...(await pendingSetup(input))], warned: warning.warned };
}

function budgetWarning({ agent, workspace, kind, warned }: NotesInput): Notes {
  const mode = agent.bootstrapWarning;
  const report = mode === 'off' || kind === 'heartbeat' ? null : reportBudget(workspace.files, workspace.limits);
  if (report === null) return { parts: [], warned };
  if (mode === 'always') return { parts: [report.part], warned };
  const signature = createHash('sha256').update(report.signature).digest('hex').slice(0, HASH_CHARS);
  if (warned.includes(signature)) return { parts: [], warned };
  return { parts: [report.part], warned: [...warned, signature].slice(-WARNED_MAX) };
}

// The session's snapshot of the workspace says whether to check at all; the file itself says
// whether setup is still pending: it is removed in the middle of a session.
async function pendingSetup({
  config,
  agent,
  toolset,
  workspace,
  kind,
  sessionKind,
}: NotesInput): Promise<PromptPart[]> {
  const file = workspace.files.find(({ name, rawChars }) => baseNameOf(name) === BOOTSTRAP_FILE && rawChars > 0);
  if (file === undefined) return [];
  const [now] = await loadWorkspaceFiles(agent.workspaceDir, [file.name]);
  const hasTool = (name: string) => toolset.findTool(name) !== undefined;
  const mode = chooseBootstrapMode({
    isPending: (now?.content ?? '').trim() !== '',
    kind,
    sessionKind,
    isOwnWorkspace: !config.sandbox.enabled || config.sandbox.workspaceAccess === 'read-write',
    hasFileAccess: hasTool('exec') || (hasTool('read') && (hasTool('write') || hasTool('edit'))),
  });
  return bootstrapParts(mode);
}
