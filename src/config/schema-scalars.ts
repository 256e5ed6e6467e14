// What the schema of the configuration is made of: sections, and scalars such as durations, counts,
// names, paths and URLs. What each refuses says what is allowed.
import { z } from 'zod';
import { isInTimeRange, formatDuration, parseDuration } from '../core/time.ts';

/** A key of the API: long enough that it cannot be guessed. */
export const API_KEY = /^[\x21-\x7e]{16,512}$/;
export const API_KEY_TEXT = '16 to 512 visible ASCII characters without spaces';

/** Node's timers cannot go further than 2^31 - 1 ms: longer ones would fire immediately. */
const TIMER_MAX_MS = 24 * 86_400_000;
export const STORED_MAX_MS = 3650 * 86_400_000;
export const TEXT_MAX = 20_000;
export const LIST_MAX = 1000;

/** A duration in units of `unitMs`: a number in that unit, or a text with its own units. */
export function duration(unitMs: number, minMs: number, maxMs: number) {
  const unitName = { 1: 'milliseconds', 1000: 'seconds', 60_000: 'minutes', 3_600_000: 'hours' }[unitMs];
  const range = `${minMs === 0 ? '0' : formatDuration(minMs)} to ${formatDuration(maxMs)}`;
  const allowed = `${range}, as a number of ${unitName} or a text such as "30m" or "1h30m"`;
  return parsed(z.union([z.number(), z.string()]), allowed, (value) => {
    const ms = typeof value === 'number' ? value * unitMs : parseDuration(value);
    if (ms === undefined || !Number.isFinite(ms) || ms < minMs || ms > maxMs) return undefined;
    return unitMs === 1 ? Math.round(ms) : ms / unitMs;
  });
}

/** What `parse` makes of a value; undefined: it is not allowed. */
export const parsed = <Written extends z.ZodType, Value>(
  schema: Written,
  allowed: string,
  parse: (value: z.output<Written>) => Value | undefined,
) =>
  schema.transform((value, context): Value => {
    const result = parse(value);
    if (result !== undefined) return result;
    context.addIssue({ code: 'custom', message: allowed, input: value });
    return z.NEVER;
  });

/**
 * A section of the configuration, which is complete without being written: each of its keys has a
 * default or may be absent.
 */
export const section = <Shape extends z.core.$ZodLooseShape>(shape: Shape) =>
  // Only the compiler does not see that no key is required.
  z.strictObject(shape).prefault({} as never);

/** Every object field optional, all the way down; arrays are replaced as a whole. */
export type DeepPartial<T> = T extends readonly unknown[]
  ? T
  : T extends object
    ? { [Key in keyof T]?: DeepPartial<T[Key]> | undefined }
    : T;

type WithoutDefaults<Shape extends Record<string, z.ZodType>> = {
  [Key in keyof Shape]: z.ZodExactOptional<z.ZodType<DeepPartial<z.output<Shape[Key]>>>>;
};

/**
 * The same keys, of which each may be left out and none has a default: settings that are laid over
 * others.
 */
export function withoutDefaults<Shape extends Record<string, z.ZodType>>(shape: Shape): WithoutDefaults<Shape> {
  const entries = Object.entries(shape).map(([key, schema]) => [key, unwrapOptional(schema)]);
  return Object.fromEntries(entries) as WithoutDefaults<Shape>;
}

function unwrapOptional(schema: z.ZodType): z.ZodType {
  if (!(schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault)) return schema;
  const inner = schema.unwrap() as z.ZodType;
  const isSection = schema instanceof z.ZodPrefault && inner instanceof z.ZodObject;
  const bare = isSection ? z.strictObject(withoutDefaults(inner.shape as Record<string, z.ZodType>)) : inner;
  return bare.exactOptional();
}

/** A list of which no two items are the same: in `key`, or in what `of` answers. */
export function distinct<Item extends z.ZodType<object>>(
  item: Item,
  { key: field, of, what }: { key: keyof z.output<Item> & string; of?: (item: z.output<Item>) => string; what: string },
) {
  return z
    .array(item)
    .max(LIST_MAX)
    .superRefine((items, context) => {
      const identities = items.map((each): unknown => of?.(each) ?? each[field]);
      for (const [at, each] of items.entries()) {
        if (identities.indexOf(identities[at]) === at) continue;
        context.addIssue({ code: 'custom', path: [at, field], message: what, input: each[field] });
      }
    });
}

declare module 'zod' {
  interface GlobalMeta {
    /**
     * Of a key that can change while a process runs: completes "a new value is", for the reference.
     * Other keys are read once: by the pools, the server of the API, the tools, the transports.
     */
    reload?: string;
  }
}

