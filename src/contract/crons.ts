// Crons, their fires and heartbeats on the wire.
import { z } from 'zod';
import { MESSAGE_VIAS } from '../core/inbound.ts';
import { MISFIRE_POLICIES } from '../config/schema-crons.ts';
import { costFields, costOf } from './costs.ts';
import { shownOptions } from './input-options.ts';

const uuid = z.uuid();
const iso = z.iso.datetime();
const count = z.int().min(0);

const schedule = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('at'), at: iso }),
  z.strictObject({ kind: z.literal('every'), everyMs: count, anchor: iso }),
  z.strictObject({ kind: z.literal('cron'), expr: z.string(), tz: z.string(), staggerMs: count.exactOptional() }),
]);

const payload = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('systemEvent'), text: z.string() }),
  z.strictObject({
    kind: z.literal('agentTurn'),
    message: z.string(),
    model: z.string().exactOptional(),
    thinking: z.string().exactOptional(),
    via: z.enum(MESSAGE_VIAS).exactOptional(),
    timeoutSeconds: count.exactOptional(),
  }),
]);

export const cron = z.strictObject({
  id: uuid,
  name: z.string(),
  agentId: z.string(),
  origin: z.enum(['config', 'api', 'agent']),
  schedule,
  target: z.string(),
  payload,
  wake: z.enum(['now', 'next-heartbeat']),
  misfire: z.enum(MISFIRE_POLICIES).nullable(),
  delivery: z.strictObject({ mode: z.enum(['none', 'last', 'webhook']), url: z.string().exactOptional() }).nullable(),
  deleteAfterRun: z.boolean(),
  ...shownOptions,
  enabled: z.boolean(),
  disabledReason: z.string().nullable(),
  failures: count.describe('Failed runs in a row'),
  lastSlotAt: iso.nullable(),
  nextSlotAt: iso.nullable(),
  nextRunAt: iso.nullable().describe('The next slot with its stagger'),
  createdAt: iso,
  updatedAt: iso,
});
export type CronView = z.output<typeof cron>;

export const cronFire = z.strictObject({
  cronId: uuid,
  scheduledFor: iso,
  status: z.enum(['claimed', 'completed', 'failed', 'missed', 'skipped']),
  reason: z.string().nullable(),
  slots: z.int().min(1),
  isManual: z.boolean(),
  messageId: uuid.nullable(),
  turnId: uuid.nullable(),
  firedAt: iso.nullable(),
  endedAt: iso.nullable(),
  ...costFields,
});
export type FireView = z.output<typeof cronFire>;

const offset = z.int().min(-1440).max(1440);

const slot = z.strictObject({
  slotAt: iso,
  runAt: iso,
  clockChange: z.strictObject({ changedAt: iso, offsetMinutesBefore: offset, offsetMinutesAfter: offset }).nullable(),
});
export type CronSlotView = z.output<typeof slot>;

export const cronSlots = z.strictObject({ items: z.array(slot) });

/** The fields of a cron in a list, in addition to its settings. */
export const cronSummaries = z.strictObject({
  items: z.array(
    z.strictObject({
      cronId: uuid,
      restsUntil: iso.nullable(),
      slots: z.array(slot),
      fires: z.array(cronFire),
      lastCost: z.strictObject(costOf),
      month: z.strictObject({ slotCount: count, ...costOf }),
    }),
  ),
});

export const heartbeat = z.strictObject({
  id: uuid,
  agentId: z.string(),
  sessionKey: z.string(),
  scheduledFor: iso,
  trigger: z.enum(['interval', 'manual']),
  status: z.enum(['claimed', 'fired', 'skipped']),
  reason: z.string().nullable(),
  detail: z.string().nullable(),
  result: z.enum(['acknowledged', 'alert', 'duplicate', 'failed']).nullable(),
  messageId: uuid.nullable(),
  turnId: uuid.nullable(),
  settledAt: iso.nullable(),
});
export type HeartbeatView = z.output<typeof heartbeat>;
