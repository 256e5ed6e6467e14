// The answers that are made of several views, and the bodies of the smaller requests.
import { z } from 'zod';
import { THINKING_LEVELS } from '../core/models.ts';
import { REASONING_LEVELS } from '../core/reply.ts';
import { TROUBLE_KINDS } from '../features/overview/rules/service-health.ts';
import { message, session, systemEvent, turn } from './views.ts';
import { text, flag, uuid, iso, count } from './fields.ts';
import { output } from './input-options.ts';

const EVENT_TEXT_CHARS_MAX = 10_000;
const CONTEXT_KEY_CHARS_MAX = 200;

const disposition = z.enum(['queued', 'steered', 'interrupting', 'duplicate', 'command', 'rejected']);

export const accepted = z.strictObject({
  message: message.describe('The message as it is stored'),
  session: session.describe('The session that received it'),
  disposition: disposition.describe('What happened to the message when it was accepted'),
});
export type AcceptedMessage = z.output<typeof accepted>;

export const settled = z.strictObject({
  message: message.describe('The message with its outcome'),
  turn: turn.nullable().describe('The turn that claimed it; null: no turn did'),
  reply: text.nullable().describe('The text of the reply; null: there is none'),
  output,
});
export type SettledMessage = z.output<typeof settled>;

export const sessionPatch = z.strictObject({
  queueMode: session.shape.queueMode.optional(),
  queueDebounceMs: z
    .int()
    .min(0)
    .max(3_600_000)
    .nullish()
    .describe('How long a turn waits for more messages, in milliseconds; null: as configured'),
  queueCap: z
    .int()
    .min(1)
    .max(10_000)
    .nullish()
    .describe('The maximum number of messages in a turn; null: as configured'),
  queueDrop: session.shape.queueDrop.optional(),
  model: z
    .string()
    .min(1)
    .max(1000)
    .nullish()
    .describe('The model, as provider/model or an alias; null: as configured'),
  thinking: z.enum(THINKING_LEVELS).nullish().describe('The thinking level of its turns; null: as configured'),
  reasoning: z
    .enum(REASONING_LEVELS)
    .nullish()
    .describe('Shows its thinking: `on`: before replies; `stream`: as events; null: off'),
  label: z.string().max(1000).nullish().describe('A label for people; null: it has none'),
});

export const abortRequest = z.strictObject({
  queued: z.enum(['keep', 'cancel']).optional().describe('What happens to waiting messages; absent: cancel'),
});

export const abortion = z.strictObject({
  aborted: uuid.nullable().describe('The turn that is being aborted; null: no turn was running'),
  cancelled: count.describe('The number of cancelled waiting messages'),
});

export const systemEventRequest = z.strictObject({
  text: z
    .string()
    .max(EVENT_TEXT_CHARS_MAX)
    .refine((text) => text.trim() !== '', { error: 'must not be blank' })
    .describe('The line for the next prompt'),
  contextKey: z
    .string()
    .min(1)
    .max(CONTEXT_KEY_CHARS_MAX)
    .exactOptional()
    .describe('A name that groups system events of the same origin'),
  trusted: flag
    .exactOptional()
    .describe('Whether its text comes from the operator; absent: true with a key of the role admin, otherwise false'),
});

export const enqueued = z.strictObject({
  event: systemEvent
    .pick({ id: true, sessionKey: true, text: true, contextKey: true, trusted: true, createdAt: true })
    .describe('The system event as it is stored'),
  disposition: z.enum(['queued', 'duplicate']).describe('`duplicate`: the session has the same event already'),
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
  items: z
    .array(z.strictObject({ kind: z.enum(ID_KINDS).describe('What has the id'), id: uuid.describe('The whole id') }))
    .describe('The things whose ids end so, newest first; more than one: the text is not enough'),
  lookedAt: count.describe('How many of the newest objects of each kind were searched; others need their whole id'),
});
export type FoundId = z.output<typeof foundIds>['items'][number];

export const turnAborted = z.strictObject({ aborted: flag.describe('Whether the turn was still running') });

export const openAiError = z.strictObject({
  error: z
    .strictObject({
      message: text.describe('What is wrong and what is allowed, for people'),
      type: text.describe('The kind of error, as OpenAI names it'),
      param: text.nullable().describe('The invalid parameter; null: none'),
      code: text.nullable().describe("OpenAI's code if it has one, or else a problem code of Holdfast; null: none"),
    })
    .describe('What is wrong, in the form of OpenAI'),
});
export type OpenAiError = z.output<typeof openAiError>;

export const problem = z.looseObject({
  type: text.describe('A URN with the code'),
  title: text.describe('The meaning of the code, for people'),
  status: z.int().describe('The HTTP status of the answer'),
  detail: text.describe('An explanation for people'),
  instance: text.describe('The path that was requested'),
  code: text.describe('The code of the problem, for programs'),
  requestId: text.describe('The id of the request, as in the header x-request-id'),
  errors: z
    .array(
      z.strictObject({
        path: text.describe('The invalid field; empty: the whole body'),
        message: text.describe('What is wrong with the field'),
      }),
    )
    .optional()
    .describe('What is wrong, field by field'),
});

const dependency = z.strictObject({
  name: text.describe('The name of the dependency: `database`, `queue` and so on'),
  status: z.enum(['ok', 'failed']).describe('Whether it works'),
  durationMs: z.number().describe('How long the check took, in milliseconds'),
  error: text.nullable().describe('Why the check failed; null: it did not'),
  failedSince: iso.nullable().describe('Since when the dependency fails, as this process knows; null: it works'),
});

/** The model of the first agent. */
export const defaultModel = z
  .strictObject({
    provider: text.describe('The provider of the model'),
    name: text.describe('The name of the model, without its provider'),
    isScripted: flag.describe('True: the built-in scripted model answers, because no provider key is configured'),
  })
  .describe('The model that answers by default');

export const readiness = z.strictObject({
  status: z.enum(['ready', 'degraded', 'unavailable']).describe('`degraded`: it works, with delays or `troubles`'),
  dependencies: z.array(dependency).describe('The dependencies of the service and their states'),
  troubles: z.array(z.enum(TROUBLE_KINDS)).describe('What keeps it from working; `GET /v1/attention` has details'),
  notes: z.array(text).describe('What an operator should know although it works, for people'),
  model: defaultModel,
  version: text.describe('The version of Holdfast that answers'),
  environment: text.nullable().describe('The name of the environment (`api.environment`); null: it has none'),
});
export type Readiness = z.output<typeof readiness>;

export const liveness = z.strictObject({ status: z.literal('ok').describe('Always `ok`: the process answers') });

/** A number that is not counted to its end. */
export const cappedCount = z.strictObject({
  count: count.describe('The number of turns, up to a limit'),
  isCapped: flag.describe('Whether the limit of the count was reached, so that there may be more'),
});

/** A page of a list. */
export interface ListAnswer<Item> {
  items: Item[];
  nextCursor: string | null;
}

/** The answer to a request that deletes something. */
export const deleted = z.strictObject({ deleted: z.literal(true).describe('True: it was deleted') });

export function describeList<Item extends z.ZodType>(item: Item) {
  return z.strictObject({
    items: z.array(item).describe('The items of the page, in the order of the list'),
    nextCursor: text.nullable().describe('The cursor of the next page; null: this is the last page'),
  });
}
