// API keys that are created and revoked while the service runs. A change applies in this process immediately, in all others within a second.
import { hash, randomBytes } from 'node:crypto';
import type { KeyRole } from '../core/access/key-role.ts';
import { newId } from '../ids.ts';
import type { KeyedRequest } from '../store/idempotency.ts';
import { createApiKey, noteKeyUse, revokeApiKey } from '../store/keys/api-keys.ts';
import type { Service } from './service.ts';

/** The prefix of keys that are created here. Logs and prompts hide texts that look like one. */
export const KEY_PREFIX = 'hf_';

/** The bytes of a key, a cookie or a code; as text four thirds as many characters. */
const SECRET_BYTES = 32;

/** A new secret, and the stored form of it. */
export function newSecret(): { secret: string; sha256: string } {
  const secret = randomBytes(SECRET_BYTES).toString('base64url');
  return { secret, sha256: sha256Of(secret) };
}

/** The SHA-256 of a secret in hexadecimal. */
export function sha256Of(secret: string): string {
  return hash('sha256', secret, 'hex');
}

/** Makes a key and returns its id and its text, which is not stored; `name_taken`: another valid key has the name. Rejects as `createApiKey` does. */
export async function makeApiKey(
  { database }: Service,
  settings: { name: string; role: KeyRole; createdBy: string; expiresAt: Date | null },
  idempotency: KeyedRequest | null,
): Promise<{ id: string; key: string } | 'name_taken'> {
  const id = newId<string>();
  const key = KEY_PREFIX + newSecret().secret;
  const isMade = await createApiKey(database, { ...settings, id, sha256: sha256Of(key) }, idempotency);
  return isMade ? { id, key } : 'name_taken';
}

/** Revokes a key and ends its sign-ins; false: there is none with this id. */
export function dropApiKey({ database }: Service, id: string): Promise<boolean> {
  return revokeApiKey(database, id);
}

/** Notes that a key is in use. That a note fails is reported and changes nothing. */
export function noteUse({ database }: Service, id: string): void {
  noteKeyUse(database, id).catch((error: unknown) =>
    database.outages.report(error, 'The last use of an API key could not be stored'),
  );
}
