// Responses that their client has deleted.
import type { Database } from '../../../database/database.ts';
import { sendQuery } from '../../../database/send-query.ts';
import { literal } from '../../../database/statement.ts';

export const HIDE_RESPONSE = literal({
  name: 'hide-response',
  purpose: 'Note that a response is hidden.',
  locking: 'None.',
  text: 'insert into holdfast.hidden_responses (message_id, after_step) values ($1, $2) on conflict do nothing',
});

/** Hides it. */
export async function hideResponse(
  database: Database,
  { messageId, afterStep }: { messageId: string; afterStep: number },
): Promise<void> {
  await sendQuery(database.hot, HIDE_RESPONSE.prepared([messageId, afterStep]));
}
