// Requests for approvals, as the API shows them.
import type { ApprovalView } from '../../contract/approvals.ts';
import { listOf } from '../../database/list-of.ts';
import type { Scope } from '../../core/scope.ts';
import { callWords } from '../../core/words.ts';
import { sessionNamesSql, sessionTitle, type NamesRow } from '../../kernel/views/words.ts';
import { isoSql } from '../../kernel/sessions/session-facts.ts';
import { HOLDS_CALL_SQL } from './store/approvals.ts';
import { showCall, type ApprovalStatus } from './rules.ts';

type ApprovalRow = Omit<ApprovalView, 'shown' | 'title' | 'sessionTitle'> & { folder: string; names: NamesRow };

// Until a round has noted it, a request whose call does not wait any more is stored as open.
const STATUS_SQL = `case when a.status <> 'open' then a.status
    when ${HOLDS_CALL_SQL} is null then 'cancelled'
    when a.expires_at <= clock_timestamp() then 'expired' else 'open' end`;

// The status is computed once for each row, so that the filter and the answer agree.
export const approvals = listOf<{ status?: ApprovalStatus | undefined; scope: Scope }, ApprovalRow, ApprovalView>({
  name: 'list-approvals',
  purpose: 'Read requests for approvals, newest first.',
  text: `select a.id, shown.status, a.turn_id as "turnId", s.key as "sessionKey", ${sessionNamesSql('s')} as names,
  coalesce((select root.key from holdfast.sessions root where root.id = s.ancestors[1]), s.key) as "rootSessionKey",
  a.call_id as "callId", a.tool, a.input, a.folder, a.reasons, ${isoSql('a.requested_at')} as "requestedAt", ${isoSql('a.expires_at')} as "expiresAt",
  a.decided_by as "decidedBy", ${isoSql('a.decided_at')} as "decidedAt", a.note
from holdfast.approvals a join holdfast.sessions s on s.id = a.session_id cross join lateral (select ${STATUS_SQL} as status) as shown`,
  filters: { status: "a.status in ($status, 'open') and shown.status = $status" },
  seenBy: 'a.scope',
  order: 'a.id desc',
  show: ({ folder, names, ...row }) => ({
    ...row,
    sessionTitle: sessionTitle(names),
    title: [row.tool, callWords(row.input) ?? []].flat().join(' '),
    shown: showCall(row.tool, row.input, folder),
  }),
});
