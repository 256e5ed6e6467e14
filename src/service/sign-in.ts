// How browsers sign in: with an API key, or with a code that represents a key and opens one session. A cookie is `<id>.<secret>`; of the secret
// only its SHA-256 is stored.
import { newId } from '../ids.ts';
import type { KeyedRequest } from '../store/idempotency.ts';
import { createSignInCode, endWebSessions, openWebSession, takeSignInCode } from '../store/keys/web-sessions.ts';
import { newSecret, sha256Of } from './manage-keys.ts';
import type { Service } from './service.ts';

/** How long a browser stays signed in, and how long a code is valid. */
export const WEB_SESSION_MS = 12 * 3_600_000;
export const SIGN_IN_CODE_MS = 60_000;

/** Signs a browser in with the key of this SHA-256; resolves with the text of its cookie. */
export async function signIn({ database }: Service, keySha256: string): Promise<string> {
  const id = newId<string>();
  const { secret, sha256 } = newSecret();
  await openWebSession(database, { id, secretSha256: sha256, lastsMs: WEB_SESSION_MS }, keySha256);
  return `${id}.${secret}`;
}

/** Uses a code up; returns the SHA-256 of its key, or null. */
export function useCode({ database }: Service, code: string): Promise<string | null> {
  return takeSignInCode(database, sha256Of(code));
}

/** Makes a code for one sign-in with a key; the code is not stored. Rejects as `createSignInCode` does. */
export async function makeCode(
  { database }: Service,
  keySha256: string,
  idempotency: KeyedRequest | null,
): Promise<{ code: string; expiresAt: string }> {
  const { secret, sha256 } = newSecret();
  const expiresAt = await createSignInCode(database, { sha256, keySha256, lastsMs: SIGN_IN_CODE_MS }, idempotency);
  return { code: secret, expiresAt: expiresAt.toISOString() };
}

/** Ends one session, or every session of a key; resolves with how many have ended. */
export function signOut({ database }: Service, of: { id: string } | { keySha256: string }): Promise<number> {
  return endWebSessions(database, of);
}
