// What tokens are signed with.
import { boolean, bytea, holdfast } from '../../rows/columns.ts';

/** One row. */
export const tokenSecrets = holdfast.table('token_secrets', {
  isOnly: boolean().notNull().default(true),
  secret: bytea().notNull(),
});
