// The end of a compaction that succeeds: the memory, then the summary in the place of the older
// entries, or a note where there is none. After it, the workspace's files are checked: are they
// still in the turn's requests? The next prompt repeats the most important rules.
import type { CompactionPlan } from '../../../compaction/plan-compaction.ts';
import { estimateTextTokens, estimateTokens } from '../../../core/content-size.ts';
import type { AnsweredCompaction } from '../journal/begin-compaction.ts';
import type { TurnContext } from '../context.ts';
import { pickLogIds, type OpenedTurn, overheadTokens } from '../opened-turn.ts';
import { newEntry, type TurnWrite } from '../position.ts';
import {
  type SummaryCall,
  missingSummary,
  type SummaryFault,
  readWorkspaceAnew,
  writeCompaction,
} from './compact-write.ts';
import { appendMemory } from './memory-flush.ts';
import { auditBootstrap, pathsShownIn, refreshText, type BootstrapAudit } from '../../../compaction/post-compaction.ts';
import type { SystemEventId } from '../../../core/ids.ts';
import { formatEventTime } from '../../../prompt/envelope-time.ts';
import { baseNameOf, filesForMode } from '../../../prompt/bootstrap.ts';
import { choosePromptMode } from '../../../prompt/system-input.ts';
import type { SessionKind } from '../../../core/session-key.ts';
import { newId } from '../../../ids.ts';
import { loadWorkspaceFiles } from '../open/load-workspace.ts';
import { WorkspaceFileError } from '../open/read-inside.ts';
import type { SessionWorkspace } from '../open/session-context.ts';
import { pickPromptZone } from '../../../config/agent-settings.ts';

/**
 * `compacted`: estimates of the context. `unchanged`: the transcript did not change, and `code`
 * says why.
 */
export type CompactionOutcome =
  | { kind: 'compacted'; tokensBefore: number; tokensAfter: number }
  | { kind: 'unchanged'; code: string; message: string };

/**
 * From the answer to the end: the memory first, so that it is written before the entries leave the
 * model's sight.
 */
export async function finishCompaction(
  context: TurnContext,
  turn: OpenedTurn,
  ready: AnsweredCompaction,
  { write, called }: { write: TurnWrite; called: SummaryCall | null },
): Promise<CompactionOutcome> {
  if (ready.memory !== null) {
    // The worker may have been paused for a long time after the previous write; the file is not
    // fenced.
    turn.held.assertHeld();
    await appendMemory(turn.agent.workspaceDir, ready.memory, ready.id).catch((error: unknown) => {
      context.logger.warn(
        { err: error, sessionKey: turn.session.key },
        'Notes before a compaction could not be written',
      );
    });
  }
  const cut = { firstKeptSeq: ready.firstKeptSeq, pinnedSeqs: ready.pinnedSeqs };
  const kept = turn.transcript.entries.filter(
    ({ seq, kind }) => kind !== 'summary' && (seq >= cut.firstKeptSeq || cut.pinnedSeqs.includes(seq)),
  );
  const overhead =
    turn.kind === 'compaction'
      ? Math.max(0, ready.tokensBefore - estimateTokens(turn.transcript.entries))
      : overheadTokens(turn);
  const tokensAfter = overhead + estimateTokens(kept) + estimateTextTokens(ready.summary);
  const { audit, refresh } = await readPostCompactionContext(context, turn);
  if (audit !== null && audit.missing.length > 0) readWorkspaceAnew(turn);
  const summary = newEntry('summary', 'user', [{ type: 'text', text: ready.summary }]);
  const version = await writeCompaction(context, turn, {
    id: ready.id,
    write: { ...write, entries: [summary], compactedTo: tokensAfter },
    called,
    step: { kind: 'completed', cut, tokensAfter, audit, refresh },
  });
  turn.transcript.compact({ ...summary, seq: turn.journal.at.baseSeq }, cut, version);
  context.logger.info(
    { ...pickLogIds(context, turn), tokensBefore: ready.tokensBefore, tokensAfter, audit },
    'Transcript compacted',
  );
  return { kind: 'compacted', tokensBefore: ready.tokensBefore, tokensAfter };
}

/**
 * Ends a compaction with a note instead of a summary. The entries that it replaces keep their rows
 * and can be restored.
 */
export async function finishWithoutSummary(
  context: TurnContext,
  turn: OpenedTurn,
  { id, tokensBefore, plan }: { id: string; tokensBefore: number; plan: CompactionPlan },
  { error, ...stored }: { write: TurnWrite; called: SummaryCall; error: SummaryFault },
): Promise<CompactionOutcome> {
  const { retired, retiredTokens, firstKeptSeq, pinnedSeqs } = plan;
  const summary = missingSummary(retired, retiredTokens);
  const { code, message } = error;
  context.logger.warn({ ...pickLogIds(context, turn), code }, `Transcript compacted without a summary: ${message}`);
  return await finishCompaction(
    context,
    turn,
    { id, tokensBefore, firstKeptSeq, pinnedSeqs, summary, memory: null },
    stored,
  );
}

export interface PostCompactionContext {
  audit: BootstrapAudit | null;
  refresh: { id: SystemEventId; text: string } | null;
}

const RULES_FILE = 'agents.md';
const NOTHING: PostCompactionContext = { audit: null, refresh: null };

/**
 * Reads the workspace of a turn that was compacted. A file that cannot be read must not lose the
 * summary.
 */
export async function readPostCompactionContext(
  context: TurnContext,
  turn: OpenedTurn,
): Promise<PostCompactionContext> {
  const { agent, session } = turn;
  // The store writes only kinds of `sessionKindOf`.
  const mode = choosePromptMode(session.kind as SessionKind, agent.promptMode);
  if (mode === 'none') return NOTHING;
  try {
    // Compactions are rare, so this one reads the disk itself, and sees an edit that was just made.
    const all = await loadWorkspaceFiles(agent.workspaceDir, context.config.workspace.bootstrapFiles, {
      freshForMs: 0,
    });
    const files = filesForMode(all, mode);
    const now = formatEventTime(context.clock.now().getTime(), pickPromptZone(agent));
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

/**
 * The parts of the next request: this turn's system prompt, or for a turn that only compacts, the
 * part that all turns of the session share.
 */
async function shownPaths(context: TurnContext, turn: OpenedTurn): Promise<ReadonlySet<string>> {
  if (turn.journal.attempt.request.system.length > 0) return pathsShownIn(turn.journal.attempt.request.system);
  const { workspaceSha256 } = turn.journal.attempt.sessionView;
  if (workspaceSha256 === undefined) return new Set();
  const kept = (await context.store.snapshotCache.recall(context.store.database, [workspaceSha256])).get(
    workspaceSha256,
  );
  // session-context.ts stored the value of this hash.
  const files = (kept as SessionWorkspace | undefined)?.files ?? [];
  return new Set(files.filter(({ rawChars }) => rawChars > 0).map(({ path }) => path));
}
