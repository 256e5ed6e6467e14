// Waiting messages, oldest first, with those that are delivered later and those of parked turns,
// each with the reason, its lane and its place in the queue of its session.
import type { WaitingView } from '../../contract/waiting.ts';
import { cutPiece } from '../../core/text.ts';
import { WAITING_COUNT_MAX } from '../rules/why.ts';
import { messageSql } from './settlement-sql.ts';
import { literal } from '../../database/statement.ts';
import { describeWait, type WaitRow } from './why-sql.ts';
import { messageText, messageWaitSql, nameMessage, type MessageRow } from './messages.ts';
import type { Scope } from '../../core/scope.ts';
import { isSeenText } from '../../database/scope-sql.ts';
import { sessionNamesSql } from './words.ts';
import { cutPage, type Page, type PageRequest, type ViewDatabase } from '../../database/page.ts';

/** Absent fields do not filter. */
export interface WaitingFilter {
  scope: Scope;
  /** At most this many characters of a longer text are read. */
  textCharsMax?: number | undefined;
  lane?: string | undefined;
  sessionKey?: string | undefined;
  batchId?: string | undefined;
  /**
   * The code of why it waits. It is computed from many facts, so the rows are read and then
   * filtered.
   */
  reason?: string | undefined;
}

/**
 * A page of a reason reads at most this many rows; it may have fewer items than its limit, and the
 * next page continues there.
 */
const READ_FOR_REASON_MAX = 2_000;

// $1 lane, $2 session key, $3 batch, $4 scope. Each source reads by an index what it may have to filter: what
// waits in the order of the ids, what waits in a session, or what is in flight of a batch. Parked
// turns are open, so they are few. An item of a batch is never delivered later. What waits in all
// sessions is bounded (G27), so it is compared with the scope.
const FILTERS = `($1::text is null or s.lane = $1) and ($2::text is null or s.key = $2) and ${isSeenText('$4', 'i.scope')}`;
// A limit keeps the planner from reading all sessions into a hash table.
const SESSION =
  'cross join lateral (select s.key, s.lane from holdfast.sessions s where s.id = i.session_id limit 1) as s';
const ofAll = (status: string): string =>
  `holdfast.inbox i ${SESSION} where i.status = '${status}' and ${FILTERS} and $3::uuid is null`;
const ofSession = (status: string): string => `holdfast.sessions s join holdfast.inbox i on i.session_id = s.id
    where s.key = $2 and i.status = '${status}' and ${FILTERS} and $3::uuid is null`;
const CLAIMED = `t.ended_at is null and t.status = 'parked' and i.status = 'claimed' and ${FILTERS}`;
const SOURCES = {
  all: [
    ofAll('waiting'),
    ofAll('delayed'),
    `holdfast.turns t join holdfast.inbox i on i.turn_id = t.id ${SESSION} where ${CLAIMED} and $3::uuid is null`,
  ],
  session: [
    ofSession('waiting'),
    ofSession('delayed'),
    `holdfast.sessions s join holdfast.turns t on t.id = s.turn_id join holdfast.inbox i on i.turn_id = t.id
    where s.key = $2 and ${CLAIMED} and $3::uuid is null`,
  ],
  batch: [
    `holdfast.batch_items b join holdfast.inbox i on i.id = b.message_id ${SESSION}
    where b.batch_id = $3::uuid and b.status = 'fed' and ${FILTERS} and (i.status = 'waiting' or i.status = 'claimed'
      and (select t.status from holdfast.turns t where t.id = i.turn_id) = 'parked')`,
  ],
};

const queueSql = (condition: string): string =>
  `(select count(*) from (select from holdfast.inbox q where q.session_id = page.session_id and ${condition} limit ${WAITING_COUNT_MAX}) as queue)`;

/**
 * Those of a parked turn come first; a message that is delivered later takes its place after those
 * that have arrived.
 */
const PARKED_SQL = `(select count(*) from holdfast.sessions qs join holdfast.turns qt on qt.id = qs.turn_id
    join holdfast.inbox q on q.turn_id = qt.id where qs.id = page.session_id and qt.status = 'parked' and q.status = 'claimed')`;
const POSITION_SQL = `case page.status
  when 'claimed' then (select count(*) from holdfast.inbox q where q.turn_id = page.turn_id and q.status = 'claimed' and q.seq <= page.seq)
  else least(${WAITING_COUNT_MAX}, ${PARKED_SQL} + case page.status when 'waiting' then ${queueSql("q.status = 'waiting' and q.seq <= page.seq")}
    else ${queueSql("q.status = 'waiting'")}
      + ${queueSql("q.status = 'delayed' and (q.deliver_at, q.id) <= (page.deliver_at, page.id)")} end) end::int`;

const pageSql = (source: string): string =>
  `(select i.id, i.session_id, i.seq, i.status, i.turn_id, i.deliver_at, i.received_at, s.key, s.lane from ${source}
    and i.id > coalesce($5::uuid, '00000000-0000-0000-0000-000000000000') order by i.id limit $6)`;

const LISTS_WAITING = 'Read a page of what waits, oldest first, with the facts that say why.';

