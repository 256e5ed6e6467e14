// Inbox messages as the outside sees them. The reply is that of the turn that took the message; several messages of one turn
// have the same one.
import { isoSql } from '../sessions/session-facts.ts';
import { messageSql } from './settlement-sql.ts';
import { viewQuery } from '../../database/literal-query.ts';
import { literal } from '../../database/statement.ts';
import { cutPage, type Page, type PageRequest, type ViewDatabase } from '../../database/page.ts';
import type { MessageView, SessionFacts } from '../../contract/views.ts';
import { announcementText, type Announcement } from '../../core/announcement.ts';
import type { StoredDisposition } from '../inbox/accept-messages.ts';
import { describeOpenWait, describeWait, msSql, waitSql, type WaitRow } from './why-sql.ts';
import { findMessageIds, type MessageFilter } from './message-filter.ts';

export const waitingMessageIds = viewQuery({
  name: 'waiting-message-ids',
  purpose: 'Read the ids of the messages that wait, oldest first; of one session, or of all.',
  text: `select i.id from holdfast.inbox i join holdfast.sessions s on s.id = i.session_id
where i.status = 'waiting' and ($1::text is null or s.key = $1) order by i.id limit $2`,
  values: ({ sessionKey = null }: { sessionKey?: string | null | undefined }, limit: number) => [sessionKey, limit],
  answer: (messages: { id: string }[]) => messages.map(({ id }) => id),
});

/** Messages, newest first: their ids grow with time. */
export async function listMessages(
  db: ViewDatabase,
  filter: MessageFilter,
  page: PageRequest,
): Promise<Page<MessageView>> {
  const ids = await findMessageIds(db, filter, page);
  return cutPage(await readMessages(db, ids), page.limit, ({ id }) => id);
}

/** SQL of why a message `i` waits, which has not been settled. */
export const messageWaitSql = waitSql(
  'i.session_id',
  'i.received_at',
  `case when i.status = 'delayed' then json_build_object('at', ${msSql('i.deliver_at')}, 'iso', ${isoSql('i.deliver_at')}) end`,
);

export const VIEW_MESSAGES = literal({
  name: 'view-messages',
  purpose: 'Read messages ($1), newest first, with the facts that say why they wait.',
  text: `select ${messageSql()} as message, i.body -> 'announcement' as announcement,
  case when i.status in ('delayed', 'waiting', 'claimed') then ${messageWaitSql} end as wait
from holdfast.inbox i join holdfast.sessions s on s.id = i.session_id left join holdfast.turns t on t.id = i.turn_id
where i.id = any ($1::uuid[]) order by i.id desc`,
});

/** A message, and the facts that say why it waits. */
export interface MessageRow {
  message: MessageView;
  announcement: Announcement | null;
  wait: WaitRow | null;
}

async function readMessages(db: ViewDatabase, ids: string[]): Promise<MessageView[]> {
  const { rows } = await db.query<MessageRow>(VIEW_MESSAGES.prepared([ids]));
  return rows.map(({ message, announcement, wait }) => ({
    ...message,
    text: messageText(message.text, announcement),
    why: wait === null || message.status === 'claimed' ? describeOpenWait(db, wait) : describeWait(db, wait),
  }));
}

/** The text of an input, from its body. */
export function messageText(text: string | null, announcement: Announcement | null): string {
  return announcement === null ? (text ?? '') : announcementText(announcement);
}

/** The message of this id, or null. */
export async function viewMessage(db: ViewDatabase, id: string): Promise<MessageView | null> {
  return (await readMessages(db, [id]))[0] ?? null;
}

interface AcceptanceRow {
  sessionId: string;
  disposition: StoredDisposition;
  /** Written by the accepting statement. */
  session: SessionFacts | null;
}

export const VIEW_ACCEPTANCE = literal({
  name: 'view-acceptance',
  purpose: 'Read what the statement that accepted a message ($1) answered.',
  text: 'select session_id as "sessionId", disposition, answer as session from holdfast.inbox where id = $1',
});

/** A message and its session as they were when it was accepted; null when it is not (or no longer) known. */
export async function viewAcceptance(
  db: ViewDatabase,
  id: string,
): Promise<({ message: MessageView } & AcceptanceRow) | null> {
  const { rows } = await db.query<AcceptanceRow>(VIEW_ACCEPTANCE.prepared([id]));
  const [row, message] = [rows[0], await viewMessage(db, id)];
  if (row === undefined || message === null) return null;
  if (row.disposition === 'command' || row.disposition === 'rejected') return { ...row, message };
  return {
    ...row,
    message: { ...message, status: 'waiting', turnId: null, reply: null, error: null, why: null, settledAt: null },
  };
}
