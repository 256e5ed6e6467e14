// Makes tokens, and reads them for requests.
import type { TokenClaims } from '../../core/browser-token.ts';
import type { Database } from '../../database/database.ts';
import { ensureSecret, readSecret } from './store/secret.ts';
import { readToken, writeToken } from './token-text.ts';

interface Tokens {
  write: (token: Omit<TokenClaims, 'id'>) => Promise<string>;
  /** Null: it is none of this service. */
  read: (token: string) => Promise<TokenClaims | null>;
}

/** The secret of each database that this process uses, once it is known; it never changes. */
const known = new WeakMap<Database, Buffer>();

/** The tokens that are signed with the secret of a database. */
export function tokensOf(database: Database): Tokens {
  const keep = (secret: Buffer): Buffer => {
    known.set(database, secret);
    return secret;
  };
  return {
    async write(token) {
      return writeToken(known.get(database) ?? keep(await ensureSecret(database)), token);
    },
    async read(token) {
      const secret = known.get(database) ?? (await readSecret(database));
      return secret === null ? null : readToken(keep(secret), token);
    },
  };
}
