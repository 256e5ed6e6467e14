// Which deliveries a filter finds. Session, turn, status and named things are conditions with an index; the others look at the deliveries that
// those leave, newest first and only so many of them, so a page costs the same however many there are.
import { join, type Sql, sql } from '../drizzle.ts';
import { isUuid } from '../../core/ids.ts';
import { literal } from '../statement.ts';
import { findTurns } from './find-things.ts';
import type { Page, PageRequest, ViewDatabase } from './page.ts';

export interface DeliveryFilter {
  sessionKey?: string | undefined;
  turnId?: string | undefined;
  statuses?: string[] | undefined;
  /** `webhook`, or the name of a channel. */
  channel?: string | undefined;
  /** An id of a delivery, a turn or a message, or its end, or a session key; otherwise a part of the session key or of the last error. */
  text?: string | undefined;
}

/** The maximum number of deliveries that one page reads. */
const LOOKED_AT_MAX = 20_000;
/** The most deliveries of the turns that a text names. */
const NAMED_MAX = 1_000;

/** The objects that a text names. */
interface NamedDeliveries {
  ids: string[];
  sessionIds: string[];
}

interface ResolvedFilter extends DeliveryFilter {
  named: NamedDeliveries | null;
}

export const DELIVERIES_OF_TURNS = literal({
  name: 'deliveries-of-turns',
  purpose: 'Find the deliveries with these ids ($1), and those of these turns ($2).',
  text: `select d.id from holdfast.deliveries d where d.id = any ($1::uuid[])
union select found.id from holdfast.turns t cross join lateral (
  select d.id from holdfast.deliveries d where d.session_id = t.session_id and d.turn_id = t.id limit ${NAMED_MAX}
) as found where t.id = any ($2::uuid[])`,
});

async function resolve(db: ViewDatabase, filter: DeliveryFilter): Promise<ResolvedFilter> {
  const { text } = filter;
  if (text === undefined) return { ...filter, named: null };
  const named = await findTurns(db, text);
  const { sessionIds } = named;
  const query = DELIVERIES_OF_TURNS.prepared([named.ids, named.turnIds]);
  const { rows } = await db.query<{ id: string }>(query);
  const ids = rows.map(({ id }) => id);
  // An id that names nothing finds nothing; texts are not searched for it.
  return { ...filter, named: isUuid(text) || ids.length + sessionIds.length > 0 ? { ids, sessionIds } : null };
}

/** The ids of deliveries that a filter finds, newest first. A page may have fewer than its limit although another one follows. */
export async function findDeliveryIds(
  db: ViewDatabase,
  filter: DeliveryFilter,
  page: PageRequest,
): Promise<Page<string>> {
  const resolved = await resolve(db, filter);
  const { rows } = await db.query<{ id: string }>(matchingSql(resolved, page, LOOKED_AT_MAX));
  const ids = rows.map(({ id }) => id);
  if (ids.length > page.limit) return { items: ids.slice(0, page.limit), next: ids[page.limit - 1] ?? null };
  if (restOf(resolved).length === 0) return { items: ids, next: null };
  const last = sql`select d.id from holdfast.deliveries d where ${allOf(indexedOf(resolved, page.after))}
    order by d.id desc offset ${LOOKED_AT_MAX - 1} limit 1`;
  const { rows: lookedAt } = await db.query<{ id: string }>(last);
  return { items: ids, next: lookedAt[0]?.id ?? null };
}

/** The ids of all deliveries that a filter finds, oldest first, at most `limit`. */
export async function deliveryIdsOf(db: ViewDatabase, filter: DeliveryFilter, limit: number): Promise<string[]> {
  const resolved = await resolve(db, filter);
  const { rows } = await db.query<{ id: string }>(matchingSql(resolved, { limit: limit - 1, after: null }, null));
  return rows.map(({ id }) => id).toReversed();
}

function matchingSql(filter: ResolvedFilter, page: PageRequest, lookedAtMax: number | null): Sql {
  const indexed = allOf(indexedOf(filter, page.after));
  const rest = restOf(filter);
  if (rest.length === 0) {
    return sql`select d.id from holdfast.deliveries d where ${indexed} order by d.id desc limit ${page.limit + 1}`;
  }
  return sql`select d.id from (
      select d.id, d.session_id, d.channel, d.last_error from holdfast.deliveries d where ${indexed} order by d.id desc limit ${lookedAtMax}
    ) as d where ${allOf(rest)} order by d.id desc limit ${page.limit + 1}`;
}

/** The conditions that an index answers. */
function indexedOf({ sessionKey, turnId, statuses, named }: ResolvedFilter, after: string | null): Sql[] {
  const conditions: Sql[] = [];
  if (after !== null) conditions.push(sql`d.id < ${after}`);
  if (sessionKey !== undefined) {
    conditions.push(sql`d.session_id = (select s.id from holdfast.sessions s where s.key = ${sessionKey})`);
  }
  if (turnId !== undefined) {
    conditions.push(sql`d.session_id = (select t.session_id from holdfast.turns t where t.id = ${turnId}::uuid)
      and d.turn_id = ${turnId}::uuid`);
  }
  if (statuses !== undefined) conditions.push(sql`d.status = any (${statuses}::text[])`);
  if (named !== null) {
    conditions.push(sql`(d.id = any (${named.ids}::uuid[]) or d.session_id = any (${named.sessionIds}::uuid[]))`);
  }
  return conditions;
}

/** The others. */
function restOf({ channel, text, named }: ResolvedFilter): Sql[] {
  const conditions: Sql[] = [];
  if (channel !== undefined) conditions.push(sql`d.channel = ${channel}`);
  if (text !== undefined && named === null) {
    conditions.push(sql`(strpos((select s.key from holdfast.sessions s where s.id = d.session_id), lower(${text}::text)) > 0
      or strpos(lower(coalesce(d.last_error, '')), lower(${text}::text)) > 0)`);
  }
  return conditions;
}

function allOf(conditions: Sql[]): Sql {
  return conditions.length === 0 ? sql`true` : join(conditions, ' and ');
}
