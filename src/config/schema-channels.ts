// The shape of `channels`: where replies go (`webhook`), and the chat platforms that messages come from, each under its own name.
import { z } from 'zod';
import { count, host, httpUrl, LIST_MAX, storedMs, timerMs, word } from './schema-scalars.ts';

const PLATFORMS_MAX = 100;

const WEBHOOK_SECRETS_MAX = 5;

const webhookSecret = z
  .string()
  .max(512)
  .regex(/^whsec_[A-Za-z0-9+/]{16,}={0,2}$/, '"whsec_" and at least 12 bytes in base64');

const webhook = z.strictObject({
  url: httpUrl.optional(),
  secret: z.union([webhookSecret, z.array(webhookSecret).min(1).max(WEBHOOK_SECRETS_MAX)]).optional(),
  allowPrivate: z.array(host).max(LIST_MAX).optional(),
  timeoutMs: timerMs(1).optional(),
  maxAttempts: count(1, 1000).optional(),
  expiresAfter: storedMs(1000).optional(),
});

const HINTS_MAX = 20;
const HINT_CHARS_MAX = 500;

const lineOf = (charsMax: number) =>
  z
    .string()
    .min(1)
    .max(charsMax)
    .regex(/^[^\p{Cc}\p{Zl}\p{Zp}]+$/u, 'a text of one line');

const line = lineOf(200);

const account = z.strictObject({ name: line.optional(), details: z.array(line).max(20).optional() });

const historyLimit = count(0, 1_000_000).optional();

const platform = z.strictObject({
  enabled: z.boolean().optional(),
  label: line.optional(),
  phone: word.optional(),
  capabilities: z.array(word).max(50).optional(),
  messageHints: z.array(lineOf(HINT_CHARS_MAX)).max(HINTS_MAX).optional(),
  reactions: z.enum(['off', 'minimal', 'extensive']).optional(),
  groupActivation: z.enum(['mention', 'always']).optional(),
  accounts: z.record(word, account).optional(),
  historyLimit,
  dmHistoryLimit: historyLimit,
  dms: z
    .record(word, z.strictObject({ historyLimit }))
    .refine((dms) => Object.keys(dms).length <= LIST_MAX, `at most ${LIST_MAX} people`)
    .optional(),
});

/** `channels` of the file. Output: `webhook`, and all others as `platforms`. */
export const channelsSchema = z
  .object({ webhook: webhook.optional() })
  .catchall(platform)
  .refine((channels) => Object.keys(channels).length <= PLATFORMS_MAX, `at most ${PLATFORMS_MAX} channels`)
  // The schema of `webhook` is its own, so what is left has that of a platform.
  .transform(({ webhook: own, ...platforms }) => ({
    ...(own === undefined ? {} : { webhook: own }),
    platforms: platforms as Record<string, z.output<typeof platform>>,
  }));
