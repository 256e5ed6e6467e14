// What follows a compaction: checks whether the workspace's files are still in the turn's requests, and repeats the most
// important rules with the next prompt.
import {
  auditBootstrap,
  pathsShownIn,
  refreshText,
  type BootstrapAudit,
} from '../../core/compaction/post-compaction.ts';
import type { SystemEventId } from '../../core/ids.ts';
import { formatEventTime, resolveEnvelopeZone } from '../../core/prompt/envelope-time.ts';
import { baseNameOf, filesForMode } from '../../core/prompt/fit-workspace-files.ts';
import { promptModeOf } from '../../core/prompt/prompt-mode.ts';
import type { SessionKind } from '../../core/session-key.ts';
import { newId } from '../../ids.ts';
import type { TurnContext } from '../context.ts';
import { loadWorkspaceFiles } from '../open/load-workspace.ts';
import { WorkspaceFileError } from '../open/read-inside.ts';
import type { OpenedTurn } from '../opened-turn.ts';
import type { SessionWorkspace } from '../open/session-context.ts';
import { HOST_TIMEZONE } from '../../clock.ts';

export interface PostCompactionContext {
  audit: BootstrapAudit | null;
  refresh: { id: SystemEventId; text: string } | null;
}

const RULES_FILE = 'agents.md';
const NOTHING: PostCompactionContext = { audit: null, refresh: null };

/** Reads the workspace of a turn that was compacted. A file that cannot be read must not lose the summary. */
export async function readPostCompactionContext(
  context: TurnContext,
  turn: OpenedTurn,
): Promise<PostCompactionContext> {
  const { agent, session } = turn;
  // The store writes only kinds of `sessionKindOf`.
  const mode = promptModeOf(session.kind as SessionKind, agent.promptMode);
  if (mode === 'none') return NOTHING;
  try {
    // Compactions are rare, so this one reads the disk itself, and sees an edit that was just made.
    const all = await loadWorkspaceFiles(agent.workspaceDir, context.config.workspace.bootstrapFiles, {
      freshForMs: 0,
    });
    const files = filesForMode(all, mode);
    const zones = { userTimezone: agent.userTimezone, hostTimezone: HOST_TIMEZONE };
    const now = formatEventTime(context.clock.now().getTime(), resolveEnvelopeZone(agent.envelopeTimezone, zones));
    const rules = files.find(({ name }) => baseNameOf(name) === RULES_FILE)?.content ?? null;
    const text = refreshText(rules, agent.compaction.postCompactionSections, now);
    return {
      audit: auditBootstrap(await shownPaths(context, turn), files),
      refresh: text === null ? null : { id: newId<SystemEventId>(), text },
    };
  } catch (error) {
    if (!(error instanceof WorkspaceFileError)) throw error;
    context.logger.warn({ err: error, sessionKey: session.key }, 'Workspace cannot be read after a compaction');
    return NOTHING;
  }
}

/** The parts of the next request: this turn's system prompt, or for a turn that only compacts, the part that all turns of the session share. */
async function shownPaths(context: TurnContext, turn: OpenedTurn): Promise<ReadonlySet<string>> {
  if (turn.journal.attempt.request.system.length > 0) return pathsShownIn(turn.journal.attempt.request.system);
  const { workspaceSha256 } = turn.journal.attempt.sessionView;
  if (workspaceSha256 === undefined) return new Set();
  const kept = (await context.snapshotCache.recall(context.database, [workspaceSha256])).get(workspaceSha256);
  // session-context.ts stored the value of this hash.
  const files = (kept as SessionWorkspace | undefined)?.files ?? [];
  return new Set(files.filter(({ rawChars }) => rawChars > 0).map(({ path }) => path));
}
