// Crons and their fires on the wire.
import { DELIVERY_STATUSES } from '../../core/statuses.ts';
import { z } from 'zod';
import { MISFIRE_POLICIES } from './config.ts';
import { messageVia, responseFormat } from '../../config/schema-inputs.ts';
import { costFields, costOf } from '../../contract/costs.ts';
import { shownOptions } from '../../contract/input-options.ts';
import { text, flag, uuid, iso, count, createdAt, endedAt } from '../../contract/fields.ts';

const schedule = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('at').describe('Once, at a time'), at: iso.describe('The time at which it fires') }),
  z.strictObject({
    kind: z.literal('every').describe('At a fixed interval'),
    everyMs: count.describe('The length of the interval, in milliseconds'),
    anchor: iso.describe('When the first interval started'),
  }),
  z.strictObject({
    kind: z.literal('cron').describe('By a cron expression'),
    expr: text.describe('A cron expression with 5 or 6 fields'),
    tz: text.describe('The IANA time zone of the expression'),
    staggerMs: count.exactOptional().describe('The maximum delay in milliseconds that spreads crons with one slot'),
  }),
]);

const payload = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('systemEvent').describe('A system event for the session'),
    text: text.describe('The text of the system event'),
  }),
  z.strictObject({
    kind: z.literal('agentTurn').describe('A turn of the agent'),
    message: text.describe('The message that starts the turn'),
    model: text.exactOptional().describe('The model, as provider/model or an alias; absent: as configured'),
    thinking: text.exactOptional().describe('The thinking level of the turn; absent: as configured'),
    via: messageVia.exactOptional(),
    timeoutSeconds: count.exactOptional().describe('The time limit in seconds; absent: as configured'),
    responseFormat: responseFormat.exactOptional(),
  }),
]);

export const cron = z.strictObject({
  id: uuid.describe('The id of the cron'),
  name: text.describe('The name of the cron'),
  agentId: text.describe('The id of the agent that runs'),
  origin: z.enum(['config', 'api', 'agent']).describe('Who created it: the configuration file, a request or an agent'),
  schedule: schedule.describe('When the cron fires'),
  target: text.describe('Where it runs: `main`, its own session (`isolated`) or `session:<key>`'),
  payload: payload.describe('What a run does'),
  wake: z.enum(['now', 'next-heartbeat']).describe('Whether a system event starts a turn, or waits for the next one'),
  misfire: z.enum(MISFIRE_POLICIES).nullable().describe('The policy for missed slots; null: as configured'),
  delivery: z
    .strictObject({
      mode: z
        .enum(['none', 'last', 'webhook', 'channel'])
        .describe('`last`: where the answer to the last message was sent; `channel`: to a chat'),
      url: text.exactOptional().describe('The URL of the webhook, without user and password; absent: as configured'),
      channel: text.exactOptional().describe('The channel of the chat; only with `channel`, as the next ones'),
      accountId: text.exactOptional().describe('The account of the channel'),
      chatId: text.exactOptional().describe('The id of the chat on the platform'),
      threadId: text.exactOptional().describe('The id of the topic or thread; absent: the chat itself'),
    })
    .nullable()
    .describe('Where the reply of a run is sent; null: as configured'),
  deleteAfterRun: flag.describe('Whether the cron is deleted after a successful run'),
  ...shownOptions,
  enabled: flag.describe('Whether it fires'),
  disabledReason: text.nullable().describe('Why Holdfast disabled it; null: it is enabled, or its owner disabled it'),
  failures: count.describe('Failed runs in a row'),
  lastSlotAt: iso.nullable().describe('The last slot that fired; null: no slot has fired'),
  nextSlotAt: iso
    .nullable()
    .describe('The slot that runs next, after those that a failed cron skips; null: there is none'),
  nextRunAt: iso.nullable().describe('When it fires next: the next slot plus its stagger; null: it does not fire'),
  createdAt,
  updatedAt: iso.describe('When it was last changed'),
});

export type CronView = z.output<typeof cron>;

export const cronFire = z.strictObject({
  cronId: uuid.describe('The id of the cron'),
  scheduledFor: iso.describe('The slot that it is for'),
  status: z
    .enum(['claimed', 'completed', 'failed', 'missed', 'skipped'])
    .describe('How the run ended; `claimed`: it has not; `missed`, `skipped`: there was none'),
  reason: text.nullable().describe('Why there was no run, or why it failed; null: it succeeded, or has not ended'),
  slots: z.int().min(1).describe('The number of slots from this one on that were skipped for the same reason'),
  isManual: flag.describe('Whether a person or an agent requested it'),
  messageId: uuid.nullable().describe('The message that it queued; null: none'),
  turnId: uuid.nullable().describe('The turn that ran; null: there is none'),
  delivery: z
    .enum(DELIVERY_STATUSES)
    .nullable()
    .describe('What became of the deliveries of its turn, the worst of them; null: it has none'),
  firedAt: iso.nullable().describe('When it fired; null: it did not'),
  endedAt,
  ...costFields,
});

export type FireView = z.output<typeof cronFire>;

const offset = z.int().min(-1440).max(1440);

const slot = z.strictObject({
  slotAt: iso.describe('The time by the schedule'),
  runAt: iso.describe('When it fires: the slot plus its stagger'),
  clockChange: z
    .strictObject({
      changedAt: iso.describe('When the clocks change'),
      offsetMinutesBefore: offset.describe('The offset from UTC before the change, in minutes'),
      offsetMinutesAfter: offset.describe('The offset from UTC after the change, in minutes'),
    })
    .nullable()
    .describe('The last clock change between the previous slot, or now, and this one; null: none'),
});

export type CronSlotView = z.output<typeof slot>;

export const cronSlots = z.strictObject({ items: z.array(slot).describe('The next slots, earliest first') });

/** The fields of a cron in a list, in addition to its settings. */
export const cronSummaries = z.strictObject({
  items: z
    .array(
      z.strictObject({
        cronId: uuid.describe('The id of the cron'),
        restsUntil: iso.nullable().describe('Slots before this time are skipped after failed runs; null: none are'),
        slots: z.array(slot).describe('The next slots, earliest first; empty if the cron is disabled'),
        fires: z.array(cronFire).describe('The last 20 fires, newest slot first'),
        lastCost: z.strictObject(costOf).describe('The cost of the newest of these fires with a known cost'),
        month: z
          .strictObject({
            slotCount: count.describe('The number of slots in the month; 0 if the cron is disabled'),
            costUsd: costOf.costUsd.describe(
              'The cost of these slots at the average of the last fires; null: not known',
            ),
            costMicros: costOf.costMicros,
          })
          .describe("A forecast for this calendar month in the cron's time zone, or in UTC"),
      }),
    )
    .describe('One item for each cron'),
});
