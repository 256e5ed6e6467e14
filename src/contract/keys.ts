// API keys, sign-ins and the audit log on the wire.
import { z } from 'zod';
import { timeText } from '../config/schema-scalars.ts';
import { KEY_ROLES } from '../core/access/key-role.ts';

const role = z.enum(KEY_ROLES);
const time = z.iso.datetime();
const secret = z.string().min(1).max(512);

/** The body of `POST /v1/auth/sessions`: one of the two. */
export const signInRequest = z
  .strictObject({ key: secret.exactOptional(), code: secret.exactOptional() })
  .refine(({ key, code }) => (key === undefined) !== (code === undefined), 'expected key or code, and not both');

export const signIn = z.strictObject({
  principal: z.string(),
  role,
  /** Null: a key, whose requests need no sign-in. */
  expiresAt: time.nullable(),
});

export const signInCode = z.strictObject({
  /** Null: the answer to a retry; codes are not stored. */
  code: z.string().nullable(),
  expiresAt: time,
});

/** The body of `POST /v1/keys`. */
export const keyRequest = z.strictObject({
  name: z
    .string()
    .regex(
      /^[a-zA-Z0-9][a-zA-Z0-9._-]{0,63}$/,
      '1 to 64 characters of letters, digits, . _ and -, the first a letter or a digit',
    ),
  role,
  expiresAt: timeText.exactOptional(),
});

export const apiKey = z.strictObject({
  id: z.uuid(),
  name: z.string(),
  role,
  createdBy: z.string(),
  createdAt: time,
  expiresAt: time.nullable(),
  lastUsedAt: time.nullable(),
  revokedAt: time.nullable(),
});
export type ApiKeyView = z.output<typeof apiKey>;

export const newKey = apiKey.extend({
  /** Null: the answer to a retry; keys are not stored. */
  key: z.string().nullable(),
});

export const auditEntry = z.strictObject({
  id: z.uuid(),
  at: time,
  principal: z.string(),
  role,
  action: z.string(),
  target: z.string(),
  reason: z.string().nullable(),
  requestId: z.string(),
  outcome: z.string().nullable(),
});
export type AuditView = z.output<typeof auditEntry>;
