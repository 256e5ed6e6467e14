// Where alerts go, and what was sent there about which problem.
import type { AlertCall, AlertSeverity } from './rules.ts';
import { holdfast, integer, iso, json, ms, now, text, uuid } from '../../rows/columns.ts';

export const alertDestinations = holdfast.table('alert_destinations', {
  id: uuid().notNull(),
  name: text().notNull(),
  url: text().notNull(),
  secret: text().notNull(),
  /** The least that is sent. */
  severity: text().$type<AlertSeverity>().notNull(),
  /** Null: all kinds of problems. */
  kinds: json().$type<readonly string[]>(),
  /** A problem that lasts is sent again after this time. */
  repeatSeconds: integer().notNull(),
  createdBy: text().notNull(),
  createdAt: iso().notNull().default(now),
  /** Null: no call is being sent. */
  callId: uuid(),
  call: json().$type<AlertCall>(),
  attempts: integer().notNull().default(0),
  /**
   * The call is sent, or a new one is made, at this time; while a process sends it, the end of its
   * lease.
   */
  dueMs: ms('due_at').notNull().default(now),
  triedAt: iso(),
  /** Null: no answer came. */
  lastStatus: integer(),
  /** Null: the last attempt was acknowledged. */
  lastError: text(),
  failingSince: iso(),
});

export const alerts = holdfast.table('alerts', {
  destinationId: uuid().notNull(),
  problemId: text().notNull(),
  /** Null, as `count`: a version that does not store it has sent the alert. */
  kind: text(),
  severity: text().$type<AlertSeverity>().notNull(),
  count: integer(),
  text: text().notNull(),
  href: text().notNull(),
  alertedMs: ms('alerted_at').notNull(),
  /** Since when it has not been there, or has been less severe; null: it lasts. */
  endedMs: ms('ended_at'),
});
