// Runs of subagents as the API shows them, newest first.
import { raw, sql } from '../../../database/drizzle.ts';
import type { SubagentView } from '../../../contract/subagents.ts';
import { dollarsSql } from '../../../kernel/turn/journal/cost-sql.ts';
import { isoSql } from '../../../kernel/sessions/session-facts.ts';
import { cutPage, type Page, type PageRequest, type ViewDatabase } from '../../../database/page.ts';

const SELECTION =
  raw(`r.id as "runId", c.key as "childSessionKey", p.key as "parentSessionKey", r.label, r.task, r.depth, r.status, r.mode, r.cleanup,
  r.result, r.error, json_build_object('input', r.input_tokens, 'output', r.output_tokens) as tokens, ${dollarsSql('r.cost_micros')} as "costUsd",
  r.cost_micros::float8 as "costMicros", r.unpriced_calls as "unpricedCalls", r.is_simulated as simulated, ${isoSql('r.created_at')} as "createdAt",
  ${isoSql('r.deadline_at')} as "deadlineAt", ${isoSql('r.ended_at')} as "endedAt", case when recipient.id is not null and i.id is not null
    then json_build_object('messageId', r.announcement_id, 'sessionKey', recipient.key, 'status', i.status) end as announcement
  from holdfast.subagent_runs r join holdfast.sessions c on c.id = r.child_id join holdfast.sessions p on p.id = r.parent_id
  left join holdfast.sessions recipient on recipient.id = r.announced_to left join holdfast.inbox i on i.id = r.announcement_id`);

/** One run; null: it does not exist. */
export async function viewSubagent(db: ViewDatabase, runId: string): Promise<SubagentView | null> {
  const { rows } = await db.query<SubagentView>(sql`select ${SELECTION} where r.id = ${runId}`);
  return rows[0] ?? null;
}

/** The runs that a session has spawned. */
export async function listSubagents(
  db: ViewDatabase,
  sessionId: string,
  page: PageRequest,
): Promise<Page<SubagentView>> {
  const after = page.after === null ? sql`` : sql`and r.id < ${page.after}`;
  const { rows } = await db.query<SubagentView>(
    sql`select ${SELECTION} where r.parent_id = ${sessionId} ${after} order by r.id desc limit ${page.limit + 1}`,
  );
  return cutPage(rows, page.limit, ({ runId }) => runId);
}
