// What a round trip to PostgreSQL is called in a table.
import type { RoundTrip } from '../../test/servers/round-trips.ts';

/** True for a statement of BullMQ's: they have connections of their own. */
export function isOfQueue({ label }: Pick<RoundTrip, 'label'>): boolean {
  return label.startsWith('holdfast:queue');
}

/** The name of our own statement, or what a statement of BullMQ's calls. */
export function nameOfTrip({ label, tag, sql }: Pick<RoundTrip, 'label' | 'tag' | 'sql'>): string {
  const [text = ''] = sql;
  return isOfQueue({ label }) ? `queue: ${queueNameOf(text)}` : (tag ?? headOf(text));
}

/** BullMQ's statements are calls of its functions. */
function queueNameOf(sql: string): string {
  return /\b(?:from|select)\s+(?:bullmq\.)?(\w+)\s*\(/i.exec(sql)?.[1] ?? headOf(sql);
}

function headOf(sql: string): string {
  return sql.trim().replaceAll(/\s+/g, ' ').slice(0, 40);
}
