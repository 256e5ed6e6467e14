// The outbox as the outside sees it, newest first. Secrets of a target stay inside (G31).
import type { Page, PageRequest, ViewDatabase } from '../../../database/page.ts';
import type { DeliveryCount, DeliveryDetails } from '../../../contract/deliveries.ts';
import type { DeliveryView } from '../../../contract/deliveries.ts';
import { DELIVERY_STATUSES } from '../../../core/statuses.ts';
import { isoSql } from '../../../kernel/sessions/session-facts.ts';
import { viewQuery } from '../../../database/literal-query.ts';
import { findDeliveryIds, type DeliveryFilter } from './delivery-filter.ts';

export const readDeliveries = viewQuery({
  name: 'view-deliveries',
  purpose: 'Read deliveries ($1), newest first.',
  text: `select d.id, s.key as "sessionKey", d.turn_id as "turnId", d.seq::float8 as seq, d.channel, d.target, d.payload, d.status, d.attempts,
  ${isoSql('d.due_at')} as "dueAt", ${isoSql('d.expires_at')} as "expiresAt", d.last_status as "lastStatus", d.last_error as "lastError",
  ${isoSql('d.created_at')} as "createdAt", ${isoSql('d.settled_at')} as "settledAt"
from holdfast.deliveries d join holdfast.sessions s on s.id = d.session_id where d.id = any ($1::uuid[]) order by d.id desc`,
  values: (ids: string[]) => [ids],
  answer: (deliveries: DeliveryView[]) =>
    deliveries.map((one) => ({ ...one, target: withoutCredentials(one.target) as DeliveryView['target'] })),
});

/** Deliveries, newest first. */
export async function listDeliveries(
  db: ViewDatabase,
  filter: DeliveryFilter,
  page: PageRequest,
): Promise<Page<DeliveryView>> {
  const { items: ids, next } = await findDeliveryIds(db, filter, page);
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
where d.id = $1 and case when e.type in ('delivery.sent', 'delivery.failed') then e.data ->> 'deliveryId' = $1::text else false end
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

export const countDeliveries = viewQuery({
  name: 'count-deliveries',
  purpose: `Count the deliveries of each status ($1) up to ${COUNT_MAX + 1}, with the time of the oldest.`,
  text: `select status,
  (select count(*)::int from (select from holdfast.deliveries d where d.status = wanted.status limit ${COUNT_MAX + 1}) as counted) as count,
  (select ${isoSql('d.created_at')} from holdfast.deliveries d where d.status = wanted.status order by d.id limit 1) as "oldestAt"
from unnest($1::text[]) with ordinality as wanted (status, n) order by n`,
  values: () => [[...DELIVERY_STATUSES]],
  answer: (counts: Omit<DeliveryCount, 'isCapped'>[]): DeliveryCount[] =>
    counts.map((row) => ({ ...row, count: Math.min(row.count, COUNT_MAX), isCapped: row.count > COUNT_MAX })),
});

const CREDENTIAL_NAME = /secret|token|passw|authorization|apikey|api_key/i;
const CREDENTIALS_IN_URL = /^([a-z][a-z0-9+.-]*:\/\/)[^/?#@]*@/i;

/** The text without the user and the password of a URL that it begins with. */
export function urlWithoutCredentials(text: string): string {
  return text.replace(CREDENTIALS_IN_URL, '$1[redacted]@');
}

/** The same value with credentials replaced: fields by their names, and the part before the `@` of a URL. */
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
