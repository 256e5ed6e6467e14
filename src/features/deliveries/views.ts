// The outbox as the outside sees it, newest first, and which deliveries a filter finds: an index
// answers the conditions for session, turn, status and named things (`find-things.ts`). Secrets of
// a target stay inside (G31).
import type { Page, PageRequest, ViewDatabase } from '../../database/page.ts';
import type { DeliveryCount, DeliveryDetails, DeliveryView } from './contract.ts';
import { conversationOfTargetSql } from '../../core/channel-address.ts';
import { DELIVERY_STATUSES } from '../../core/statuses.ts';
import { isoSql } from '../../kernel/sessions/session-facts.ts';
import { viewQuery } from '../../database/literal-query.ts';
import { sql, type Sql } from '../../database/drizzle.ts';
import { lineOf } from '../../core/words.ts';
import { sessionNamesSql, sessionTitle, type NamesRow } from '../../kernel/views/words.ts';
import { isUuid } from '../../core/ids.ts';
import { EVERYTHING, type Scope } from '../../core/scope.ts';
import { isSeenText, newestText } from '../../database/scope-sql.ts';
import {
  filterRows,
  findAllIds,
  findIds,
  findThings,
  sessionIdSql,
  type Filtered,
} from '../../kernel/views/find-things.ts';

export const readDeliveries = viewQuery({
  name: 'view-deliveries',
  purpose: 'Read deliveries ($1), newest first.',
  text: `select d.id, s.key as "sessionKey", ${sessionNamesSql('s')} as names, d.turn_id as "turnId", d.seq::float8 as seq, d.channel, ${conversationOfTargetSql('d.target')} as conversation,
  d.part, greatest(d.parts, 1) as parts, d.platform_id as "platformId", d.target, d.payload, d.status, d.attempts,
  ${isoSql('d.due_at')} as "dueAt", ${isoSql('d.expires_at')} as "expiresAt", d.last_status as "lastStatus", d.last_error as "lastError",
  ${isoSql('d.created_at')} as "createdAt", ${isoSql('d.settled_at')} as "settledAt"
from holdfast.deliveries d join holdfast.sessions s on s.id = d.session_id where d.id = any ($1::uuid[]) order by d.id desc`,
  values: (ids: string[]) => [ids],
  answer: (deliveries: DeliveryRow[]) =>
    deliveries.map(({ names, ...one }): DeliveryView => ({
      ...one,
      title: deliveryTitle(one.payload),
      sessionTitle: sessionTitle(names),
      target: withoutCredentials(one.target) as DeliveryView['target'],
    })),
});

type DeliveryRow = Omit<DeliveryView, 'title' | 'sessionTitle'> & { names: NamesRow };

/** What a delivery says; without words, what it is. */
export function deliveryTitle({ type, text }: { type?: string | undefined; text?: string | null | undefined }): string {
  return lineOf(text) ?? type ?? 'delivery';
}

/** Deliveries, newest first. A page may have fewer than its limit although another one follows. */
export async function listDeliveries(
  db: ViewDatabase,
  filter: SeenDeliveries,
  page: PageRequest,
): Promise<Page<DeliveryView>> {
  const { items: ids, next } = await findIds(db, await resolve(db, filter), page);
  return { items: await readDeliveries(db, ids), next };
}

/** The delivery of this id, or null. */
export async function viewDelivery(db: ViewDatabase, id: string): Promise<DeliveryView | null> {
  return (await readDeliveries(db, [id]))[0] ?? null;
}

/** The most events of its session that are searched for the attempts of a delivery. */
const EVENTS_MAX = 20_000;

