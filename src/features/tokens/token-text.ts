// The text of a token: `hft_`, what it allows as JSON in base64url, and 43 characters of
// HMAC-SHA256 over both. It is compared as text: of a signature in base64url, the last character
// has two bits that a decoder ignores.
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { TOKEN_PREFIX, TOKEN_RIGHTS, type TokenClaims } from '../../core/browser-token.ts';

const SIGNATURE_CHARS = 43;
/** More than any token that this service makes. */
const TOKEN_CHARS_MAX = 1500;
const ID_BYTES = 9;

const claims = z.object({
  id: z.string(),
  key: z.string(),
  generation: z.string(),
  sessions: z.string(),
  may: z.array(z.enum(TOKEN_RIGHTS)),
  expiresAtMs: z.number(),
});

/** Makes the text of a token, with an id of its own. */
export function writeToken(secret: Buffer, token: Omit<TokenClaims, 'id'>): string {
  const content = { ...token, id: randomBytes(ID_BYTES).toString('base64url') };
  const text = TOKEN_PREFIX + Buffer.from(JSON.stringify(content)).toString('base64url');
  return text + sign(secret, text);
}

/** What a token allows; null: it was not made with this secret, or by a version with another form. */
export function readToken(secret: Buffer, token: string): TokenClaims | null {
  if (token.length > TOKEN_CHARS_MAX) return null;
  const [text, signature] = [token.slice(0, -SIGNATURE_CHARS), token.slice(-SIGNATURE_CHARS)];
  const [sent, expected] = [Buffer.from(signature), Buffer.from(sign(secret, text))];
  if (sent.length !== expected.length || !timingSafeEqual(sent, expected)) return null;
  // It is what `writeToken` has signed.
  const json = Buffer.from(text.slice(TOKEN_PREFIX.length), 'base64url').toString();
  return claims.safeParse(JSON.parse(json)).data ?? null;
}

function sign(secret: Buffer, text: string): string {
  return createHmac('sha256', secret).update(text).digest('base64url');
}