/**
 * A page of some sources; $5: only rows after this id, $6: how many, $7: at most this many
 * characters of each text.
 */
const listSql = (sources: string[]): string => `with page as materialized (
  select * from (${sources.map(pageSql).join('\n  union all ')}) as found order by id limit $6
)
select ${messageSql(`case when $7::int is null then i.body ->> 'text' else left(i.body ->> 'text', $7) end`)} as message,
  page.lane, i.body -> 'announcement' as announcement, ${sessionNamesSql('s')} as names, ${POSITION_SQL} as position, ${messageWaitSql} as wait
from page join holdfast.inbox i on i.id = page.id 
  cross join lateral (select * from holdfast.sessions where id = page.session_id limit 1) as s left join holdfast.turns t on t.id = i.turn_id
order by page.id`;

export const LIST_WAITING = literal({
  name: 'list-waiting',
  purpose: LISTS_WAITING,
  text: listSql(SOURCES.all),
});
export const LIST_WAITING_OF_SESSION = literal({
  name: 'list-waiting-of-session',
  purpose: LISTS_WAITING,
  text: listSql(SOURCES.session),
});
export const LIST_WAITING_OF_BATCH = literal({
  name: 'list-waiting-of-batch',
  purpose: LISTS_WAITING,
  text: listSql(SOURCES.batch),
});

const COUNTS_WAITING = `Count what waits, up to ${WAITING_COUNT_MAX}; one more means that there are more.`;

const countSql = (sources: string[]): string =>
  `select least(count(*), ${WAITING_COUNT_MAX + 1})::int as count from (${sources
    .map((source) => `(select from ${source} limit ${WAITING_COUNT_MAX + 1})`)
    .join('\n  union all ')}) as counted`;

export const COUNT_WAITING = literal({
  name: 'count-waiting',
  purpose: COUNTS_WAITING,
  text: countSql(SOURCES.all),
});
export const COUNT_WAITING_OF_SESSION = literal({
  name: 'count-waiting-of-session',
  purpose: COUNTS_WAITING,
  text: countSql(SOURCES.session),
});
export const COUNT_WAITING_OF_BATCH = literal({
  name: 'count-waiting-of-batch',
  purpose: COUNTS_WAITING,
  text: countSql(SOURCES.batch),
});

const LISTS = { all: LIST_WAITING, session: LIST_WAITING_OF_SESSION, batch: LIST_WAITING_OF_BATCH };
const COUNTS = { all: COUNT_WAITING, session: COUNT_WAITING_OF_SESSION, batch: COUNT_WAITING_OF_BATCH };

/**
 * A page of waiting messages, oldest first, and the number of all; `isCapped`: there are more than
 * `count`.
 */
export async function listWaiting(
  db: ViewDatabase,
  filter: WaitingFilter,
  page: PageRequest,
): Promise<Page<WaitingView> & { count: number; isCapped: boolean }> {
  const { scope, lane = null, sessionKey = null, batchId = null, textCharsMax = null, reason } = filter;
  const readMax = reason === undefined ? page.limit : Math.max(page.limit, READ_FOR_REASON_MAX);
  const source = batchId !== null ? 'batch' : sessionKey !== null ? 'session' : 'all';
  const filters = [lane, sessionKey, batchId, scope];
  const [{ rows }, counted] = await Promise.all([
    db.query<WaitingRow>(LISTS[source].prepared([...filters, page.after, readMax + 1, textCharsMax])),
    db.query<{ count: number }>(COUNTS[source].prepared(filters)),
  ]);
  // A count has one row.
  const { count } = counted.rows[0]!;
  const read = rows.map((row) => toView(db, row, textCharsMax));
  if (reason !== undefined) return pageOfReason(read, reason, { readMax, limit: page.limit });
  const shown = cutPage(read, page.limit, ({ id }) => id);
  return { ...shown, count: Math.min(count, WAITING_COUNT_MAX), isCapped: count > WAITING_COUNT_MAX };
}

/** The count is that of the rows that were read. */
function pageOfReason(
  read: WaitingView[],
  reason: string,
  { readMax, limit }: { readMax: number; limit: number },
): Awaited<ReturnType<typeof listWaiting>> {
  const whole = read.slice(0, readMax);
  const isCapped = read.length > readMax;
  const found = whole.filter(({ why }) => why?.code === reason);
  const items = found.slice(0, limit);
  const last = found.length > limit ? items.at(-1) : isCapped ? whole.at(-1) : undefined;
  return { items, next: last?.id ?? null, count: found.length, isCapped };
}

type WaitingRow = MessageRow & Pick<WaitingView, 'lane' | 'position'> & { message: WaitingView; wait: WaitRow };

function toView(
  db: ViewDatabase,
  { message, announcement, names, wait, ...place }: WaitingRow,
  textCharsMax: number | null,
): WaitingView {
  const whole = messageText(message.text, announcement);
  return {
    ...message,
    ...nameMessage({ message, announcement, names }),
    ...place,
    text: textCharsMax === null ? whole : cutPiece(whole, 0, textCharsMax),
    why: describeWait(db, wait),
  };
}
