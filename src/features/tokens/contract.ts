// Tokens for browsers on the wire.
import { z } from 'zod';
import { TOKEN_RIGHTS } from '../../core/browser-token.ts';
import { iso, text } from '../../contract/fields.ts';

const SECONDS_MAX = 86_400;
const SECONDS_DEFAULT = 3_600;

/** The body of `POST /v1/tokens`. */
export const tokenRequest = z
  .strictObject({
    session: text.min(1).max(211).exactOptional().describe('The key of the session that the token is for'),
    sessions: text
      .min(1)
      .max(300)
      .exactOptional()
      .describe('In place of `session`: the beginning of session keys, with one `*` at the end'),
    allow: z
      .array(z.enum(TOKEN_RIGHTS))
      .min(1)
      .max(TOKEN_RIGHTS.length)
      .describe('`send`: send messages; `read`: read the session, its messages, its turns and their events'),
    expiresInSeconds: z
      .int()
      .min(1)
      .max(SECONDS_MAX)
      .default(SECONDS_DEFAULT)
      .describe('How long it is valid; absent: an hour'),
  })
  .refine(({ session, sessions }) => (session === undefined) !== (sessions === undefined), {
    path: ['session'],
    error: 'expected session or sessions, and not both',
  });

export const token = z.strictObject({
  token: text.describe('The token, shown only once; it is not stored'),
  expiresAt: iso.describe('When it expires: at the end of its key at the latest'),
});
