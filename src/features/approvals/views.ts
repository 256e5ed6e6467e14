// Requests for approvals, as the API shows them.
import type { ApprovalView } from '../../contract/approvals.ts';
import { viewQuery } from '../../database/literal-query.ts';
import { cutPage, type Page, type PageRequest, type ViewDatabase } from '../../database/page.ts';
import { isoSql } from '../../kernel/sessions/session-facts.ts';
import { HOLDS_CALL_SQL } from './store/approvals.ts';
import { showCall, type ApprovalStatus } from './rules.ts';

type ApprovalRow = Omit<ApprovalView, 'shown'> & { folder: string };

// Until a round has noted it, a request whose call does not wait any more is stored as open.
const STATUS_SQL = `case when a.status <> 'open' then a.status
    when ${HOLDS_CALL_SQL} is null then 'cancelled'
    when a.expires_at <= clock_timestamp() then 'expired' else 'open' end`;

const APPROVALS_SQL = `select a.id, ${STATUS_SQL} as status, a.turn_id as "turnId", s.key as "sessionKey",
  coalesce((select root.key from holdfast.sessions root where root.id = s.ancestors[1]), s.key) as "rootSessionKey",
  a.call_id as "callId", a.tool, a.input, a.folder, a.reasons, ${isoSql('a.requested_at')} as "requestedAt", ${isoSql('a.expires_at')} as "expiresAt",
  a.decided_by as "decidedBy", ${isoSql('a.decided_at')} as "decidedAt", a.note
from holdfast.approvals a join holdfast.sessions s on s.id = a.session_id`;

export const readApproval = viewQuery({
  name: 'read-approval',
  purpose: 'Read a request for an approval.',
  text: `${APPROVALS_SQL} where a.id = $id`,
  values: (id: string) => ({ id }),
  answer: ([row]: ApprovalRow[]) => row ?? null,
});

export const readApprovals = viewQuery({
  name: 'read-approvals',
  purpose: 'Read a page of requests for approvals, newest first.',
  text: `select * from (${APPROVALS_SQL} where ($after::uuid is null or a.id < $after::uuid)
    and ($status::text is null or a.status = $status or a.status = 'open')) as a
where $status::text is null or a.status = $status order by a.id desc limit $limit`,
  values: (status: ApprovalStatus | undefined, { after, limit }: PageRequest) => ({ status, after, limit: limit + 1 }),
  answer: (rows: ApprovalRow[]) => rows,
});

/** The request; null: there is none. */
export async function viewApproval(db: ViewDatabase, id: string): Promise<ApprovalView | null> {
  const row = await readApproval(db, id);
  return row === null ? null : toView(row);
}

/** Requests, newest first. */
export async function viewApprovals(
  db: ViewDatabase,
  { status }: { status?: ApprovalStatus | undefined },
  page: PageRequest,
): Promise<Page<ApprovalView>> {
  const { items, next } = cutPage(await readApprovals(db, status, page), page.limit, ({ id }) => id);
  return { items: items.map(toView), next };
}

function toView({ folder, ...row }: ApprovalRow): ApprovalView {
  return { ...row, shown: showCall(row.tool, row.input, folder) };
}
