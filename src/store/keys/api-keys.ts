// The API keys that were made while the service ran, by the SHA-256 of their text.
import type { KeyRole } from '../../core/access/key-role.ts';
import type { Database } from '../database.ts';
import { keyedPart, keyValues, type KeyedRequest } from '../idempotency.ts';
import { sendQuery } from '../send-query.ts';
import { literal } from '../statement.ts';

/** A key to be stored. */
export interface NewApiKey {
  id: string;
  name: string;
  role: KeyRole;
  sha256: string;
  createdBy: string;
  /** Null: it never ends. */
  expiresAt: Date | null;
}

const NAME_INDEX = 'api_keys_live';

export const CREATE_API_KEY = literal({
  name: 'create-api-key',
  purpose:
    'Store a key. A key with this name that has expired is revoked, so that the name is free again. Safe to send again.',
  locking: 'The row of the expired key.',
  text: `with freed as (
  update holdfast.api_keys set revoked_at = expires_at where name = $2 and revoked_at is null and expires_at <= clock_timestamp()
  returning id
),
made as (
  insert into holdfast.api_keys (id, name, role, sha256, created_by, expires_at)
  select $1::uuid, $2::text, $3::text, $4::text, $5::text, $6::timestamptz from (select count(*) from freed) as first
  on conflict (id) do nothing
  returning id
),
${keyedPart(7, `select json_build_object('id', id) from made`)}
select id from made`,
});

/** Stores a key; false: another valid key has its name. Rejects with a violated primary key when another request has stored the Idempotency-Key. */
export async function createApiKey(
  database: Database,
  key: NewApiKey,
  idempotency: KeyedRequest | null,
): Promise<boolean> {
  const { id, name, role, sha256, createdBy, expiresAt } = key;
  const values = [id, name, role, sha256, createdBy, expiresAt, ...keyValues(idempotency)];
  try {
    await sendQuery(database.views, CREATE_API_KEY.prepared(values));
    return true;
  } catch (error) {
    if ((error as { constraint?: unknown }).constraint === NAME_INDEX) return false;
    throw error;
  }
}

export const REVOKE_API_KEY = literal({
  name: 'revoke-api-key',
  purpose: 'Revoke a key, and end the sign-ins that were made with it. No row: there is no such key.',
  locking: 'The row of the key.',
  text: `with revoked as (
  update holdfast.api_keys set revoked_at = coalesce(revoked_at, clock_timestamp()) where id = $1 returning sha256
),
signed_out as (
  delete from holdfast.web_sessions where key_sha256 in (select sha256 from revoked)
),
dropped_codes as (
  delete from holdfast.sign_in_codes where key_sha256 in (select sha256 from revoked)
)
select 1 from revoked`,
});

/** Revokes a key; false: it does not exist. Safe to send again. */
export async function revokeApiKey(database: Database, id: string): Promise<boolean> {
  const rows = await sendQuery(database.views, REVOKE_API_KEY.prepared([id]));
  return rows.length > 0;
}

export const NOTE_KEY_USE = literal({
  name: 'note-key-use',
  purpose: 'Note that a key is in use, at most once per minute.',
  locking: 'The row of the key.',
  text: `update holdfast.api_keys set last_used_at = clock_timestamp()
where id = $1 and (last_used_at is null or last_used_at < clock_timestamp() - interval '1 minute')`,
});

/** Notes that a key is in use. */
export async function noteKeyUse(database: Database, id: string): Promise<void> {
  await database.views.query(NOTE_KEY_USE.prepared([id]));
}
