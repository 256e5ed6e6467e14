// The names and the roles of API keys: a viewer reads, an operator changes running work, an admin
// also manages keys and sees the configuration.

/** Each may do what those before it may do. */
export const KEY_ROLES = ['viewer', 'operator', 'admin'] as const;

export type KeyRole = (typeof KEY_ROLES)[number];

/** True when a key with the role may do what `needed` may do. */
export function mayAct(role: KeyRole, needed: KeyRole): boolean {
  return KEY_ROLES.indexOf(role) >= KEY_ROLES.indexOf(needed);
}

/** The name of the caller with the first key, which has no name of its own. */
export const ADMIN = 'admin';

const KEY_PREFIX = 'key:';

/** The name of the caller with an API key of this name. */
export function callerOfKey(name: string): string {
  return KEY_PREFIX + name;
}

/** True for the name of a caller other than `caller`, and not for that of a person. */
export function isOtherCaller(name: string, caller: string): boolean {
  return name !== caller && (name === ADMIN || name.startsWith(KEY_PREFIX));
}

/** The name of an API key, from the name of the caller; null: the caller has no key with a name. */
export function parseKeyName(caller: string): string | null {
  return caller.startsWith(KEY_PREFIX) ? caller.slice(KEY_PREFIX.length) : null;
}
