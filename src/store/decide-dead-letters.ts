// What a person decides about dead letters: lists the open ones and discards some. Redriving depends on the kind of letter: a turn is
// retried (retry-turn.ts), a delivery is sent again (decide-delivery.ts), and the statement that does it closes the letter.
import type { Database } from './database.ts';
import { keyedPart, keyValues, type KeyedRequest } from './idempotency.ts';
import { readRows } from './read-rows.ts';

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
}

const FILTER_SQL = `l.state = 'open' and ($1::uuid[] is null or l.id = any ($1)) and ($2::text is null or l.kind = $2)
  and ($3::text is null or l.code = $3)`;

function filterValues({ ids, kind, code }: LetterFilter): unknown[] {
  return [ids ?? null, kind ?? null, code ?? null];
}

/** Open letters, oldest first, and how many there are in all. */
export async function readOpenLetters(
  database: Database,
  filter: LetterFilter,
  limit: number,
): Promise<{ letters: OpenLetter[]; count: number }> {
  const rows = await readRows<OpenLetter & { count: number }>(database.hot, {
    name: 'open-letters',
    text: `/* open-letters */
select l.id, l.kind, l.turn_id as "turnId", l.delivery_id as "deliveryId", count(*) over ()::int as count
from holdfast.dead_letters l where ${FILTER_SQL} order by l.id limit $4`,
    values: [...filterValues(filter), limit],
  });
  return { letters: rows.map(({ count: _count, ...letter }) => letter), count: rows[0]?.count ?? 0 };
}

/** Gives open letters up, and the deliveries that they are of; resolves with how many there were. The key of the request is stored with it. */
export async function discardLetters(
  database: Database,
  filter: LetterFilter,
  idempotency: KeyedRequest | null,
): Promise<number> {
  const result = await database.hot.query({
    name: 'discard-letters',
    text: `/* discard-letters */
with discarded as (
  update holdfast.dead_letters l set state = 'discarded', settled_at = clock_timestamp() where ${FILTER_SQL}
  returning l.id, l.delivery_id
),
given_up as (
  update holdfast.deliveries d set status = 'discarded', settled_at = clock_timestamp()
  from discarded where d.id = discarded.delivery_id and d.status in ('failed', 'expired', 'unknown')
),
counted as materialized (select count(*)::int as n from discarded),
${keyedPart(4, "select json_build_object('discarded', counted.n) from counted")}
select counted.n from counted`,
    values: [...filterValues(filter), ...keyValues(idempotency)],
  });
  return result.rows[0].n;
}

/** Stores the key of a request whose letters were redriven one by one, with the result. */
export async function keepRedriveKey(database: Database, request: KeyedRequest | null, result: object): Promise<void> {
  if (request === null) return;
  await database.hot.query({
    name: 'redrive-key',
    text: `/* redrive-key */ with ${keyedPart(1, 'select $4::json')} select 1`,
    values: [...keyValues(request), JSON.stringify(result)],
  });
}
