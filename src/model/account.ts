// Whose limits the calls of a key count against: a hash of the address and the key, so a key that
// is changed is another account.
import { hash } from 'node:crypto';
import { DEFAULT_PROVIDER } from '../core/models.ts';

/** Where Anthropic's models are asked when no address is configured. */
export const ANTHROPIC_URL = 'https://api.anthropic.com';

interface KeyPlace {
  provider: string;
  api: string;
  /** Null: the default address. */
  baseUrl: string | null;
  key: string;
}

export function accountOfKey({ provider, api, baseUrl, key }: KeyPlace): string {
  const place = api === DEFAULT_PROVIDER ? (baseUrl ?? ANTHROPIC_URL) : `${provider} ${baseUrl ?? ''}`;
  return hash('sha256', `${place} ${key}`, 'hex').slice(0, 16);
}
