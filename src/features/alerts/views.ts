// Alert destinations, as the API shows them: without their secrets.
import type { AlertDestinationView } from './contract.ts';
import { alertDestinations } from './rows.ts';
import { now } from '../../rows/columns.ts';
import { eq, query, sql } from '../../database/drizzle.ts';
import type { ViewDatabase } from '../../database/page.ts';
import { shownUrl } from './rules.ts';

const { id, name, url, severity, kinds, repeatSeconds, createdBy, createdAt, callId } = alertDestinations;
const { triedAt, lastStatus, lastError, failingSince, dueMs } = alertDestinations;
const COLUMNS = { id, name, url, severity, kinds, repeatSeconds, createdBy, createdAt, callId };
const restsUntil = sql<string | null>`case when ${callId} is null and ${dueMs} > ${now} then ${dueMs} end`.mapWith(
  triedAt,
);
const SHOWN = { ...COLUMNS, triedAt, lastStatus, lastError, failingSince, restsUntil };

/** All of them by name, or the one of an id. */
export async function viewDestinations(db: ViewDatabase, of?: string): Promise<AlertDestinationView[]> {
  const those = of === undefined ? undefined : eq(id, of);
  const found = await query(db, (rows) => rows.select(SHOWN).from(alertDestinations).where(those).orderBy(name));
  return found.map(({ callId: sent, ...row }) => ({ ...row, url: shownUrl(row.url), isSending: sent !== null }));
}
