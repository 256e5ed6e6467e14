// API keys, sign-ins and the audit log on the wire.
import { z } from 'zod';
import { timeText } from '../config/schema-scalars.ts';
import { KEY_ROLES } from '../core/key-role.ts';
import { faultOfPrefix } from '../core/scope.ts';
import { text, uuid, iso, createdAt } from './fields.ts';

const role = z
  .enum(KEY_ROLES)
  .describe('`viewer` can read, `operator` can also change what runs, `admin` can also manage keys');
const secret = z.string().min(1).max(512);

/** The body of `POST /v1/auth/sessions`: one of the two. */
export const signInRequest = z
  .strictObject({
    key: secret.exactOptional().describe('An API key; alternatively, send `code`'),
    code: secret.exactOptional().describe('A code of `POST /v1/auth/codes`; it can be used once'),
  })
  .refine(({ key, code }) => (key === undefined) !== (code === undefined), 'expected key or code, and not both');

const sees = z
  .array(text)
  .nullable()
  .describe('What the keys of the sessions begin with that the caller sees, each with a `*` at its end; null: all');

const listsComplete = z
  .boolean()
  .describe('False: lists and counts of the key may still lack what was stored before the key was created');

export const signIn = z.strictObject({
  principal: text.describe('Who signed in: `admin`, or `key:<name>`'),
  role,
  sees,
  listsComplete,
  expiresAt: iso.nullable().describe('When the sign-in of the browser expires; null: the request was sent with a key'),
});

export const signInCode = z.strictObject({
  code: text.nullable().describe('The code, valid once; null: the request was a retry, and codes are not stored'),
  expiresAt: iso.describe('When the code expires'),
});

/** What a key sees. */
const agents = z
  .array(z.string().min(1).max(64))
  .min(1)
  .max(100)
  .describe('The ids of agents: the key sees only sessions of these agents, and what those sessions started');
const sessions = z
  .array(
    z.string().superRefine((text, check) => {
      const fault = faultOfPrefix(text);
      if (fault !== null) check.addIssue({ code: 'custom', message: fault });
    }),
  )
  .min(1)
  .max(100)
  .describe(
    'Beginnings of session keys, each with one `*` at its end: the key sees only these sessions, and what they started',
  );
const LIMIT_MAX = 1_000_000;
const requestsPerMinute = z
  .int()
  .min(1)
  .max(LIMIT_MAX)
  .describe('How many requests it may send per minute to each process of the API, which counts them in its memory');
const messagesInFlight = z
  .int()
  .min(1)
  .max(LIMIT_MAX)
  .describe('How many of its messages, with those of its tokens, may wait or be answered at the same time');
const NO_LIMIT = 'as many as it likes';

const ONE_PART = 'absent: all. With `agents` and `sessions` the key sees what both have';

/** The body of `POST /v1/keys`. */
export const keyRequest = z.strictObject({
  name: z
    .string()
    .regex(
      /^[a-zA-Z0-9][a-zA-Z0-9._-]{0,63}$/,
      '1 to 64 characters of letters, digits, . _ and -, the first a letter or a digit',
    )
    .describe('The name of its owner in budgets (`key:<name>`) and in the audit log; unique among valid keys'),
  role,
  expiresAt: timeText.exactOptional().describe('When the key expires; absent: never'),
  limits: z
    .strictObject({
      requestsPerMinute: requestsPerMinute
        .exactOptional()
        .describe(`${requestsPerMinute.description}; absent: ${NO_LIMIT}`),
      messagesInFlight: messagesInFlight
        .exactOptional()
        .describe(`${messagesInFlight.description}; absent: ${NO_LIMIT}`),
    })
    .exactOptional()
    .describe('What the key may ask; above it, requests are answered 429 `too_many_requests`; absent: no limits'),
  agents: agents.exactOptional().describe(`${agents.description}; ${ONE_PART}`),
  sessions: sessions.exactOptional().describe(`${sessions.description}; ${ONE_PART}`),
  replaces: text
    .min(1)
    .max(200)
    .exactOptional()
    .describe(
      'The key that it replaces, which may be valid, revoked or expired: its id, or its name (`admin`: the first key). A name means a key of the configuration, or else the newest created key. The new key continues its conversations and gets its stored answers; absent: none',
    ),
});

export const apiKey = z.strictObject({
  id: uuid.describe('The id of the key'),
  name: text.describe('The name of its owner in budgets (`key:<name>`) and in the audit log; unique among valid keys'),
  role,
  limits: z
    .strictObject({
      requestsPerMinute: requestsPerMinute.nullable().describe(`${requestsPerMinute.description}; null: ${NO_LIMIT}`),
      messagesInFlight: messagesInFlight.nullable().describe(`${messagesInFlight.description}; null: ${NO_LIMIT}`),
    })
    .describe('What the key may ask'),
  createdBy: text.describe('Who created it: `admin`, or `key:<name>`'),
  createdAt,
  expiresAt: iso.nullable().describe('When the key expires; null: never'),
  lastUsedAt: iso.nullable().describe('When it was last used, exact to a minute; null: never'),
  revokedAt: iso.nullable().describe('When it was revoked; null: it was not revoked'),
  replaces: text
    .nullable()
    .describe(
      'The id of the key that it replaces, or the name of a key of the configuration (`admin`, or `key:<name>`); null: none',
    ),
  agents: agents.nullable().describe(`${agents.description}; null: all agents`),
  sessions: sessions.nullable().describe(`${sessions.description}; null: all sessions`),
  listsComplete,
});
export type ApiKeyView = z.output<typeof apiKey>;

export const newKey = apiKey.extend({
  key: text.nullable().describe('The key, shown only once; null: the request was a retry, and keys are not stored'),
});

export const auditEntry = z.strictObject({
  id: uuid.describe('The id of the entry'),
  at: iso.describe('When the request began'),
  principal: text.describe('Who sent it: `admin`, or `key:<name>`'),
  role,
  sees,
  action: text.describe('The name of the operation in this document'),
  target: text.describe('The path of the request, with the id of the object that it created'),
  reason: text.nullable().describe('The reason in the request; null: none'),
  requestId: text.describe('The id of the request, as in the header x-request-id'),
  outcome: text.nullable().describe('`ok`, or the code of the problem; null: it has not ended, or its process died'),
});
export type AuditView = z.output<typeof auditEntry>;
