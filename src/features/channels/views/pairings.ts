// Requests of people to write, as the API shows them.
import type { PairingView } from '../../../contract/pairings.ts';
import { viewQuery } from '../../../database/literal-query.ts';
import { cutPage, type Page, type PageRequest, type ViewDatabase } from '../../../database/page.ts';
import { isoSql } from '../../../kernel/sessions/session-facts.ts';
import { IS_LATE_SQL } from '../store/pairings.ts';

/** A request, with where its person is sent notices. */
type StoredPairing = PairingView & { threadId: string | null; sessionKey: string | null };

const PAIRINGS_SQL = `select p.id, case when ${IS_LATE_SQL} then 'expired' else p.status end as status, p.channel, p.account as "accountId",
  p.sender_id as "senderId", p.sender_name as "senderName", p.chat_id as "chatId", p.thread_id as "threadId", p.code,
  (select s.key from holdfast.sessions s where s.id = p.session_id) as "sessionKey",
  ${isoSql('p.created_at')} as "requestedAt", ${isoSql('p.expires_at')} as "expiresAt", p.decided_by as "decidedBy", ${isoSql('p.decided_at')} as "decidedAt"
from holdfast.pairings p`;

export const readPairing = viewQuery({
  name: 'read-pairing',
  purpose: 'Read the request of a person to write, by its id or, while it is open, by its code.',
  text: `${PAIRINGS_SQL} where p.id = $id::uuid or p.code = $code and p.status = 'open'`,
  values: (by: { id: string } | { code: string }) => by,
  answer: ([row]: StoredPairing[]) => row ?? null,
});

export const readPairings = viewQuery({
  name: 'read-pairings',
  purpose: 'Read a page of requests of people to write, newest first.',
  text: `select * from (${PAIRINGS_SQL} where $after::uuid is null or p.id < $after::uuid) as p
where $status::text is null or p.status = $status order by p.id desc limit $limit`,
  values: (status: PairingView['status'] | undefined, { after, limit }: PageRequest) => ({
    status,
    after,
    limit: limit + 1,
  }),
  answer: (rows: StoredPairing[]) => rows,
});

/** The request; null: there is none. */
export async function viewPairing(db: ViewDatabase, id: string): Promise<PairingView | null> {
  const found = await readPairing(db, { id });
  return found === null ? null : toPairingView(found);
}

/** Requests, newest first. */
export async function viewPairings(
  db: ViewDatabase,
  { status }: { status?: PairingView['status'] | undefined },
  page: PageRequest,
): Promise<Page<PairingView>> {
  const { items, next } = cutPage(await readPairings(db, status, page), page.limit, ({ id }) => id);
  return { items: items.map(toPairingView), next };
}

/** Without what the API does not show. */
export function toPairingView({ threadId: _thread, sessionKey: _session, ...pairing }: StoredPairing): PairingView {
  return pairing;
}
