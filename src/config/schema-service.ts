// The shape of the sections about the service itself: its API, how long it keeps what, its limits,
// and what model calls may cost.
import { z } from 'zod';
import { KEY_ROLES } from '../core/key-role.ts';
import {
  choice,
  count,
  flag,
  hosts,
  httpUrl,
  key,
  label,
  LIST_MAX,
  optional,
  path,
  seconds,
  section,
  storedMs,
  timerMs,
  word,
  distinct,
  timeZone,
  webOrigin,
} from './schema-scalars.ts';
import { BUDGET_ACTIONS, BUDGET_DEFAULTS, BUDGET_PERIODS, isScope } from '../features/budgets/rules/budget.ts';

const DAY_MS = 86_400_000;
const WEEK_MS = 7 * DAY_MS;
const QUARTER_MS = 90 * DAY_MS;

/** The most requests and bytes that the provider takes in one batch. */
const REQUESTS_MAX = 100_000;
const BYTES_MAX = 256 * 1024 * 1024;

export const batchesSchema = section({
  maxFailurePercent: count(0, 100)
    .default(50)
    .describe('the percentage of failed items above which a [batch](batches.md) pauses, if it names none'),
  windowMs: timerMs().default(30_000).describe('how long the oldest request waits for others before a submission'),
  requestsMax: count(1, REQUESTS_MAX).default(10_000).describe('maximum number of requests in one submission'),
  bytesMax: count(1024, BYTES_MAX).default(209_715_200).describe('maximum number of bytes in one submission'),
  pollMs: section({
    min: timerMs(1).default(10_000).describe('shortest time between two polls of a batch; grows by half each time'),
    max: timerMs(1).default(300_000).describe('the longest'),
  }),
  settleMs: timerMs(1)
    .default(120_000)
    .describe(
      "how long a submission with an unknown outcome must be absent from the provider's list before it is repeated",
    ),
  unprovenMs: storedMs(1)
    .default(14_400_000)
    .describe('how long a batch found in that list may remain unproven before it is abandoned'),
  isExclusive: flag(false).describe(
    '`true`: no other program creates batches with this key, so a batch in the list needs no proof',
  ),
  deadlineSeconds: seconds()
    .default(93_600)
    .describe(
      'longest time for a message with `via: "provider-batch"`; [before that](batches.md#submit), its calls become live calls',
    ),
  retention: storedMs(60_000).default(QUARTER_MS).describe('how long ended batches and bulk actions are kept'),
}).meta({ reload: 'used in the next round of the scheduler' });

const NEXT_REQUEST = { reload: 'used for the next request' };

/** A key of the API: an object, or only the key, which is then named by its place. */
const apiKey = z.union([key, z.strictObject({ name: word, key, role: optional(z.enum(KEY_ROLES)) })]);

export const apiSchema = section({
  keys: z
    .array(apiKey)
    .max(LIST_MAX)
    .transform((keys) =>
      keys.map((each, at) => (typeof each === 'string' ? { name: `key-${at + 1}`, key: each } : each)),
    )
    .default([])
    .describe(
      'further API keys of 16 to 512 characters: the key, or `{name, key, role}`; `role` is `viewer`, `operator` (the default) or `admin`, see [api.md](api.md#authentication)',
    )
    .meta({
      reload: 'in force at once: a removed key is rejected, and browsers that signed in with it are signed out',
    }),
  hosts: hosts.describe(
    'while the API listens on a loopback address, it answers requests for loopback names, `HOLDFAST_HOST`, these hosts and the host of `api.publicUrl` only (else 421)',
  ),
  origins: z
    .array(webOrigin)
    .max(LIST_MAX)
    .default([])
    .describe(
      'the origins of web pages, such as `https://shop.example`, whose scripts can call the API, see [api.md](api.md#web-pages-of-other-origins). Each is listed by itself: `*` is refused',
    )
    .meta({ reload: 'in force at once' }),
  tokens: section({
    requestsPerMinute: count(1, 1_000_000)
      .default(60)
      .describe(
        'how many requests each [token for browsers](api.md#tokens-for-browsers) may send per minute; above it 429',
      ),
    requestsPerMinuteOfAddress: count(1, 1_000_000)
      .default(600)
      .describe(
        'the same for all tokens that are sent from one address. A loopback address, where a proxy can be, is not counted',
      ),
  }).meta(NEXT_REQUEST),
  publicUrl: optional(httpUrl).describe(
    'the address that clients use if a proxy is in front of the API. If the API listens on an address that is not loopback, the start warns that connections are not encrypted, unless this begins with `https`',
  ),
  environment: optional(label)
    .describe('the name of this environment in the dashboard, such as `production`; shown also before the sign-in')
    .meta({ reload: 'shown by the dashboard' }),
});

/** Less than a day would delete rows that people still need. */
const kept = storedMs(DAY_MS);

export const eventsSchema = section({
  retention: storedMs(60_000).default(WEEK_MS).describe('how long live events are kept'),
}).meta({ reload: 'used in the next round of the scheduler' });

export const retentionSchema = section({
  turns: kept.default(QUARTER_MS).describe('how long [ended turns](operations.md#retention) are kept'),
  events: optional(storedMs(60_000)).describe('another name for `events.retention`; takes precedence over it'),
  messages: optional(kept).describe('how long settled messages are kept; none: forever'),
  transcripts: optional(kept).describe('how long transcripts that a reset ended are kept; none: forever'),
  idempotencyKeys: optional(kept).describe('how long an `Idempotency-Key` is stored; none: forever'),
  deliveries: optional(kept).describe('how long settled deliveries are kept; none: forever'),
  deadLetters: optional(kept).describe('how long resolved dead letters are kept; none: forever'),
}).meta({ reload: 'used in the next pass' });

