// A cron as people write it, in the configuration file and in calls: what it may hold, and what it becomes. A schedule that no slot can be
// computed with is refused here, with the reason.
import { z } from 'zod';
import { MESSAGE_VIAS } from '../core/inbound.ts';
import type { CronDelivery, CronPayload, CronTarget } from '../core/schedule/cron.ts';
import { misreadingOf } from '../core/schedule/misread-expression.ts';
import type { MisfirePolicy } from '../core/schedule/plan-ticks.ts';
import { canonicalSessionKey, InvalidSessionKeyError } from '../core/session-key.ts';
import {
  EVERY_MS_MAX,
  EVERY_MS_MIN,
  InvalidScheduleError,
  STAGGER_MS_MAX,
  timetableOf,
} from '../schedule/timetable.ts';
import { THINKING_LEVELS } from './choices.ts';
import { inputOptions } from './schema-inputs.ts';
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
    z.strictObject({ kind: z.literal('at'), at: timeText.transform((at) => new Date(at).toISOString()) }),
    z.strictObject({
      kind: z.literal('every'),
      everyMs: duration(1, EVERY_MS_MIN, EVERY_MS_MAX),
      anchor: timeText.transform((at) => new Date(at).toISOString()).exactOptional(),
    }),
    z.strictObject({
      kind: z.literal('cron'),
      expr: z.string().min(1),
      tz: timeZone.exactOptional(),
      staggerMs: count(0, STAGGER_MS_MAX).exactOptional(),
    }),
  ])
  .superRefine((schedule, context) => {
    if (schedule.kind !== 'cron') return;
    const message = misreadingOf(schedule.expr);
    if (message !== null) {
      context.addIssue({ code: 'custom', path: ['expr'], message, input: schedule });
      return;
    }
    try {
      timetableOf({ ...schedule, tz: schedule.tz ?? 'UTC' });
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
  z.strictObject({ kind: z.literal('systemEvent'), text: notBlank(EVENT_CHARS_MAX) }),
  z.strictObject({
    kind: z.literal('agentTurn'),
    message: notBlank(MESSAGE_CHARS_MAX),
    model: word.exactOptional(),
    thinking: z.enum(THINKING_LEVELS).exactOptional(),
    via: z.enum(MESSAGE_VIAS).exactOptional(),
    timeoutSeconds: count(1, TURN_SECONDS_MAX).exactOptional(),
  }),
]) satisfies z.ZodType<CronPayload>;

const delivery = z.union([
  z.strictObject({ mode: z.literal('none') }),
  z.strictObject({ mode: z.literal('last') }),
  z.strictObject({ mode: z.literal('webhook').default('webhook'), url: deliveryUrl.exactOptional() }),
]) satisfies z.ZodType<CronDelivery>;

/** The fields of a cron; each but `schedule` and `payload` may be left out. */
const cronFields = {
  name: notBlank(NAME_CHARS_MAX).exactOptional(),
  agentId: word.exactOptional(),
  schedule: scheduleInput,
  target: target.exactOptional(),
  payload,
  wake: z.enum(['now', 'next-heartbeat']).exactOptional(),
  misfire: z.enum(MISFIRE_POLICIES).nullable().exactOptional(),
  delivery: delivery.nullable().exactOptional(),
  deleteAfterRun: z.boolean().exactOptional(),
  enabled: z.boolean().exactOptional(),
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
  schedule: scheduleInput.exactOptional(),
  payload: payload.exactOptional(),
  tools: inputOptions.tools.unwrap().nullable().exactOptional(),
  tags: inputOptions.tags.unwrap().nullable().exactOptional(),
});
export type CronPatch = z.output<typeof cronPatch>;
