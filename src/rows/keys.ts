// API keys that were made while the service ran, by the SHA-256 of their text; the sign-ins with
// them; and the audit log.
import type { KeyRole } from '../core/key-role.ts';
import { holdfast, integer, iso, now, text, uuid } from './columns.ts';

export const apiKeys = holdfast.table('api_keys', {
  id: uuid().notNull(),
  name: text().notNull(),
  role: text().$type<KeyRole>().notNull(),
  sha256: text().notNull(),
  createdBy: text().notNull(),
  createdAt: iso().notNull().default(now),
  /** Null: it never ends. */
  expiresAt: iso(),
  /** Exact to a minute; null: it was never used. */
  lastUsedAt: iso(),
  /** Null: it is valid. */
  revokedAt: iso(),
  /**
   * As `Principal.owner`; null: the name of its caller, for a key of a version that knew no owners.
   */
  owner: text(),
  /**
   * The id of the key that it replaces, or the caller of a key of the configuration; null: none.
   */
  replaces: text(),
  /** As `ScopeSettings`; both null: it sees everything. */
  agents: text().array(),
  sessions: text().array(),
  /** Null: no limit. */
  requestsPerMinute: integer(),
  messagesInFlight: integer(),
});

/** The sessions of browsers, which their cookies name. */
export const webSessions = holdfast.table('web_sessions', {
  id: uuid().notNull(),
  secretSha256: text('secret_sha256').notNull(),
  keySha256: text('key_sha256').notNull(),
  createdAt: iso().notNull().default(now),
  expiresAt: iso().notNull(),
});

/** Codes for one sign-in each. */
export const signInCodes = holdfast.table('sign_in_codes', {
  sha256: text().notNull(),
  keySha256: text('key_sha256').notNull(),
  expiresAt: iso().notNull(),
});

export const audit = holdfast.table('audit', {
  id: uuid().notNull(),
  at: iso().notNull().default(now),
  principal: text().notNull(),
  role: text().$type<KeyRole>().notNull(),
  /** As `describeScope`. */
  sees: text().array(),
  /** The name of the operation. */
  action: text().notNull(),
  target: text().notNull(),
  reason: text(),
  requestId: text().notNull(),
  /** `ok`, or the code of the problem; null: it has not ended, or its process crashed. */
  outcome: text(),
});
