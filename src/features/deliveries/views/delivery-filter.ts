// Which deliveries a filter finds: an index answers the conditions for session, turn, status and named things (`find-ids.ts`).
import { sql, type Sql } from '../../../database/drizzle.ts';
import { isUuid } from '../../../core/ids.ts';
import { viewQuery } from '../../../database/literal-query.ts';
import { findAllIds, findIds, type Filtered } from '../../../kernel/views/find-ids.ts';
import { findTurns } from '../../../kernel/views/find-things.ts';
import type { Page, PageRequest, ViewDatabase } from '../../../database/page.ts';

export interface DeliveryFilter {
  sessionKey?: string | undefined;
  turnId?: string | undefined;
  statuses?: string[] | undefined;
  /** `webhook`, or the name of a channel. */
  channel?: string | undefined;
  /** An id of a delivery, a turn or a message, or its end, or a session key; otherwise a part of the session key or of the last error. */
  text?: string | undefined;
}

/** The most deliveries of the turns that a text names. */
const NAMED_MAX = 1_000;

/** The objects that a text names. */
interface NamedDeliveries {
  ids: string[];
  sessionIds: string[];
}

export const findDeliveriesOf = viewQuery({
  name: 'deliveries-of-turns',
  purpose: 'Find the deliveries with these ids ($1), and those of these turns ($2).',
  text: `select d.id from holdfast.deliveries d where d.id = any ($1::uuid[])
union select found.id from holdfast.turns t cross join lateral (
  select d.id from holdfast.deliveries d where d.session_id = t.session_id and d.turn_id = t.id limit ${NAMED_MAX}
) as found where t.id = any ($2::uuid[])`,
  values: (ids: string[], turnIds: string[]) => [ids, turnIds],
  answer: (deliveries: { id: string }[]) => deliveries.map(({ id }) => id),
});

async function resolve(db: ViewDatabase, filter: DeliveryFilter): Promise<Filtered> {
  const named = filter.text === undefined ? null : await findNamed(db, filter.text);
  return { table: 'deliveries', indexed: buildIndexed(filter, named), rest: buildRest(filter, named) };
}

/** Null: the text names nothing, and is searched for. */
async function findNamed(db: ViewDatabase, text: string): Promise<NamedDeliveries | null> {
  const { ids: namedIds, turnIds, sessionIds } = await findTurns(db, text);
  const ids = await findDeliveriesOf(db, namedIds, turnIds);
  // An id that names nothing finds nothing; texts are not searched for it.
  return isUuid(text) || ids.length + sessionIds.length > 0 ? { ids, sessionIds } : null;
}

/** The ids of deliveries that a filter finds, newest first. A page may have fewer than its limit although another one follows. */
export async function findDeliveryIds(
  db: ViewDatabase,
  filter: DeliveryFilter,
  page: PageRequest,
): Promise<Page<string>> {
  return findIds(db, await resolve(db, filter), page);
}

/** The ids of all deliveries that a filter finds, oldest first, at most `limit`. */
export async function listDeliveryIds(db: ViewDatabase, filter: DeliveryFilter, limit: number): Promise<string[]> {
  return findAllIds(db, await resolve(db, filter), limit);
}

/** The conditions that an index answers. */
function buildIndexed({ sessionKey, turnId, statuses }: DeliveryFilter, named: NamedDeliveries | null): Sql[] {
  const conditions: Sql[] = [];
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
function buildRest({ channel, text }: DeliveryFilter, named: NamedDeliveries | null): Sql[] {
  const conditions: Sql[] = [];
  if (channel !== undefined) conditions.push(sql`d.channel = ${channel}`);
  if (text !== undefined && named === null) {
    conditions.push(sql`(strpos((select s.key from holdfast.sessions s where s.id = d.session_id), lower(${text}::text)) > 0
      or strpos(lower(coalesce(d.last_error, '')), lower(${text}::text)) > 0)`);
  }
  return conditions;
}
