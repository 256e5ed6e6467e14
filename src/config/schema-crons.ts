// A cron as people write it, in the configuration file and in calls: what it may hold, and what it becomes. A schedule that no slot can be
// computed with is refused here, with the reason.
import { z } from 'zod';
import type { CronPayload, CronTarget } from '../core/schedule/cron.ts';
import { findMisreading } from '../core/schedule/misread-expression.ts';
import type { MisfirePolicy } from '../core/schedule/plan-ticks.ts';
import { canonicalSessionKey, InvalidSessionKeyError } from '../core/session-key.ts';
import {
  EVERY_MS_MAX,
  EVERY_MS_MIN,
  InvalidScheduleError,
  STAGGER_MS_MAX,
  buildTimetable,
} from '../schedule/timetable.ts';
import { THINKING_LEVELS } from '../core/models.ts';
import { chatDelivery } from './schema-channels.ts';
import { inputOptions, messageVia, responseFormat } from './schema-inputs.ts';
import { count, deliveryUrl, duration, timeText, timeZone, word } from './schema-scalars.ts';

const NAME_CHARS_MAX = 200;
const EVENT_CHARS_MAX = 10_000;
const MESSAGE_CHARS_MAX = 100_000;
const TURN_SECONDS_MAX = 86_400;

export const MISFIRE_POLICIES: readonly MisfirePolicy[] = ['run_once', 'run_all', 'skip'];

const notBlank = (max: number) =>
  z
    .string()
    .max(max)
    .refine((text) => text.trim() !== '', 'must not be blank')
    .refine((text) => text.isWellFormed() && !text.includes('\0'), 'a text without NUL characters or lone surrogates');

/** When: once, in steady steps, or by a cron expression. `tz` and `anchor` may be left out, see `schedule/cron-definition.ts`. */
const scheduleInput = z
  .discriminatedUnion('kind', [
    z.strictObject({
      kind: z.literal('at').describe('Once, at a time'),
      at: timeText.transform((at) => new Date(at).toISOString()).describe('The time at which it fires'),
    }),
    z.strictObject({
      kind: z.literal('every').describe('At a fixed interval'),
      everyMs: duration(1, EVERY_MS_MIN, EVERY_MS_MAX).describe(
        'The length of the interval, in milliseconds or as a text such as "5m"',
      ),
      anchor: timeText
        .transform((at) => new Date(at).toISOString())
        .exactOptional()
        .describe('When the first interval starts; absent: now'),
    }),
    z.strictObject({
      kind: z.literal('cron').describe('By a cron expression'),
      expr: z.string().min(1).describe('A cron expression with 5 or 6 fields'),
      tz: timeZone.exactOptional().describe('The IANA time zone of the expression; absent: the time zone of the agent'),
      staggerMs: count(0, STAGGER_MS_MAX)
        .exactOptional()
        .describe('The maximum delay in milliseconds that spreads crons with one slot'),
    }),
  ])
  .superRefine((schedule, context) => {
    if (schedule.kind !== 'cron') return;
    const message = findMisreading(schedule.expr);
    if (message !== null) {
      context.addIssue({ code: 'custom', path: ['expr'], message, input: schedule });
      return;
    }
    try {
      buildTimetable({ ...schedule, tz: schedule.tz ?? 'UTC' });
    } catch (error) {
      if (!(error instanceof InvalidScheduleError)) throw error;
      context.addIssue({ code: 'custom', path: [error.field], message: error.message, input: schedule });
    }
  });

const target = z.string().superRefine((value, context) => {
  if (value === 'main' || value === 'isolated') return;
  const message = 'expected "main", "isolated" or "session:<key>"';
  if (!value.startsWith('session:')) {
    context.addIssue({ code: 'custom', message, input: value });
    return;
  }
  try {
    canonicalSessionKey(value.slice('session:'.length));
  } catch (error) {
    if (!(error instanceof InvalidSessionKeyError)) throw error;
    context.addIssue({ code: 'custom', message: `${message}: ${error.message}`, input: value });
  }
}) as unknown as z.ZodType<CronTarget, string>;