export const readLog = viewQuery({
  name: 'delivery-log',
  purpose: 'Read the results of the attempts of a delivery ($1), from the latest events of its session.',
  // The field is read within `case`, because reading one of another event could fail.
  text: `select e.data, ${isoSql('e.created_at')} as at
from holdfast.deliveries d cross join lateral (
  select id, type, data, created_at from holdfast.events where session_id = d.session_id order by id desc limit ${EVENTS_MAX}
) as e
where d.id = $1 and case when e.type in ('delivery.sent', 'delivery.failed', 'delivery.unknown') then e.data ->> 'deliveryId' = $1::text else false end
order by e.id`,
  values: (id: string) => [id],
  answer: (attempts: { at: string; data: Omit<DeliveryDetails['log'][number], 'at'> }[]) =>
    // Events of deliveries that have expired have no `httpStatus`.
    attempts.map(({ at, data }) => ({
      attempt: data.attempt,
      at,
      status: data.status,
      httpStatus: data.httpStatus ?? null,
    })),
});

/** The delivery of this id with its attempts, or null. */
export async function viewDeliveryDetails(db: ViewDatabase, id: string): Promise<DeliveryDetails | null> {
  const [found, log] = await Promise.all([viewDelivery(db, id), readLog(db, id)]);
  return found && { ...found, log };
}

/** A count stops here. */
const COUNT_MAX = 10_000;

/** The most deliveries of a scope that are counted, the newest. */
const SCOPED_COUNT_MAX = 50_000;

export const countDeliveries = viewQuery({
  name: 'count-deliveries',
  purpose: `Count the deliveries of each status ($1) up to ${COUNT_MAX + 1}, with the time of the oldest; of a scope ($2) among the newest.`,
  text: `with own as materialized (
  ${newestText(
    { prefixes: '$2', column: 'd.scope', max: SCOPED_COUNT_MAX },
    (condition, limit) => `select d.id, d.status, d.created_at from holdfast.deliveries d
    where $2::text[] is not null and ${condition} order by d.id desc limit ${limit}`,
  )}
)
select status, (select count(*)::int from (
    (select from holdfast.deliveries d where $2::text[] is null and d.status = wanted.status limit ${COUNT_MAX + 1})
    union all (select from own where own.status = wanted.status limit ${COUNT_MAX + 1})) as counted) as count,
  (select ${isoSql('oldest.created_at')} from (
    (select d.id, d.created_at from holdfast.deliveries d where $2::text[] is null and d.status = wanted.status order by d.id limit 1)
    union all (select own.id, own.created_at from own where own.status = wanted.status order by own.id limit 1)) as oldest) as "oldestAt",
  (select coalesce(bool_or(own.is_last), false) from own) as "isCapped"
from unnest($1::text[]) with ordinality as wanted (status, n) order by n`,
  values: (scope: Scope) => [[...DELIVERY_STATUSES], scope],
  answer: (counts: DeliveryCount[]): DeliveryCount[] =>
    counts.map((row) => ({
      ...row,
      count: Math.min(row.count, COUNT_MAX),
      isCapped: row.isCapped || row.count > COUNT_MAX,
    })),
});

const CREDENTIAL_NAME = /secret|token|passw|authorization|apikey|api_key/i;
const CREDENTIALS_IN_URL = /^([a-z][a-z0-9+.-]*:\/\/)[^/?#@]*@/i;

/** The text without the user and the password of a URL that it begins with. */
export function urlWithoutCredentials(text: string): string {
  return text.replace(CREDENTIALS_IN_URL, '$1[redacted]@');
}

/**
 * The same value with credentials replaced: fields by their names, and the part before the `@` of a
 * URL.
 */
function withoutCredentials(value: unknown): unknown {
  if (typeof value === 'string') return urlWithoutCredentials(value);
  if (Array.isArray(value)) return value.map(withoutCredentials);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [
      name,
      CREDENTIAL_NAME.test(name) ? '[redacted]' : withoutCredentials(field),
    ]),
  );
}

export interface DeliveryFilter {
  sessionKey?: string | undefined;
  turnId?: string | undefined;
  statuses?: string[] | undefined;
  /** `webhook`, or the name of a channel. */
  channel?: string | undefined;
  /**
   * An id of a delivery, a turn or a message, or its end, or a session key; otherwise a part of the
   * session key or of the last error.
   */
  text?: string | undefined;
}