export const limitsSchema = section({
  waitingPerSession: count(1, 1_000_000)
    .default(1000)
    .describe('maximum number of waiting messages in one session; above it 429')
    .meta(NEXT_REQUEST),
  waitingTotal: count(1, 100_000_000)
    .default(100_000)
    .describe('maximum number of waiting messages in all sessions; above it 429')
    .meta(NEXT_REQUEST),
  bodyBytes: count(1024, 104_857_600).default(1_048_576).describe('the largest request body; above it 413'),
  jsonDepth: count(4, 1000).default(64).describe('the deepest nesting of a request body'),
  waitSeconds: seconds(0).default(300).describe('the longest `Prefer: wait`').meta(NEXT_REQUEST),
  waitingRequests: count(0, 100_000)
    .default(1000)
    .describe(
      'maximum number of requests that wait for a reply at the same time; above it, they are answered with 202',
    ),
  eventStreams: count(0, 100_000).default(1000).describe('maximum number of open event streams; above it 503'),
  pageItems: count(1, 10_000).default(200).describe('the largest `limit` of a list'),
  batchItems: count(1, 10_000_000).default(100_000).describe('maximum number of items in one batch; above it 413'),
  batchBytes: count(1024, 10_737_418_240)
    .default(268_435_456)
    .describe('maximum size of a batch, uncompressed; above it 413'),
  batchLineBytes: count(64, 104_857_600).default(1_048_576).describe('maximum size of one line; above it 413'),
  batchGzipRatio: count(1, 10_000).default(100).describe('how far a compressed upload may expand; above it 413'),
});

export const telemetrySchema = section({
  content: flag(false).describe('[traces](telemetry.md) also contain the instructions, inputs and reply of each turn'),
  trustParent: flag(false).describe('a message joins the trace that the `traceparent` header of its request names'),
});

export const diagnosticsSchema = section({
  payloadLog: section({
    enabled: flag(false).describe(
      'writes every model request and answer as a JSON line, without secrets and images. The lines contain the text of conversations',
    ),
    path: optional(path).describe('the file; none: `payloads.jsonl` in the data directory'),
  }),
  cacheTrace: section({
    enabled: flag(false).describe(
      "writes for each call how much was read from the provider's cache, and where its prefix differed from the previous call",
    ),
    path: optional(path).describe('the file; none: `cache-trace.jsonl` in the data directory'),
  }),
});

export const openaiSchema = section({
  enabled: flag(true).describe('whether the [endpoints for OpenAI clients](openai-clients.md) exist'),
  callerSeconds: count(1, 86_400)
    .default(600)
    .describe("how long a turn waits for the results of the client's tools; then it fails with `caller_timeout`"),
  fileDays: count(1, 3_650).default(30).describe('how many days uploaded files are kept'),
  user: choice(['chat', 'session'], 'chat').describe(
    'the [session](openai-clients.md#sessions) of a request with `user`. `chat`: the one whose history it continues; `session`: one for all requests of the user',
  ),
});

export const shutdownSchema = section({
  graceMs: timerMs().default(30_000).describe('longest time for a drain'),
}).meta({ reload: 'used for the next drain' });

// `budgets`: how much model calls may cost.

const DOLLARS_MAX = 1_000_000_000;
const MICROS = 1_000_000;

export const limitUsd = z.number().refine(isLimit, `dollars from 0 to ${DOLLARS_MAX}, with at most six decimals`);

function isLimit(value: number): boolean {
  return value >= 0 && value <= DOLLARS_MAX && Math.abs(value * MICROS - Math.round(value * MICROS)) < 1e-3;
}

/**
 * Zones that PostgreSQL knows under the same name and with the same offsets as Node, which needs
 * the name to be one of IANA. Of names with three letters, PostgreSQL reads most as abbreviations
 * with a fixed offset (`CET`, `IST`), and does not know others (`CAT`).
 */
const STORED_ZONE = /^(?:utc|gmt|uct|est|mst|hst|prc|roc|rok|(?![a-z]{3}$)[a-z].*)$/i;

/** The fields of a budget, as the configuration and requests write them. */
export const budgetFields = {
  scope: z
    .string()
    .refine(isScope, '"all", "agent:<id>", "session:<key pattern>" or "key:<name>"')
    .describe('What it limits: `all`, `agent:<id>`, `session:<key pattern>`, or `key:<name>`'),
  per: z.enum(BUDGET_PERIODS).describe('The length of a window'),
  // PostgreSQL reads the sign of an offset the other way round.
  zone: timeZone
    .regex(STORED_ZONE, 'the name of a time zone such as "Europe/Berlin", not an offset or an abbreviation')
    .default(BUDGET_DEFAULTS.zone)
    .describe('The time zone in which hours, days and months begin'),
  limitUsd: limitUsd.describe('The limit of a window in US dollars'),
  warnPercent: count(1, 100)
    .describe('The percentage of the limit at which `budget.warned` is sent')
    .default(BUDGET_DEFAULTS.warnPercent),
  action: z
    .enum(BUDGET_ACTIONS)
    .describe('What happens to a turn whose next call exceeds it: it is parked, or it fails')
    .default(BUDGET_DEFAULTS.action),
  strict: z.boolean().describe('True: each call reserves the most that it can cost').default(BUDGET_DEFAULTS.strict),
};

const BUDGETS_MAX = 100;

export const budgetsSchema = distinct(z.strictObject(budgetFields), {
  key: 'scope',
  of: ({ scope, per, zone }) => `${scope} ${per} ${zone}`,
  what: 'a scope, a period and a zone that no budget before has together',
}).max(BUDGETS_MAX);
