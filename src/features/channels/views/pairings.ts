// Requests of people to write, as the API shows them.
import type { PairingView } from '../../../contract/pairings.ts';
import { viewQuery } from '../../../database/literal-query.ts';
import { listOf } from '../../../database/list-of.ts';
import { isoSql } from '../../../kernel/sessions/session-facts.ts';
import { IS_LATE_SQL } from '../store/pairings.ts';

/** A request, with where its person is sent notices. */
type StoredPairing = PairingView & { threadId: string | null; sessionKey: string | null };

// The status is computed once for each row, so that the filter and the answer agree.
const PAIRINGS_SQL = `select p.id, shown.status, p.channel, p.account as "accountId",
  p.sender_id as "senderId", p.sender_name as "senderName", p.chat_id as "chatId", p.thread_id as "threadId", p.code,
  (select s.key from holdfast.sessions s where s.id = p.session_id) as "sessionKey",
  ${isoSql('p.created_at')} as "requestedAt", ${isoSql('p.expires_at')} as "expiresAt", p.decided_by as "decidedBy", ${isoSql('p.decided_at')} as "decidedAt"
from holdfast.pairings p cross join lateral (select case when ${IS_LATE_SQL} then 'expired' else p.status end as status) as shown`;

export const readPairing = viewQuery({
  name: 'read-pairing',
  purpose: 'Read the request of a person to write, by its id or, while it is open, by its code.',
  text: `${PAIRINGS_SQL} where p.id = $id::uuid or p.code = $code and p.status = 'open'`,
  values: (by: { id: string } | { code: string }) => by,
  answer: ([row]: StoredPairing[]) => row ?? null,
});

export const pairings = listOf<{ status?: PairingView['status'] | undefined }, StoredPairing, PairingView>({
  name: 'list-pairings',
  purpose: 'Read requests of people to write, newest first.',
  text: PAIRINGS_SQL,
  filters: { status: 'shown.status = $status' },
  order: 'p.id desc',
  show: toPairingView,
});

/** Without what the API does not show. */
export function toPairingView({ threadId: _thread, sessionKey: _session, ...pairing }: StoredPairing): PairingView {
  return pairing;
}
