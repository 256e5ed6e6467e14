// A cron as people write it, in the configuration file and in calls: what it may hold, and the
// timetable of its schedule. A schedule that no slot can be computed with is refused here, with the
// reason.
import { z } from 'zod';
import { findMisreading, type CronFields, type MonthDay, type WeekDay } from './rules/cron-expression.ts';
import { canonicalSessionKey, InvalidSessionKeyError } from '../../core/session-key.ts';
import { THINKING_LEVELS } from '../../core/models.ts';
import { chatDelivery } from '../../config/schema-channels.ts';
import { inputOptions, messageVia, responseFormat } from '../../config/schema-inputs.ts';
import { count, deliveryUrl, duration, timeText, timeZone, word } from '../../config/schema-scalars.ts';
import { createRequire } from 'node:module';
import { cutHead } from '../../core/text.ts';
import { nextSlot, type Timetable } from './rules/timetable.ts';
import { isZone, findZone } from '../../core/time.ts';

const NAME_CHARS_MAX = 200;
const EVENT_CHARS_MAX = 10_000;
const MESSAGE_CHARS_MAX = 100_000;
const TURN_SECONDS_MAX = 86_400;
const EVERY_MS_MIN = 1000;
/** A hundred years. */
const EVERY_MS_MAX = 3_155_760_000_000;
const STAGGER_MS_MAX = 86_400_000;

export const MISFIRE_POLICIES = ['run_once', 'run_all', 'skip'] as const;
export type MisfirePolicy = (typeof MISFIRE_POLICIES)[number];

export type CronTarget = 'main' | 'isolated' | `session:${string}`;

const notBlank = (max: number) =>
  z
    .string()
    .max(max)
    .refine((text) => text.trim() !== '', 'must not be blank')
    .refine((text) => text.isWellFormed() && !text.includes('\0'), 'a text without NUL characters or lone surrogates');

/**
 * When: once, in steady steps, or by a cron expression. `tz` and `anchor` may be left out, see
 * `toDefinition`.
 */
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
      // Its zone is checked beside this.
      buildTimetable({ ...schedule, tz: 'UTC' });
    } catch (error) {
      if (!(error instanceof InvalidScheduleError)) throw error;
      context.addIssue({ code: 'custom', path: [error.field], message: error.message, input: schedule });
    }
  });

type ScheduleInput = z.output<typeof scheduleInput>;
/**
 * A schedule as it is stored and shown, with nothing left out that a default has. Times are ISO
 * 8601 in UTC.
 */
export type Schedule =
  | Extract<ScheduleInput, { kind: 'at' }>
  | Required<Extract<ScheduleInput, { kind: 'every' }>>
  | (Extract<ScheduleInput, { kind: 'cron' }> & { tz: string });

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
]);
export type CronPayload = z.output<typeof payload>;

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

/**
 * The parts of a cron that a change names; null takes `misfire` and `delivery` back to the
 * configuration, and removes options.
 */
export const cronPatch = z.strictObject({
  ...cronFields,
  schedule: scheduleInput.exactOptional().describe('When the cron fires; absent: unchanged'),
  payload: payload.exactOptional().describe('What a run does; absent: unchanged'),
  tools: inputOptions.tools.unwrap().nullable().exactOptional().describe('The tools of its turns; null: all'),
  tags: inputOptions.tags.unwrap().nullable().exactOptional().describe('The tags of its turns; null: none'),
});

export type CronPatch = z.output<typeof cronPatch>;

// From a schedule to a timetable that slots are computed with. Cron expressions are read by
// node-cron; what their fields mean is in `rules/cron-expression.ts`, see
// docs/decisions/0018-schedule.md for why.

type NodeCron = typeof import('node-cron');

/** An expression without a slot, or a zone that this machine does not know. `field` names which. */
export class InvalidScheduleError extends Error {
  readonly code = 'invalid_schedule';
  readonly field: 'expr' | 'tz';

  constructor(field: InvalidScheduleError['field'], message: string) {
    super(message);
    this.name = 'InvalidScheduleError';
    this.field = field;
  }
}

const EXPRESSION_CHARS_MAX = 500;
const EVERY_WEEKDAY = 7;
const EVERY_MONTHDAY = 31;

/** The timetable of a schedule. Throws `InvalidScheduleError`. */
export function buildTimetable(schedule: Schedule): Timetable {
  switch (schedule.kind) {
    case 'at':
      return { kind: 'at', atMs: Date.parse(schedule.at) };
    case 'every':
      return { kind: 'every', everyMs: schedule.everyMs, anchorMs: Date.parse(schedule.anchor) };
    case 'cron':
      return cronTimetable(schedule);
    default:
      return schedule satisfies never;
  }
}

