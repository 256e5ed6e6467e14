// Inbox messages as the outside sees them. The reply is that of the turn that took the message;
// several messages of one turn have the same one. A list reads the messages of each status by an
// index.
import { isoSql } from '../sessions/session-facts.ts';
import { messageSql } from './settlement-sql.ts';
import { viewQuery } from '../../database/literal-query.ts';
import type { Page, PageRequest, ViewDatabase } from '../../database/page.ts';
import type { MessageView, SessionFacts } from '../../contract/views.ts';
import { announcementText, type Announcement } from '../../core/subagents.ts';
import type { StoredDisposition } from '../inbox/accept-messages.ts';
import { describeOpenWait, describeWait, msSql, waitSql, type WaitRow } from './why-sql.ts';
import { titleOfInput } from '../../core/words.ts';
import { sessionNamesSql, sessionTitle, type NamesRow } from './words.ts';
import type { Scope } from '../../core/scope.ts';
import type { Tags } from '../../core/input-options.ts';
import { raw, sql, type Sql } from '../../database/drizzle.ts';
import { filterRows, findIds, sessionIdSql, type Filtered } from './find-things.ts';

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
  const { items, next } = await findIds(db, filterMessages(filter), page);
  return { items: await readMessages(db, items), next };
}

/** SQL of why a message `i` waits, which has not been settled. */
export const messageWaitSql = waitSql(
  'i.session_id',
  'i.received_at',
  `case when i.status = 'delayed' then json_build_object('at', ${msSql('i.deliver_at')}, 'iso', ${isoSql('i.deliver_at')}) end`,
);

export const readMessageRows = viewQuery({
  name: 'view-messages',
  purpose: 'Read messages ($1), newest first, with the facts that say why they wait.',
  text: `select ${messageSql()} as message, i.body -> 'announcement' as announcement, ${sessionNamesSql('s')} as names,
  case when i.status in ('delayed', 'waiting', 'claimed') then ${messageWaitSql} end as wait
from holdfast.inbox i join holdfast.sessions s on s.id = i.session_id left join holdfast.turns t on t.id = i.turn_id
where i.id = any ($1::uuid[]) order by i.id desc`,
  values: (ids: string[]) => [ids],
  answer: (rows: MessageRow[]) => rows,
});

/** A message, and the facts that say why it waits. */
export interface MessageRow {
  message: MessageView;
  announcement: Announcement | null;
  names: NamesRow;
  wait: WaitRow | null;
}

async function readMessages(db: ViewDatabase, ids: string[]): Promise<MessageView[]> {
  return (await readMessageRows(db, ids)).map(({ message, announcement, names, wait }) => ({
    ...message,
    ...nameMessage({ message, announcement, names }),
    text: messageText(message.text, announcement),
    why: wait === null || message.status === 'claimed' ? describeOpenWait(db, wait) : describeWait(db, wait),
  }));
}

/** A message, whose text may be its beginning, and its session in one line each. */
export function nameMessage({ message: { kind, text }, announcement, names }: Omit<MessageRow, 'wait'>) {
  return { title: titleOfInput({ kind, text, announcement }), sessionTitle: sessionTitle(names) };
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

export const readAcceptance = viewQuery({
  name: 'view-acceptance',
  purpose: 'Read what the statement that accepted a message ($1) answered.',
  text: 'select session_id as "sessionId", disposition, answer as session from holdfast.inbox where id = $1',
  values: (id: string) => [id],
  answer: ([row]: AcceptanceRow[]) => row,
});

/**
 * A message and its session as they were when it was accepted; null when it is not (or no longer)
 * known.
 */
export async function viewAcceptance(
  db: ViewDatabase,
  id: string,
): Promise<({ message: MessageView } & AcceptanceRow) | null> {
  const [row, message] = [await readAcceptance(db, id), await viewMessage(db, id)];
  if (row === undefined || message === null) return null;
  // The first answer has no words: the statement that accepts reads none.
  const { title: _title, sessionTitle: _sessionTitle, ...facts } = message;
  if (row.disposition === 'command' || row.disposition === 'rejected') return { ...row, message: facts };
  return {
    ...row,
    message: { ...facts, status: 'waiting', turnId: null, reply: null, error: null, why: null, settledAt: null },
  };
}

// Which messages a list shows, newest first. Each status has a source of its own that an index
// reads in the order of the ids, so a page costs the same however many messages there are.

/** Absent fields do not filter. */
export interface MessageFilter {
  scope: Scope;
  statuses?: string[] | undefined;
  ids?: string[] | undefined;
  sessionKey?: string | undefined;
  tags?: Tags | undefined;
}

/** Which messages a filter finds. */
export function filterMessages({ scope, statuses, ids, sessionKey, tags }: MessageFilter): Filtered {
  const few: Sql[] = [];
  if (ids !== undefined) few.push(sql`i.id = any (${ids}::uuid[])`);
  if (tags !== undefined) few.push(sql`i.tags @> ${JSON.stringify(tags)}::jsonb`);
  if (sessionKey !== undefined) few.push(sql`i.session_id = ${sessionIdSql(sessionKey, scope)}`);
  const stored = statuses?.flatMap(storedStatuses);
  const ordered = stored && { either: stored.map(withStatus), all: sql`i.status = any (${stored}::text[])` };
  return filterRows('inbox', scope, { few, ordered, rest: [] });
}

/** The indexes of some statuses have only these, so the condition is a constant. */
function withStatus(status: string): Sql {
  const isIt = raw(`i.status = '${status}'`);
  // Claimed messages are few: those of the open turns.
  return status === 'claimed'
    ? sql`${isIt} and i.turn_id = any (array(select t.id from holdfast.turns t where t.ended_at is null))`
    : isIt;
}

/** A message that is delivered later waits, to those who ask. */
function storedStatuses(status: string): string[] {
  return status === 'waiting' ? ['waiting', 'delayed'] : [status];
}
