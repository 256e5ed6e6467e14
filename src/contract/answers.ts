// The answers that are made of several views, and the bodies of the smaller requests.
import { z } from 'zod';
import { HEALTH_KINDS } from '../core/service-health.ts';
import { message, session, systemEvent, turn } from './views.ts';

const EVENT_TEXT_CHARS_MAX = 10_000;
const CONTEXT_KEY_CHARS_MAX = 200;

const disposition = z.enum(['queued', 'steered', 'interrupting', 'duplicate', 'command', 'rejected']);

export const accepted = z.strictObject({ message, session, disposition });
export type AcceptedMessage = z.output<typeof accepted>;

export const settled = z.strictObject({ message, turn: turn.nullable(), reply: z.string().nullable() });
export type SettledMessage = z.output<typeof settled>;

export const abortRequest = z.strictObject({ queued: z.enum(['keep', 'cancel']).optional() });

export const abortion = z.strictObject({ aborted: z.uuid().nullable(), cancelled: z.int().min(0) });

export const systemEventRequest = z.strictObject({
  text: z
    .string()
    .max(EVENT_TEXT_CHARS_MAX)
    .refine((text) => text.trim() !== '', { error: 'must not be blank' }),
  contextKey: z.string().min(1).max(CONTEXT_KEY_CHARS_MAX).exactOptional(),
  trusted: z.boolean().exactOptional(),
});

export const enqueued = z.strictObject({
  event: systemEvent.pick({ id: true, sessionKey: true, text: true, contextKey: true, trusted: true, createdAt: true }),
  disposition: z.enum(['queued', 'duplicate']),
});

/** The kinds of things that are found by the end of their ids. */
export const ID_KINDS = [
  'turn',
  'message',
  'session',
  'delivery',
  'deadLetter',
  'batch',
  'cron',
  'run',
  'bulkAction',
] as const;

export const foundIds = z.strictObject({
  items: z.array(z.strictObject({ kind: z.enum(ID_KINDS), id: z.uuid() })),
  lookedAt: z.int().min(0),
});
export type FoundId = z.output<typeof foundIds>['items'][number];

export const turnAborted = z.strictObject({ aborted: z.boolean() });

export const openAiError = z.strictObject({
  error: z.strictObject({
    message: z.string(),
    type: z.string(),
    param: z.string().nullable(),
    code: z.string().nullable(),
  }),
});

export const problem = z.looseObject({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  detail: z.string(),
  instance: z.string(),
  code: z.string(),
  requestId: z.string(),
  errors: z.array(z.strictObject({ path: z.string(), message: z.string() })).optional(),
});

const dependency = z.strictObject({
  name: z.string(),
  status: z.enum(['ok', 'failed']),
  durationMs: z.number(),
  error: z.string().nullable(),
  failedSince: z.iso.datetime().nullable(),
});

export const readiness = z.strictObject({
  status: z.enum(['ready', 'degraded', 'unavailable']),
  dependencies: z.array(dependency),
  troubles: z.array(z.enum(HEALTH_KINDS)),
  model: z.strictObject({ provider: z.string(), name: z.string(), isScripted: z.boolean() }),
  version: z.string(),
  environment: z.string().nullable(),
});

export const liveness = z.strictObject({ status: z.literal('ok') });

/** A number that is not counted to its end. */
export const cappedCount = z.strictObject({ count: z.int().min(0), isCapped: z.boolean() });

/** A page of a list. */
export interface ListAnswer<Item> {
  items: Item[];
  nextCursor: string | null;
}

/** A page of a list. */
export function listOf<Item extends z.ZodType>(item: Item) {
  return z.strictObject({ items: z.array(item), nextCursor: z.string().nullable() });
}
