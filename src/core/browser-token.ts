// Tokens for browsers: what one allows. See src/features/tokens.

/** What tokens begin with. Logs hide texts that look like one. */
export const TOKEN_PREFIX = 'hft_';

export const TOKEN_RIGHTS = ['send', 'read'] as const;

export type TokenRight = (typeof TOKEN_RIGHTS)[number];

/** What a token allows, as it was signed. */
export interface TokenClaims {
  /** Names it in limits; it is no secret. */
  id: string;
  /** The id of its key, and a mark of the key's text: another text under the id is another key. */
  key: string;
  generation: string;
  /** A session key, or the beginning of session keys with a `*` at the end. */
  sessions: string;
  may: readonly TokenRight[];
  expiresAtMs: number;
}
