// Authentication. Keys are random and long, so one SHA-256 is enough; a key is compared with all known keys, each in constant
// time, so that the time of an answer says nothing about any of them (G32).
import { hash, timingSafeEqual } from 'node:crypto';

/** Whose key it was: `admin`, or the name that the configuration gives it. Idempotency keys are kept apart by it. */
export interface Principal {
  name: string;
}

export interface KnownApiKey {
  name: string;
  key: string;
}

const BEARER = /^bearer +([^\s]+) *$/i;

/** Makes the function that turns an Authorization header into a principal, or null. */
export function createAuthenticate(keys: KnownApiKey[]): (authorization: string | undefined) => Principal | null {
  const known = keys.map(({ name, key }) => ({ principal: { name }, digest: hash('sha256', key, 'buffer') }));
  return (authorization) => {
    const token = authorization === undefined ? undefined : BEARER.exec(authorization)?.[1];
    if (token === undefined) return null;
    const digest = hash('sha256', token, 'buffer');
    let found: Principal | null = null;
    for (const one of known) {
      if (timingSafeEqual(one.digest, digest)) found = one.principal;
    }
    return found;
  };
}
