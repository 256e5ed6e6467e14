// The notes on the agent's workspace at the beginning of a prompt: that its files do not fit, and that its setup is pending.
import { createHash } from 'node:crypto';
import type { AgentSettings, Config } from '../../../config.ts';
import { chooseBootstrapMode, bootstrapParts, reportBudget } from '../../../prompt/bootstrap.ts';
import { baseNameOf } from '../../../prompt/fit-workspace-files.ts';
import type { PromptPart } from '../../../prompt/prompt-parts.ts';
import type { SessionKind } from '../../../core/session-key.ts';
import type { PromptedKind } from '../../sessions/claim-session.ts';
import type { Toolset } from '../../../tools/toolset.ts';
import { loadWorkspaceFiles } from './load-workspace.ts';
import type { SessionWorkspace } from './session-context.ts';

export interface NotesInput {
  config: Config;
  agent: AgentSettings;
  toolset: Toolset;
  workspace: SessionWorkspace;
  kind: PromptedKind;
  sessionKind: SessionKind;
  /** The states of the workspace's size that the session has been warned of, as hashes, oldest first. */
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

// The session's snapshot of the workspace says whether to check at all; the file itself says whether setup is still pending: it is
// removed in the middle of a session.
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
