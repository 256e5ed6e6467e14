// API keys that are created and revoked while the service runs, and browsers that sign in with a
// key, or with a code that represents a key and opens one session. A change applies in this process
// immediately, in all others within a second. A cookie is `<id>.<secret>`; of a secret only its
// SHA-256 is stored.
import { randomBytes } from 'node:crypto';
import { ADMIN, callerOfKey, type KeyRole } from '../../core/key-role.ts';
import { hashSecret } from '../../api/key-ring.ts';
import { rootsOf } from '../../core/scope.ts';
import { newId } from '../../ids.ts';
import type { KeyedRequest } from '../../database/idempotency.ts';
import {
  createApiKey,
  createSignInCode,
  findApiKey,
  noteKeyUse,
  openWebSession,
  takeSignInCode,
} from './store/keys.ts';
import { labelOlderRows, UNLABELLED } from './rounds.ts';
import type { Service } from '../../kernel/use-cases/service.ts';

export { revokeApiKey } from './store/keys.ts';
export { endWebSessions } from './store/keys.ts';

/** The prefix of keys that are created here. Logs and prompts hide texts that look like one. */
export const KEY_PREFIX = 'hf_';

/** How long a browser stays signed in, and how long a code is valid. */
export const WEB_SESSION_MS = 12 * 3_600_000;
export const SIGN_IN_CODE_MS = 60_000;

/** The bytes of a key, a cookie or a code; as text four thirds as many characters. */
const SECRET_BYTES = 32;

/** A new secret, and the stored form of it. */
function newSecret(): { secret: string; sha256: string } {
  const secret = randomBytes(SECRET_BYTES).toString('base64url');
  return { secret, sha256: hashSecret(secret) };
}

/**
 * Makes a key and returns its id and its text, which is not stored. `replaces` is the id or the
 * name of the key whose owner it continues; null: it has an owner of its own. `name_taken`: another
 * valid key has the name; `unknown`: there is no key to replace; `replaced`: another key has
 * replaced it. Rejects as `createApiKey` does.
 */
export async function makeApiKey(
  service: Service,
  {
    replaces,
    ...settings
  }: {
    name: string;
    role: KeyRole;
    agents: string[] | null;
    sessions: string[] | null;
    requestsPerMinute?: number;
    messagesInFlight?: number;
    createdBy: string;
    expiresAt: string | null;
    replaces: string | null;
  },
  idempotency: KeyedRequest | null,
): Promise<{ id: string; key: string } | 'name_taken' | 'unknown' | 'replaced'> {
  const id = newId<string>();
  const key = KEY_PREFIX + newSecret().secret;
  const line = replaces === null ? { owner: `id:${id}`, replaces } : await findLine(service, replaces);
  if (line === null) return 'unknown';
  const row = { ...settings, ...line, id, sha256: hashSecret(key) };
  const result = await createApiKey(service.database, row, idempotency);
  if (result === 'created' && rootsOf(settings) !== null) await labelNow(service);
  return result === 'created' ? { id, key } : result;
}

/** How long the answer to a new key waits for older rows; rounds do the rest. */
const LABEL_MS_MAX = 3_000;

/** So that the lists of the key have everything at once, where that is not much. */
async function labelNow({ database }: Service): Promise<void> {
  await labelOlderRows(database, AbortSignal.timeout(LABEL_MS_MAX)).catch((error: unknown) =>
    database.outages.report(error, UNLABELLED),
  );
}

/**
 * The owner that a successor of this key continues, and the place that it takes; null: there is no
 * such key.
 */
async function findLine(
  { config, database }: Service,
  named: string,
): Promise<{ owner: string; replaces: string } | null> {
  const isFixed = config.api.keys.some(({ name }) => name === named);
  if (named === ADMIN || isFixed) {
    const caller = isFixed ? callerOfKey(named) : ADMIN;
    return { owner: caller, replaces: caller };
  }
  const key = await findApiKey(database, named);
  return key === null ? null : { owner: key.owner ?? callerOfKey(key.name), replaces: key.id };
}

/** Notes that a key is in use. That a note fails is reported and changes nothing. */
export function noteUse({ database }: Service, id: string): void {
  noteKeyUse(database, id).catch((error: unknown) =>
    database.outages.report(error, 'The last use of an API key could not be stored'),
  );
}

/** Signs a browser in with the key of this SHA-256; resolves with the text of its cookie. */
export async function signIn({ database }: Service, keySha256: string): Promise<string> {
  const id = newId<string>();
  const { secret, sha256 } = newSecret();
  await openWebSession(database, { id, secretSha256: sha256, keySha256, lastsMs: WEB_SESSION_MS });
  return `${id}.${secret}`;
}

/** Uses a code up; returns the SHA-256 of its key, or null. */
export function useCode({ database }: Service, code: string): Promise<string | null> {
  return takeSignInCode(database, hashSecret(code));
}

/**
 * Makes a code for one sign-in with a key; the code is not stored. Rejects as `createSignInCode`
 * does.
 */
export async function makeCode(
  { database }: Service,
  keySha256: string,
  idempotency: KeyedRequest | null,
): Promise<{ code: string; expiresAt: string }> {
  const { secret, sha256 } = newSecret();
  const expiresAt = await createSignInCode(database, { sha256, keySha256, lastsMs: SIGN_IN_CODE_MS }, idempotency);
  return { code: secret, expiresAt };
}
