// The roles of API keys: a viewer reads, an operator changes running work, an admin also manages keys and sees the configuration.

/** Each may do what those before it may do. */
export const KEY_ROLES = ['viewer', 'operator', 'admin'] as const;

export type KeyRole = (typeof KEY_ROLES)[number];

/** True when a key with the role may do what `needed` may do. */
export function mayAct(role: KeyRole, needed: KeyRole): boolean {
  return KEY_ROLES.indexOf(role) >= KEY_ROLES.indexOf(needed);
}