function cronTimetable({ expr, tz, staggerMs }: Extract<Schedule, { kind: 'cron' }>): Timetable {
  if (!isZone(tz)) {
    throw new InvalidScheduleError('tz', `${JSON.stringify(tz)} is not an IANA time zone such as "Europe/Berlin"`);
  }
  const timetable: Timetable = {
    kind: 'cron',
    fields: parseCronFields(expr),
    zone: findZone(tz),
    staggerMs: staggerMs ?? null,
  };
  // The instant does not matter: an expression without a slot within decades has none.
  if (nextSlot(timetable, 0) === null)
    throw new InvalidScheduleError('expr', `${JSON.stringify(expr)} matches no time`);
  return timetable;
}

/**
 * The fields of an expression of 5 or 6 fields, or of a name such as `@daily`. Throws
 * `InvalidScheduleError`.
 */
export function parseCronFields(expr: string): CronFields {
  const shown = JSON.stringify(cutHead(expr, EXPRESSION_CHARS_MAX));
  if (expr.length > EXPRESSION_CHARS_MAX) {
    throw new InvalidScheduleError('expr', `${shown}… is longer than ${EXPRESSION_CHARS_MAX} characters`);
  }
  const words = expr.trim().split(/[ \t]+/);
  const { valid, fields, errors } = nodeCron().validateDetailed(words.join(' '));
  if (!valid || fields === undefined) {
    const reasons = errors.map(({ field, value, message }) =>
      // The library writes "a invalid expression"; its other sentences are kept.
      message.includes('invalid expression')
        ? `${JSON.stringify(value)} is not allowed in the field ${FIELD_NAMES[field] ?? field}`
        : message,
    );
    throw new InvalidScheduleError(
      'expr',
      `${shown} is not a cron expression: ${reasons.join('; ') || 'not understood'}`,
    );
  }
  return {
    seconds: ascending(fields.second),
    minutes: ascending(fields.minute),
    hours: ascending(fields.hour),
    months: ascending(fields.month),
    monthDays: isFull(fields.dayOfMonth, EVERY_MONTHDAY) ? null : fields.dayOfMonth.map((day) => toMonthDay(day)),
    weekDays: isFull(fields.dayOfWeek, EVERY_WEEKDAY) ? null : fields.dayOfWeek.map((day) => toWeekDay(day)),
    // Quartz's `?` (no value) counts as a star.
    daysMatch: [words.at(-3), words.at(-1)].some((word = '*') => /^[*?]/.test(word)) ? 'both' : 'either',
  };
}

/** The names that people use. */
const FIELD_NAMES: Readonly<Record<string, string>> = { dayOfMonth: 'day of month', dayOfWeek: 'day of week' };

let loaded: NodeCron | null = null;

/**
 * Loaded with the first expression: most commands of the command line use none, and loading it
 * takes as long as all the rest.
 */
function nodeCron(): NodeCron {
  return (loaded ??= createRequire(import.meta.url)('node-cron') as NodeCron);
}

function ascending(values: readonly number[]): number[] {
  return [...new Set(values)].toSorted((a, b) => a - b);
}

function isFull(values: readonly (number | string)[], size: number): boolean {
  return new Set(values.filter((value) => typeof value === 'number')).size === size;
}

/** Reads a day of node-cron: `15`, `L`, `L-3`, `15W`, `LW`. */
function toMonthDay(value: number | string): MonthDay {
  if (typeof value === 'number') return { kind: 'day', day: value };
  const word = value.toUpperCase();
  if (word === 'LW') return { kind: 'lastWeekday' };
  if (word.endsWith('W')) return { kind: 'near', day: Number(word.slice(0, -1)) };
  return { kind: 'last', offset: word === 'L' ? 0 : Number(word.slice('L-'.length)) };
}

/** Reads a weekday of node-cron: `5`, `5#2`, `5L`. */
function toWeekDay(value: number | string): WeekDay {
  if (typeof value === 'number') return { kind: 'day', day: value };
  const [day = '', nth] = value.split('#');
  if (nth !== undefined) return { kind: 'nth', day: Number(day) % EVERY_WEEKDAY, nth: Number(nth) };
  return { kind: 'last', day: Number(day.slice(0, -1)) % EVERY_WEEKDAY };
}
