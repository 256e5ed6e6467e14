// The outbox as the outside sees it, newest first. Secrets of a target stay inside (G31).
import { and, desc, eq, inArray, lt, type SQL } from '../drizzle.ts';
import { deliveries, sessions } from '../schema.ts';
import { isoOf, isoOrNull, pageOf, type Page, type PageRequest, type ViewDatabase } from './page.ts';

export const DELIVERY_STATUSES = ['pending', 'sending', 'sent', 'unknown', 'failed', 'expired', 'discarded'] as const;

export interface DeliveryView {
  id: string;
  sessionKey: string;
  turnId: string | null;
  /** Its place in the order of its session. */
  seq: number;
  channel: string;
  /** Where it goes, without credentials. */
  target: unknown;
  payload: unknown;
  status: (typeof DELIVERY_STATUSES)[number];
  attempts: number;
  dueAt: string;
  expiresAt: string;
  lastStatus: number | null;
  lastError: string | null;
  createdAt: string;
  settledAt: string | null;
}

export interface DeliveryFilter {
  id?: string | undefined;
  sessionKey?: string | undefined;
  statuses?: string[] | undefined;
}

function deliveryConditions(filter: DeliveryFilter): SQL | undefined {
  return and(
    filter.id === undefined ? undefined : eq(deliveries.id, filter.id),
    filter.sessionKey === undefined ? undefined : eq(sessions.key, filter.sessionKey),
    filter.statuses === undefined ? undefined : inArray(deliveries.status, filter.statuses),
  );
}

/** The ids of the deliveries that a filter finds, oldest first, at most `limit`. */
export async function deliveryIdsOf(db: ViewDatabase, filter: DeliveryFilter, limit: number): Promise<string[]> {
  const rows = await db
    .select({ id: deliveries.id })
    .from(deliveries)
    .innerJoin(sessions, eq(sessions.id, deliveries.sessionId))
    .where(deliveryConditions(filter))
    .orderBy(deliveries.id)
    .limit(limit);
  return rows.map(({ id }) => id);
}

/** Deliveries, newest first. */
export async function listDeliveries(
  db: ViewDatabase,
  filter: DeliveryFilter,
  page: PageRequest,
): Promise<Page<DeliveryView>> {
  const rows = await db
    .select({ delivery: deliveries, sessionKey: sessions.key })
    .from(deliveries)
    .innerJoin(sessions, eq(sessions.id, deliveries.sessionId))
    .where(and(deliveryConditions(filter), page.after === null ? undefined : lt(deliveries.id, page.after)))
    .orderBy(desc(deliveries.id))
    .limit(page.limit + 1);
  return pageOf(rows, page.limit, { item: deliveryViewOf, key: (row) => row.delivery.id });
}

/** The delivery of this id, or null. */
export async function viewDelivery(db: ViewDatabase, id: string): Promise<DeliveryView | null> {
  return (await listDeliveries(db, { id }, { limit: 1, after: null })).items[0] ?? null;
}

function deliveryViewOf(row: { delivery: typeof deliveries.$inferSelect; sessionKey: string }): DeliveryView {
  const { delivery } = row;
  return {
    id: delivery.id,
    sessionKey: row.sessionKey,
    turnId: delivery.turnId,
    seq: delivery.seq,
    channel: delivery.channel,
    target: withoutCredentials(delivery.target),
    payload: delivery.payload,
    // The table's check allows no other.
    status: delivery.status as DeliveryView['status'],
    attempts: delivery.attempts,
    dueAt: isoOf(delivery.dueAt),
    expiresAt: isoOf(delivery.expiresAt),
    lastStatus: delivery.lastStatus,
    lastError: delivery.lastError,
    createdAt: isoOf(delivery.createdAt),
    settledAt: isoOrNull(delivery.settledAt),
  };
}

const CREDENTIAL_NAME = /secret|token|passw|authorization|apikey|api_key/i;
const CREDENTIALS_IN_URL = /^([a-z][a-z0-9+.-]*:\/\/)[^/?#@]*@/i;

/** The same value with credentials replaced: fields by their names, and the part before the `@` of a URL. */
function withoutCredentials(value: unknown): unknown {
  if (typeof value === 'string') return value.replace(CREDENTIALS_IN_URL, '$1[redacted]@');
  if (Array.isArray(value)) return value.map(withoutCredentials);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [
      name,
      CREDENTIAL_NAME.test(name) ? '[redacted]' : withoutCredentials(field),
    ]),
  );
}
