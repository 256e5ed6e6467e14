// The tables of crons.
import type { CronPayload, CronTarget, MisfirePolicy, Schedule } from './config.ts';
import type { CronDelivery, CronOrigin } from './rules/cron.ts';
import { boolean, count, holdfast, integer, json, ms, now, options, text, uuid } from '../../rows/columns.ts';

export const crons = holdfast.table('crons', {
  id: uuid().notNull(),
  origin: text().$type<CronOrigin>().notNull(),
  name: text().notNull(),
  agentId: text().notNull(),
  /** The root of the session whose agent made it; null: no agent, or an older version. */
  root: text(),
  schedule: json().$type<Schedule>().notNull(),
  target: text().$type<CronTarget>().notNull(),
  payload: json().$type<CronPayload>().notNull(),
  wake: text().$type<'now' | 'next-heartbeat'>().notNull(),
  misfire: text().$type<MisfirePolicy>(),
  delivery: json().$type<CronDelivery>(),
  deleteAfterRun: boolean().notNull(),
  options: options(),
  isEnabled: boolean().notNull(),
  disabledReason: text(),
  /** Failed runs in a row. */
  failures: integer('consecutive_errors').notNull().default(0),
  lastSlotMs: ms('last_slot_at'),
  /** The first slot without an outcome; null: there is none. */
  nextSlotMs: ms('next_slot_at'),
  /** When the next slot is due: its time and its stagger. */
  dueMs: ms('due_at'),
  /** Slots before it are skipped, because the last run failed. */
  notBeforeMs: ms('not_before'),
  /** Unique: what made it, if that may ask for it again. */
  causeKey: text(),
  /** Set: its owner has not been notified that it was disabled. */
  noticeId: uuid(),
  revision: count().notNull().default(0),
  createdMs: ms('created_at').notNull().default(now),
  updatedMs: ms('updated_at').notNull().default(now),
});