export const optional = z.exactOptional;
export const choice = <const Choice extends string>(choices: readonly Choice[], byDefault: NoInfer<Choice>) =>
  z.enum(choices).default(byDefault as never);
export const flag = (byDefault: boolean) => z.boolean().default(byDefault);
export const timerMs = (min = 0) => duration(1, min, TIMER_MAX_MS);
export const storedMs = (min = 0) => duration(1, min, STORED_MAX_MS);
export const seconds = (min = 1) => duration(1000, min * 1000, TIMER_MAX_MS);
export const count = (min: number, max: number) => z.int().min(min).max(max);
export const ratio = z.number().min(0).max(1);
/** A text that may reach a command, a process, a database: none of them takes a NUL. */
export const plainText = (charsMax: number) =>
  z
    .string()
    .max(charsMax)
    .refine((value) => !value.includes('\0'), 'a text without NUL characters');
export const text = plainText(TEXT_MAX).min(1);
/** A text that is part of a prompt, of many lines. */
export const promptText = plainText(200_000).min(1);
/** A time with its zone. All times that come from outside as a text pass this check. */
export const timeText = z.iso
  .datetime({ offset: true, abort: true, error: 'expected a time with its zone, such as 2026-11-25T08:00:00Z' })
  .refine((text) => isInTimeRange(Date.parse(text)), 'expected a time of the years 1 to 9999');
export const word = z
  .string()
  .min(1)
  .max(200)
  .regex(/^[^\s\p{Cc}]+$/u, 'a text without spaces or control characters');
/** A short name that is shown to people. */
export const label = z
  .string()
  .min(1)
  .max(24)
  .regex(/^\P{Cc}+$/u, 'a text without control characters');
export const names = z.array(word).max(LIST_MAX);
export const path = z
  .string()
  .min(1)
  .max(4096)
  .refine((value) => !value.includes('\0'), 'a path without NUL characters');
/** A host with or without a port, as `URL` writes it. */
const host = z.string().max(300).refine(isHost, 'a host such as "wiki.lan", "10.0.0.7:8080" or "[fd00::1]"');
export const hosts = z.array(host).max(LIST_MAX).default([]);
/**
 * A host that a sandbox lets programs reach: a name or an address, alone or with a port, `*.`
 * before a name for all below it, or `*`.
 */
export const reachable = z
  .string()
  .max(300)
  .regex(
    /^(?:\*|(?:\*\.)?[A-Za-z0-9][\w.-]*(?::\d{1,5})?|[0-9A-Fa-f]*:[0-9A-Fa-f:.]+)$/,
    'a host such as "pypi.org", "*.pypi.org", "wiki.lan:8080" or "*"',
  );
/** The origin of a web page, as browsers send it. */
export const webOrigin = z
  .string()
  .max(300)
  .refine(
    (value) => isHttpUrl(value) && new URL(value).origin === value,
    'the origin of a web page without a path, such as "https://shop.example" or "http://localhost:3000"',
  );
export const httpUrl = z.string().max(4096).refine(isHttpUrl, 'a URL that begins with http:// or https://');
/**
 * Where a reply may be sent on behalf of a client. The text of a refusal must not repeat the URL:
 * it may contain a password.
 */
export const deliveryUrl = z
  .string()
  .max(2000)
  .refine(isHttpUrl, 'expected an http or https URL')
  .refine(
    (value) => !hasCredentials(value),
    'expected a URL without user and password; only `channels.webhook.url` in the configuration may contain them',
  );
/** A header value: visible ASCII, so that it can be sent at all. */
export const headerValue = z
  .string()
  .min(1)
  .max(4096)
  .regex(/^[\x20-\x7e]+$/, 'printable ASCII characters');
export const key = z.string().regex(API_KEY, API_KEY_TEXT);
export const timeZone = z.string().max(100).refine(isTimeZone, 'an IANA time zone such as "Europe/Berlin" or "UTC"');
export const timeOfDay = z.string().regex(/^(?:[01]\d|2[0-3]):[0-5]\d$|^24:00$/, 'a time as "HH:MM"');

function isHttpUrl(value: string): boolean {
  return URL.canParse(value) && /^https?:$/.test(new URL(value).protocol);
}

function hasCredentials(value: string): boolean {
  if (!URL.canParse(value)) return false;
  const { username, password } = new URL(value);
  return username !== '' || password !== '';
}

function isHost(value: string): boolean {
  if (!URL.canParse(`http://${value}/`)) return false;
  const url = new URL(`http://${value}/`);
  return url.href === `http://${url.host}/` && (url.host === value || `${url.hostname}:80` === value);
}

function isTimeZone(value: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: value });
    return true;
  } catch {
    return false;
  }
}
