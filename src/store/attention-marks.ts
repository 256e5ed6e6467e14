// What operators have decided about problems that need one. A problem is not stored, so neither is what a mark belongs to: it holds for
// the id that the problem has as long as it lasts (src/core/attention.ts).
import type { Database } from './database.ts';
import { keyedPart, keyValues, type KeyedRequest } from './idempotency.ts';
import { sendQuery } from './send-query.ts';
import { literal } from './statement.ts';

/** After this time no mark holds, and it is deleted, in days. */
export const MARK_DAYS = 30;

export const MARK_ATTENTION = literal({
  name: 'mark-attention',
  purpose:
    'Store what an operator has decided about a problem, in place of an earlier decision. Deletes those that hold no more.',
  locking: 'The rows.',
  text: `with expired as (
  delete from holdfast.attention_marks m where m.id <> $1::text and (m.until <= clock_timestamp() or m.marked_at < clock_timestamp() - interval '${MARK_DAYS} days')
),
marked as (
  insert into holdfast.attention_marks (id, until, count, reason, marked_by)
  values ($1::text, clock_timestamp() + $2::float8 * interval '1 second', $3::int, $4::text, $5::text)
  on conflict (id) do update set until = excluded.until, count = excluded.count, reason = excluded.reason, marked_by = excluded.marked_by,
    marked_at = excluded.marked_at
  returning id
),
${keyedPart(6, `select json_build_object('id', id) from marked`)}
select id from marked`,
});

/** Stores a decision. `seconds` is null: acknowledged. Rejects with a violated primary key when another request has stored the key. */
export async function markAttention(
  database: Database,
  mark: { id: string; seconds: number | null; count: number; reason: string | null; by: string },
  idempotency: KeyedRequest | null,
): Promise<void> {
  const values = [mark.id, mark.seconds, mark.count, mark.reason, mark.by, ...keyValues(idempotency)];
  await sendQuery(database.views, MARK_ATTENTION.prepared(values));
}