const payload = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('systemEvent').describe('A system event for the session'),
    text: notBlank(EVENT_CHARS_MAX).describe('The text of the system event'),
  }),
  z.strictObject({
    kind: z.literal('agentTurn').describe('A turn of the agent'),
    message: notBlank(MESSAGE_CHARS_MAX).describe('The message that starts the turn'),
    model: word.exactOptional().describe('The model, as provider/model or an alias; absent: as configured'),
    thinking: z.enum(THINKING_LEVELS).exactOptional().describe('The thinking level of the turn; absent: as configured'),
    via: messageVia.exactOptional(),
    timeoutSeconds: count(1, TURN_SECONDS_MAX)
      .exactOptional()
      .describe('The time limit in seconds; absent: as configured'),
    responseFormat: responseFormat.exactOptional(),
  }),
]) satisfies z.ZodType<CronPayload>;

const delivery = z.union([
  z.strictObject({ mode: z.literal('none').describe('The reply is not sent') }),
  z.strictObject({
    mode: z.literal('last').describe('The reply is sent where the answer to the last message was sent'),
  }),
  z.strictObject({
    mode: z.literal('webhook').default('webhook').describe('The reply is sent to a webhook'),
    url: deliveryUrl.exactOptional().describe('The http or https URL of the webhook; absent: as configured'),
  }),
  chatDelivery,
]);

/** The fields of a cron; each but `schedule` and `payload` may be left out. */
const cronFields = {
  name: notBlank(NAME_CHARS_MAX).exactOptional().describe('A name for people'),
  agentId: word.exactOptional().describe('The id of the agent that runs'),
  schedule: scheduleInput.describe('When the cron fires'),
  target: target.exactOptional().describe('Where it runs: `main`, its own session (`isolated`) or `session:<key>`'),
  payload: payload.describe('What a run does'),
  wake: z
    .enum(['now', 'next-heartbeat'])
    .exactOptional()
    .describe('Whether a system event starts a turn, or waits for the next one'),
  misfire: z
    .enum(MISFIRE_POLICIES)
    .nullable()
    .exactOptional()
    .describe('The policy for missed slots; null: as configured'),
  delivery: delivery.nullable().exactOptional().describe('Where the reply of a run is sent; null: as configured'),
  deleteAfterRun: z.boolean().exactOptional().describe('True: delete the cron after a successful run'),
  enabled: z.boolean().exactOptional().describe('False: the cron does not fire'),
  ...inputOptions,
};

/** The fault of a combination of valid parts; null: there is none. */
export function faultBetween(cron: {
  target: CronTarget;
  payload: CronPayload;
  wake: 'now' | 'next-heartbeat';
}): { path: string; message: string } | null {
  if (cron.target === 'isolated' && cron.payload.kind === 'systemEvent' && cron.wake === 'next-heartbeat') {
    return { path: 'wake', message: 'an isolated session has no heartbeat: its events are read only with wake "now"' };
  }
  return null;
}

/** A cron as it is written in a request or the configuration. */
export const cronInput = z.strictObject(cronFields);
export type CronInput = z.output<typeof cronInput>;

/** A cron of the configuration file, which is identified by its name. */
export const cronJob = z.strictObject({ ...cronFields, name: notBlank(NAME_CHARS_MAX) });

/** The parts of a cron that a change names; null takes `misfire` and `delivery` back to the configuration, and removes options. */
export const cronPatch = z.strictObject({
  ...cronFields,
  schedule: scheduleInput.exactOptional().describe('When the cron fires; absent: unchanged'),
  payload: payload.exactOptional().describe('What a run does; absent: unchanged'),
  tools: inputOptions.tools.unwrap().nullable().exactOptional().describe('The tools of its turns; null: all'),
  tags: inputOptions.tags.unwrap().nullable().exactOptional().describe('The tags of its turns; null: none'),
});
export type CronPatch = z.output<typeof cronPatch>;
