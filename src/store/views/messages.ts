// Inbox messages as the outside sees them. The reply is that of the turn that took the message; several messages of one turn
// have the same one.
import type { MessageView, SessionFacts } from '../../contract/views.ts';
import { announcementText, type Announcement } from '../../core/announcement.ts';
import type { Tags } from '../../core/input-options.ts';
import type { WaitFacts } from '../../core/waiting/explain-wait.ts';
import type { Why } from '../../core/waiting/why.ts';
import { and, desc, eq, inArray, sql, type SQL } from '../drizzle.ts';
import { inbox, sessions, turns } from '../schema.ts';
import type { StoredDisposition } from '../accept-messages.ts';
import { retryOfSql } from '../retry-turn.ts';
import { LANE_FACTS_SQL, openWhyOf, waitFactsSql, whyOf, type LanesRow } from '../why-sql.ts';
import { findMessageIds, type MessageFilter } from './message-filter.ts';
import { isoOf, isoOrNull, pageOf, type Page, type PageRequest, type ViewDatabase } from './page.ts';

const WAIT_FACTS = waitFactsSql('"holdfast"."inbox"."session_id"', '"holdfast"."inbox"."received_at"');

/** The ids of the messages that wait, oldest first, at most `limit`; of one session, or of all. */
export async function waitingMessageIds(
  db: ViewDatabase,
  filter: { sessionKey?: string | undefined },
  limit: number,
): Promise<string[]> {
  const rows = await db
    .select({ id: inbox.id })
    .from(inbox)
    .innerJoin(sessions, eq(sessions.id, inbox.sessionId))
    .where(
      and(
        eq(inbox.status, 'waiting'),
        filter.sessionKey === undefined ? undefined : eq(sessions.key, filter.sessionKey),
      ),
    )
    .orderBy(inbox.id)
    .limit(limit);
  return rows.map(({ id }) => id);
}

/** Messages, newest first: their ids grow with time. */
export async function listMessages(
  db: ViewDatabase,
  filter: MessageFilter,
  page: PageRequest,
): Promise<Page<MessageView>> {
  const ids = await findMessageIds(db, filter, page);
  const rows = await selectMessages(db, inArray(inbox.id, ids), ids.length);
  return pageOf(rows, page.limit, ({ id }) => id);
}

/** The first `limit` messages that meet the condition, newest first. */
async function selectMessages(db: ViewDatabase, condition: SQL | undefined, limit: number): Promise<MessageView[]> {
  const rows = await db
    .select({
      id: inbox.id,
      sessionKey: sessions.key,
      seq: inbox.seq,
      kind: inbox.kind,
      text: sql<string | null>`${inbox.body} ->> 'text'`,
      announcement: sql<Announcement | null>`${inbox.body} -> 'announcement'`,
      tags: sql<Tags>`coalesce(${inbox.tags}, '{}')`,
      status: inbox.status,
      turnId: inbox.turnId,
      retryOf: sql<string | null>`${sql.raw(retryOfSql('inbox.cause_key'))}`,
      reply: turns.reply,
      commandReply: inbox.reply,
      error: inbox.error,
      turnError: turns.error,
      wait: sql<WaitFacts | null>`case when ${inbox.status} in ('waiting', 'claimed') then ${sql.raw(WAIT_FACTS)} end`,
      lanes: sql<LanesRow | null>`case when ${inbox.status} in ('waiting', 'claimed') then ${sql.raw(LANE_FACTS_SQL)} end`,
      deliverAt: inbox.deliverAt,
      receivedAt: inbox.receivedAt,
      settledAt: inbox.settledAt,
    })
    .from(inbox)
    .innerJoin(sessions, eq(sessions.id, inbox.sessionId))
    .leftJoin(turns, eq(turns.id, inbox.turnId))
    .where(condition)
    .orderBy(desc(inbox.id))
    .limit(limit);
  return rows.map(({ turnError, commandReply, announcement, wait, lanes, deliverAt, ...row }) => ({
    ...row,
    text: messageText(row.text, announcement),
    status: row.status === 'delayed' ? 'waiting' : row.status,
    reply: row.status === 'answered' ? (commandReply ?? row.reply) : null,
    why:
      row.status === 'delayed'
        ? delayedWhy(isoOf(row.receivedAt), isoOrNull(deliverAt))
        : wait === null || lanes === null || row.status === 'claimed'
          ? openWhyOf(db, wait, lanes)
          : whyOf(db, wait, lanes),
    error: row.error ?? (row.status === 'failed' || row.status === 'cancelled' ? turnError : null) ?? null,
    receivedAt: isoOf(row.receivedAt),
    settledAt: isoOrNull(row.settledAt),
  }));
}

/** Why a message waits that is delivered later. */
export function delayedWhy(since: string, until: string | null): Why {
  return { code: 'delayed', text: `The message is delivered at ${until} (deliverAt).`, since, until, by: null };
}

/** The text of an input, from its body. */
export function messageText(text: string | null, announcement: Announcement | null): string {
  return announcement === null ? (text ?? '') : announcementText(announcement);
}

/** The message of this id, or null. */
export async function viewMessage(db: ViewDatabase, id: string): Promise<MessageView | null> {
  return (await selectMessages(db, eq(inbox.id, id), 1))[0] ?? null;
}

/** A message and its session as they were when it was accepted; null when it is not (or no longer) known. */
export async function viewAcceptance(
  db: ViewDatabase,
  id: string,
): Promise<{
  message: MessageView;
  session: SessionFacts | null;
  sessionId: string;
  disposition: StoredDisposition;
} | null> {
  const rows = await db
    .select({ sessionId: inbox.sessionId, answer: inbox.answer, disposition: inbox.disposition })
    .from(inbox)
    .where(eq(inbox.id, id));
  const [row, message] = [rows[0], await viewMessage(db, id)];
  if (row === undefined || message === null) return null;
  // The table's check allows no other.
  const disposition = row.disposition as StoredDisposition;
  const isSettledAtDoor = disposition === 'command' || disposition === 'rejected';
  return {
    disposition,
    message: isSettledAtDoor
      ? message
      : { ...message, status: 'waiting', turnId: null, reply: null, error: null, why: null, settledAt: null },
    session: row.answer,
    sessionId: row.sessionId,
  };
}
