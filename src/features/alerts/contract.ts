// Alert destinations on the wire, and what they receive.
import { z } from 'zod';
import { chatDelivery } from '../../config/schema-channels.ts';
import { deliveryUrl } from '../../config/schema-scalars.ts';
import { ALERT_SEVERITIES } from './rules.ts';
import { ATTENTION_KINDS } from '../overview/rules/attention.ts';
import { count, createdAt, flag, iso, text, uuid, wholeList } from '../../contract/fields.ts';

const DAY_SECONDS = 86_400;

const name = z
  .string()
  .regex(
    /^[a-zA-Z0-9][a-zA-Z0-9._-]{0,63}$/,
    '1 to 64 characters of letters, digits, . _ and -, the first a letter or a digit',
  )
  .describe('The name of the destination; unique');
const severity = z.enum(ALERT_SEVERITIES).describe('The least that is sent: `error`, or `warning` for all problems');
const kind = z.enum([...ATTENTION_KINDS, 'budget']);
const kinds = z
  .array(kind)
  .min(1)
  .max(kind.options.length)
  .nullable()
  .describe('The kinds of problems that are sent, as `kind` of `GET /v1/attention`; null: all');
const repeatSeconds = z
  .int()
  .min(60)
  .max(30 * DAY_SECONDS)
  .describe(
    'A problem that lasts is sent again after this time. One that is worse than before, or comes back after its end was sent, is sent at once',
  );

/** `channel:<channel>/<account>/<chat>`, perhaps with a thread; parts may be percent-encoded. */
const chatUrl = z
  .string()
  .max(2000)
  .regex(/^channel:(?:(?:[^/%]|%[2-7][\da-f])+(?:\/(?!$)|$)){3,4}$/i, 'a chat as channel:telegram/main/42');

const receiver = z
  .union([deliveryUrl, chatUrl, chatDelivery])
  .describe(
    'Where alerts are sent: an http or https URL, or a chat of a channel, as `channel:telegram/main/42` or as an object',
  );

/** The body of `POST /v1/alert-destinations`. */
export const alertDestinationRequest = z.strictObject({
  name,
  url: receiver,
  severity: severity.exactOptional().describe('The least that is sent; absent: `warning`, which is all'),
  kinds: kinds.exactOptional().describe('The kinds of problems that are sent; absent or null: all'),
  repeatSeconds: repeatSeconds
    .exactOptional()
    .describe('A problem that lasts is sent again after this time; absent: 14400, four hours'),
});

/** The body of `PATCH /v1/alert-destinations/{id}`; omitted fields are unchanged. */
export const alertDestinationPatch = z.strictObject({
  name: name.exactOptional(),
  url: receiver.exactOptional().describe('Where alerts are sent; a webhook stays a webhook, and a chat a chat'),
  severity: severity.exactOptional(),
  kinds: kinds.exactOptional(),
  repeatSeconds: repeatSeconds.exactOptional(),
});

export const alertDestination = z.strictObject({
  id: uuid.describe('The id of the destination'),
  name,
  url: text.describe(
    'Where alerts are sent: a URL without its path, which often is a secret, or a chat as `channel:telegram/main/42`',
  ),
  severity,
  kinds: z
    .array(text)
    .readonly()
    .nullable()
    .describe('The kinds of problems that are sent, as `kind` of `GET /v1/attention`; null: all'),
  repeatSeconds,
  createdBy: text.describe('Who created it: `admin`, or `key:<name>`'),
  createdAt,
  triedAt: iso
    .nullable()
    .describe('When it was last sent something, or, to a chat, when that was put into the outbox; null: never'),
  lastStatus: z.int().nullable().describe('The HTTP status of its last answer; null: none came'),
  lastError: text
    .nullable()
    .describe(
      'Why the last attempt failed, without what the receiver said; null: it was acknowledged, or there was none',
    ),
  failingSince: iso.nullable().describe('Since when attempts fail; null: the last one was acknowledged'),
  restsUntil: iso
    .nullable()
    .describe(
      'A call was given up, and nothing is sent before this time or an acknowledged test; null: it does not rest',
    ),
  isSending: flag.describe('Whether a call waits for its next attempt; what begins meanwhile is sent after it'),
});
export type AlertDestinationView = z.output<typeof alertDestination>;

export const alertDestinations = wholeList(alertDestination, 'The destinations, by name');

export const newAlertDestination = alertDestination.extend({
  secret: text
    .nullable()
    .describe('The secret that signs what is sent there, shown only once; null: a chat has none, or it was a retry'),
});

export const alertTest = z.strictObject({
  isAcknowledged: flag.describe(
    'Whether the destination answered with a status from 200 to 299, or its platform took it',
  ),
  status: z.int().nullable().describe('The HTTP status of the answer; null: none came'),
  error: text.nullable().describe('Why the alert was not acknowledged, with the beginning of the answer; null: it was'),
});

const href = text.describe('The path of the screen of the dashboard that shows it');

/** What a destination receives. */
export const alertPayload = z.strictObject({
  type: z.literal('alert').describe('The type of the delivery'),
  deliveryId: uuid.describe('The same at every attempt, and equal to the header webhook-id'),
  isTest: flag.describe('Whether an admin tests the destination; then there are no problems'),
  text: text.describe('All of it in words, one problem in a line'),
  problems: z
    .array(
      z.strictObject({
        id: text.describe('Its id, the same as long as the problem lasts, and when it comes back'),
        kind: text.describe('What the problem is'),
        severity: z.enum(ALERT_SEVERITIES).describe('`error`: something fails; `warning`: something may fail soon'),
        count: count.describe('How often it is there, such as the number of dead letters'),
        text: text.describe('What is wrong, for people'),
        fix: text.describe('What to do next, for people'),
        href,
        since: iso.nullable().describe('When the problem began; null: not known'),
      }),
    )
    .describe(
      'What needs attention now: it is new, worse than when it was sent (an error after a warning, or ten times as often), or has lasted for `repeatSeconds`',
    ),
  ended: z
    .array(
      z.strictObject({
        id: text.describe('The id under which it was sent'),
        severity: z.enum(ALERT_SEVERITIES).describe('The severity that it had'),
        text: text.describe('What was wrong, as it was sent'),
        href,
      }),
    )
    .describe('What this destination was sent before, and has not been there for two minutes'),
  moreCount: count.describe('Further problems that began or ended, which the next alert names'),
});
