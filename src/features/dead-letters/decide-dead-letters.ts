// Operator actions on dead letters: lists the open ones and discards some. Redriving depends on the kind of letter: a turn is
// retried (retry-turn.ts), a delivery is sent again (decide-delivery.ts), and the statement that does it closes the letter.
import type { Database } from '../../database/database.ts';
import { keyedPart, keyValues, type KeyedRequest } from '../../database/idempotency.ts';
import { itemOfTurnSql } from '../../kernel/turn/journal/retry-turn.ts';
import { sendQuery } from '../../database/send-query.ts';
import { literal } from '../../database/statement.ts';

/** The filter of letters; an absent field does not restrict it. */
export interface LetterFilter {
  ids?: readonly string[] | undefined;
  kind?: string | undefined;
  code?: string | undefined;
}

export interface OpenLetter {
  id: string;
  kind: string;
  turnId: string | null;
  deliveryId: string | null;
  /** It is of an item that only its batch retries. */
  isItem: boolean;
}

const FILTER_SQL = `l.state = 'open' and ($1::uuid[] is null or l.id = any ($1)) and ($2::text is null or l.kind = $2)
  and ($3::text is null or l.code = $3)`;

function filterValues({ ids, kind, code }: LetterFilter): unknown[] {
  return [ids ?? null, kind ?? null, code ?? null];
}

export const OPEN_LETTERS = literal({
  name: 'open-letters',
  purpose:
    'Read open dead letters, oldest first, with the number of all. Those of items that only their batch retries come last, and are not counted.',
  text: `select l.id, l.kind, l.turn_id as "turnId", l.delivery_id as "deliveryId", is_item as "isItem", count(*) filter (where not is_item) over ()::int as count
from holdfast.dead_letters l cross join lateral (select exists (select from ${itemOfTurnSql('l.turn_id')}) as is_item) as item
where ${FILTER_SQL} order by is_item, l.id limit $4`,
});

/** Open letters, oldest first and those that only their batch retries last, and the number of the letters before these. */
export async function readOpenLetters(
  database: Database,
  filter: LetterFilter,
  limit: number,
): Promise<{ letters: OpenLetter[]; count: number }> {
  const rows = await sendQuery<OpenLetter & { count: number }>(
    database.hot,
    OPEN_LETTERS.prepared([...filterValues(filter), limit]),
  );
  return { letters: rows.map(({ count: _count, ...letter }) => letter), count: rows[0]?.count ?? 0 };
}

export const DISCARD_LETTERS = literal({
  name: 'discard-letters',
  purpose: 'Discard open dead letters, and the deliveries that they are of.',
  locking: 'The deliveries in the order of their ids, then the letters in the order of theirs.',
  text: `with locked_deliveries as materialized (
  select d.id from holdfast.deliveries d where d.id in (select l.delivery_id from holdfast.dead_letters l where ${FILTER_SQL})
  order by d.id for no key update
),
-- The count makes the deliveries be locked first, as a decision on one delivery does.
locked_letters as materialized (
  select l.id from holdfast.dead_letters l where ${FILTER_SQL} and (select count(*) from locked_deliveries) >= 0
  order by l.id for no key update
),
discarded as (
  update holdfast.dead_letters l set state = 'discarded', settled_at = clock_timestamp() from locked_letters where l.id = locked_letters.id
  returning l.id, l.delivery_id
),
given_up as (
  update holdfast.deliveries d set status = 'discarded', settled_at = clock_timestamp()
  from discarded where d.id = discarded.delivery_id and d.status in ('failed', 'expired', 'unknown')
),
counted as materialized (select count(*)::int as n from discarded),
${keyedPart(4, "select json_build_object('discarded', counted.n) from counted")}
select counted.n from counted`,
});

/** Discards open letters, and the deliveries to which they belong; resolves with their number. The key of the request is stored with it. */
export async function discardLetters(
  database: Database,
  filter: LetterFilter,
  idempotency: KeyedRequest | null,
): Promise<number> {
  const result = await database.hot.query(
    DISCARD_LETTERS.prepared([...filterValues(filter), ...keyValues(idempotency)]),
  );
  return result.rows[0].n;
}

export const REDRIVE_KEY = literal({
  name: 'redrive-key',
  purpose: 'Store the key of a request whose letters were redriven one by one.',
  text: `with ${keyedPart(1, 'select $4::json')} select 1`,
});

/** Stores the key of a request whose letters were redriven one by one, with the result. */
export async function keepRedriveKey(database: Database, request: KeyedRequest | null, result: object): Promise<void> {
  if (request === null) return;
  await database.hot.query(REDRIVE_KEY.prepared([...keyValues(request), JSON.stringify(result)]));
}
