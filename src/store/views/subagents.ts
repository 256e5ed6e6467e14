// Runs of subagents as the API shows them, newest first.
import type { RunStatus } from '../../core/announcement.ts';
import { costFactsOf, type CostFacts } from '../cost-sql.ts';
import { sql } from '../drizzle.ts';
import { isoOf, isoOrNull, pageOf, type Page, type PageRequest, type ViewDatabase } from './page.ts';

export const RUN_STATUSES = ['running', 'ok', 'failed', 'timedOut', 'killed'] as const;

export interface SubagentView extends CostFacts {
  runId: string;
  childSessionKey: string;
  parentSessionKey: string;
  label: string | null;
  task: string;
  /** How many sessions are above it. */
  depth: number;
  status: 'running' | RunStatus;
  mode: 'run' | 'session';
  cleanup: 'keep' | 'delete';
  /** Its last text, once it has ended. */
  result: string | null;
  /** Why it did not end well. */
  error: string | null;
  tokens: { input: number; output: number };
  createdAt: string;
  deadlineAt: string | null;
  endedAt: string | null;
  /** How its end was announced; null: it has not ended, or no session was left to receive it. */
  announcement: { messageId: string; sessionKey: string; status: string } | null;
}

interface RunRow extends Record<string, unknown> {
  id: string;
  child_key: string;
  parent_key: string;
  label: string | null;
  task: string;
  depth: number;
  status: SubagentView['status'];
  mode: SubagentView['mode'];
  cleanup: SubagentView['cleanup'];
  result: string | null;
  error: string | null;
  input_tokens: string;
  output_tokens: string;
  cost_micros: string | null;
  unpriced_calls: number;
  is_simulated: boolean;
  created_at: Date;
  deadline_at: Date | null;
  ended_at: Date | null;
  announcement_id: string | null;
  told_key: string | null;
  told_status: string | null;
}

const SELECTION = sql`r.*, c.key as child_key, p.key as parent_key, recipient.key as told_key, i.status as told_status
  from holdfast.subagent_runs r join holdfast.sessions c on c.id = r.child_id join holdfast.sessions p on p.id = r.parent_id
  left join holdfast.sessions recipient on recipient.id = r.announced_to left join holdfast.inbox i on i.id = r.announcement_id`;

/** One run; null: it does not exist. */
export async function viewSubagent(db: ViewDatabase, runId: string): Promise<SubagentView | null> {
  const result = await db.execute<RunRow>(sql`select ${SELECTION} where r.id = ${runId}`);
  const row = result.rows[0];
  return row === undefined ? null : viewOf(row);
}

/** The runs that a session has spawned. */
export async function listSubagents(
  db: ViewDatabase,
  sessionId: string,
  page: PageRequest,
): Promise<Page<SubagentView>> {
  const after = page.after === null ? sql`` : sql`and r.id < ${page.after}`;
  const result = await db.execute<RunRow>(
    sql`select ${SELECTION} where r.parent_id = ${sessionId} ${after} order by r.id desc limit ${page.limit + 1}`,
  );
  return pageOf(result.rows, page.limit, { item: viewOf, key: (row) => row.id });
}

function viewOf(row: RunRow): SubagentView {
  const { announcement_id: messageId, told_key: sessionKey, told_status: toldStatus } = row;
  return {
    runId: row.id,
    childSessionKey: row.child_key,
    parentSessionKey: row.parent_key,
    label: row.label,
    task: row.task,
    depth: row.depth,
    status: row.status,
    mode: row.mode,
    cleanup: row.cleanup,
    result: row.result,
    error: row.error,
    tokens: { input: Number(row.input_tokens), output: Number(row.output_tokens) },
    ...costFactsOf({
      costMicros: row.cost_micros === null ? null : Number(row.cost_micros),
      unpricedCalls: row.unpriced_calls,
      isSimulated: row.is_simulated,
    }),
    createdAt: isoOf(new Date(row.created_at)),
    deadlineAt: isoOrNull(row.deadline_at === null ? null : new Date(row.deadline_at)),
    endedAt: isoOrNull(row.ended_at === null ? null : new Date(row.ended_at)),
    announcement:
      messageId === null || sessionKey === null || toldStatus === null
        ? null
        : { messageId, sessionKey, status: toldStatus },
  };
}