/** Those of a scope. */
type SeenDeliveries = DeliveryFilter & { scope: Scope };

/** The most deliveries of the turns that a text names. */
const NAMED_MAX = 1_000;

/** The objects that a text names. */
interface NamedDeliveries {
  ids: string[];
  sessionIds: string[];
}

export const findDeliveriesOf = viewQuery({
  name: 'deliveries-of-turns',
  purpose: 'Find the deliveries of a scope ($3) with these ids ($1), and those of these turns ($2), which are inside.',
  text: `select d.id from holdfast.deliveries d where d.id = any ($1::uuid[]) and ${isSeenText('$3', 'd.scope')}
union select found.id from holdfast.turns t cross join lateral (
  select d.id from holdfast.deliveries d where d.session_id = t.session_id and d.turn_id = t.id limit ${NAMED_MAX}
) as found where t.id = any ($2::uuid[])`,
  values: (ids: string[], turnIds: string[], scope: Scope) => [ids, turnIds, scope],
  answer: (deliveries: { id: string }[]) => deliveries.map(({ id }) => id),
});

async function resolve(db: ViewDatabase, filter: SeenDeliveries): Promise<Filtered> {
  const { text, scope } = filter;
  const named = text === undefined ? null : await findNamed(db, text, scope);
  return filterRows('deliveries', scope, {
    few: buildFew(filter, named),
    ordered: buildOrdered(filter),
    rest: buildRest(filter, named),
  });
}

/** Null: the text names nothing, and is searched for. */
async function findNamed(db: ViewDatabase, text: string, scope: Scope): Promise<NamedDeliveries | null> {
  const { ids: namedIds, turnIds, sessionIds } = await findThings(db, text, scope);
  const ids = await findDeliveriesOf(db, namedIds, turnIds, scope);
  // An id that names nothing finds nothing; texts are not searched for it.
  return isUuid(text) || ids.length + sessionIds.length > 0 ? { ids, sessionIds } : null;
}

/** The ids of all deliveries of the service that a filter finds, oldest first, at most `limit`. */
export async function listDeliveryIds(db: ViewDatabase, filter: DeliveryFilter, limit: number): Promise<string[]> {
  return findAllIds(db, await resolve(db, { ...filter, scope: EVERYTHING }), limit);
}

/** The condition of the statuses. */
function buildOrdered({ statuses }: DeliveryFilter) {
  return (
    statuses && {
      either: statuses.map((status) => sql`d.status = ${status}`),
      all: sql`d.status = any (${statuses}::text[])`,
    }
  );
}

/** Those that leave few deliveries, which an index finds. */
function buildFew({ sessionKey, turnId, scope }: SeenDeliveries, named: NamedDeliveries | null): Sql[] {
  const conditions: Sql[] = [];
  if (sessionKey !== undefined) conditions.push(sql`d.session_id = ${sessionIdSql(sessionKey, scope)}`);
  if (turnId !== undefined) {
    conditions.push(sql`d.session_id = (select t.session_id from holdfast.turns t where t.id = ${turnId}::uuid)
      and d.turn_id = ${turnId}::uuid`);
  }
  if (named !== null) {
    conditions.push(sql`(d.id = any (${named.ids}::uuid[]) or d.session_id = any (${named.sessionIds}::uuid[]))`);
  }
  return conditions;
}

/** The others. */
function buildRest({ channel, text, scope }: SeenDeliveries, named: NamedDeliveries | null): Sql[] {
  const conditions: Sql[] = [];
  if (channel !== undefined) conditions.push(sql`d.channel = ${channel}`);
  if (text !== undefined && named === null) {
    conditions.push(sql`(strpos((select s.key from holdfast.sessions s where s.id = d.session_id), lower(${text}::text)) > 0
      or ${scope === EVERYTHING}::boolean and strpos(lower(coalesce(d.last_error, '')), lower(${text}::text)) > 0)`);
  }
  return conditions;
}
