// The shape of the sections about the service itself: its API, how long it keeps what, and its limits.
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
  reloads,
  seconds,
  section,
  storedMs,
  timerMs,
  word,
} from './schema-scalars.ts';

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
}).register(reloads, { effect: 'used in the next round of the scheduler' });

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
    .register(reloads, {
      effect: 'in force at once: a removed key is rejected, and browsers that signed in with it are signed out',
    }),
  hosts: hosts.describe(
    'while the API listens on a loopback address, it answers requests for loopback names, `HOLDFAST_HOST`, these hosts and the host of `api.publicUrl` only (else 421)',
  ),
  publicUrl: optional(httpUrl).describe(
    'the address that clients use if a proxy is in front of the API. If the API listens on an address that is not loopback, the start warns that connections are not encrypted, unless this begins with `https`',
  ),
  environment: optional(label)
    .describe('the name of this environment in the dashboard, such as `production`; shown also before the sign-in')
    .register(reloads, { effect: 'shown by the dashboard' }),
});

/** Less than a day would delete rows that people still need. */
const kept = storedMs(DAY_MS);

export const eventsSchema = section({
  retention: storedMs(60_000).default(WEEK_MS).describe('how long live events are kept'),
}).register(reloads, { effect: 'used in the next round of the scheduler' });

export const retentionSchema = section({
  turns: kept.default(QUARTER_MS).describe('how long [ended turns](operations.md#retention) are kept'),
  events: optional(storedMs(60_000)).describe('another name for `events.retention`; takes precedence over it'),
  messages: optional(kept).describe('how long settled messages are kept; none: forever'),
  transcripts: optional(kept).describe('how long transcripts that a reset ended are kept; none: forever'),
  idempotencyKeys: optional(kept).describe('how long an `Idempotency-Key` is stored; none: forever'),
  deliveries: optional(kept).describe('how long settled deliveries are kept; none: forever'),
  deadLetters: optional(kept).describe('how long resolved dead letters are kept; none: forever'),
}).register(reloads, { effect: 'used in the next pass' });

const NEXT_REQUEST = { effect: 'used for the next request' };

export const limitsSchema = section({
  waitingPerSession: count(1, 1_000_000)
    .default(1000)
    .describe('maximum number of waiting messages in one session; above it 429')
    .register(reloads, NEXT_REQUEST),
  waitingTotal: count(1, 100_000_000)
    .default(100_000)
    .describe('maximum number of waiting messages in all sessions; above it 429')
    .register(reloads, NEXT_REQUEST),
  bodyBytes: count(1024, 104_857_600).default(1_048_576).describe('the largest request body; above it 413'),
  jsonDepth: count(4, 1000).default(64).describe('the deepest nesting of a request body'),
  waitSeconds: seconds(0).default(300).describe('the longest `Prefer: wait`').register(reloads, NEXT_REQUEST),
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
}).register(reloads, { effect: 'used for the next drain' });
