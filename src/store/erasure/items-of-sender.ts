// Items of batches that name a person as their sender and never became inputs of a session: their batch was cancelled, or its deadline was over.
// No index leads from a sender to them, so all items are read, in portions.
import type { Database } from '../database.ts';
import { sendQuery } from '../send-query.ts';
import { literal } from '../statement.ts';
import { itemPortionSql, portionAnswerSql, sendForItems } from './item-portions.ts';

/** Reading the bodies takes longer than reading keys. */
const PORTION_ROWS = 2_000;

const IS_SENDER = `coalesce(i.body -> 'sender' ->> 'id' = $1 and ($2::text is null or coalesce(i.body ->> 'channel', 'api') = $2), false)`;
const IS_UNSENT = `i.message_id is null and ${IS_SENDER}`;

export const OPEN_ITEMS_OF_SENDER = literal({
  name: 'open-items-of-sender',
  purpose:
    'Read a batch that has not ended with an item of the sender $1 that has not ended (in the channel $2; null: in any).',
  text: `select b.id from holdfast.batches b where b.status <> 'ended'
  and exists (select from holdfast.batch_items i where i.batch_id = b.id and i.status in ('pending', 'fed') and ${IS_SENDER}) limit 1`,
});

export const COUNT_ITEMS_OF_SENDER = literal({
  name: 'count-items-of-sender',
  purpose:
    'Count the items of the sender $1 that never became inputs (in the channel $2; null: in any), of a portion after an item. Answers the last item, too.',
  text: `with ${itemPortionSql(IS_UNSENT, PORTION_ROWS)}
${portionAnswerSql('select count(*) from portion where is_theirs')}`,
});

export const BLANK_ITEMS_OF_SENDER = literal({
  name: 'blank-items-of-sender',
  purpose:
    'Empty the items of the sender $1 that never became inputs (in the channel $2; null: in any), of a portion after an item. Answers how many, and the last item.',
  locking: 'The rows that it empties.',
  text: `with ${itemPortionSql(IS_UNSENT, PORTION_ROWS)},
emptied as (
  update holdfast.batch_items i set body = '{}', error = null, custom_id = null, session_key = 'erased'
  from portion p where p.is_theirs and i.batch_id = p.batch_id and i.n = p.n and i.status not in ('pending', 'fed')
  returning 1
)
${portionAnswerSql('select count(*) from emptied')}`,
});

export interface Sender {
  senderId: string;
  /** Null: any. */
  channel: string | null;
}

/** A batch that has not ended and has items of the person; null: there is none. */
export async function findOpenBatchOfSender(database: Database, { senderId, channel }: Sender): Promise<string | null> {
  const [row] = await sendQuery<{ id: string }>(database.views, OPEN_ITEMS_OF_SENDER.prepared([senderId, channel]));
  return row?.id ?? null;
}

/** How many items of the person never became inputs. */
export function countItemsOfSender(database: Database, { senderId, channel }: Sender): Promise<number> {
  return sendForItems(database, COUNT_ITEMS_OF_SENDER, [senderId, channel]);
}

/** Empties these items, whose numbers the batches keep; resolves with how many. */
export function blankItemsOfSender(database: Database, { senderId, channel }: Sender): Promise<number> {
  return sendForItems(database, BLANK_ITEMS_OF_SENDER, [senderId, channel]);
}
