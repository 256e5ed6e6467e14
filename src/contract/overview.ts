// The overview, and what needs a person.
import { z } from 'zod';
import { LANES } from '../config.ts';
import { ATTENTION_KINDS, ATTENTION_STATES } from '../core/attention.ts';
import { why } from './views.ts';

const count = z.int().min(0);
const iso = z.iso.datetime();
const column = z.array(z.number());
/** A minute in which nothing was measured has null. */
const measured = z.array(z.number().nullable());

export const overview = z.strictObject({
  now: iso,
  waiting: z.strictObject({ count, isCapped: z.boolean(), oldestAt: iso.nullable() }),
  parked: count,
  running: count,
  slots: z.strictObject({ inUse: count, total: count }),
  turnsPerMinute: z.number(),
  successRate: z.number().nullable(),
  firstChunkP95Ms: z.number().nullable(),
  turnP95Ms: z.number().nullable(),
  cacheHitRatio: z.number().nullable(),
  spentTodayUsd: z.number(),
  budget: z
    .strictObject({
      id: z.uuid(),
      name: z.string(),
      limitUsd: z.number(),
      spentUsd: z.number(),
      usedPercent: z.number(),
    })
    .nullable(),
  simulated: z.boolean(),
  points: z.strictObject({
    startsAt: z.array(iso),
    waiting: measured,
    running: measured,
    arrivals: column,
    ends: column,
    failures: column,
    oldestWaitMs: column,
    firstChunkP95Ms: measured,
    turnP95Ms: measured,
    inputTokens: column,
    outputTokens: column,
    cacheReadTokens: column,
    cacheWriteTokens: column,
    costUsd: column,
  }),
  lanes: z.array(
    z.strictObject({
      lane: z.enum(LANES),
      depth: count,
      parked: count,
      oldestAt: iso.nullable(),
      oldest: z.strictObject({ sessionKey: z.string(), why }).nullable(),
      running: count,
      slots: count,
    }),
  ),
});

export type Overview = z.output<typeof overview>;

const mark = z.strictObject({ by: z.string(), at: iso, until: iso.nullable(), reason: z.string().nullable() });

export const attentionEntry = z.strictObject({
  id: z.string(),
  kind: z.enum([...ATTENTION_KINDS, 'budget']),
  severity: z.enum(['error', 'warning']),
  text: z.string(),
  count,
  since: iso.nullable(),
  href: z.string(),
  fix: z.string(),
  state: z.enum(ATTENTION_STATES),
  mark: mark.nullable(),
});

export type AttentionEntry = z.output<typeof attentionEntry>;

export const attention = z.strictObject({ items: z.array(attentionEntry) });

export type Attention = z.output<typeof attention>;

const REASON_CHARS_MAX = 500;
const SNOOZE_SECONDS_MAX = 30 * 86_400;
const reason = z.string().trim().min(1).max(REASON_CHARS_MAX).exactOptional();

export const acknowledgeRequest = z.strictObject({ reason });

export const snoozeRequest = z.strictObject({
  seconds: z.int().min(0).max(SNOOZE_SECONDS_MAX).exactOptional(),
  reason,
});

export const stats = z.strictObject({
  sessions: count,
  messages: z.record(z.string(), count),
  turns: z.record(z.string(), count),
  deliveries: z.record(z.string(), count),
  oldestWaitMs: count.nullable(),
  liveLocks: count,
  queueDepth: z.record(z.enum(LANES), count),
  systemEventsWaiting: count,
  deadLetters: count,
  attention: z.strictObject({ errors: count, warnings: count }),
});
export type StatsView = z.output<typeof stats>;
