// What operators have decided about problems that need one. A problem is not stored, so neither is
// what a mark belongs to: it holds for the id that the problem has as long as it lasts
// (src/features/overview/rules/attention.ts).
import { hash } from 'node:crypto';
import { keyedSql, type KeyedRequest } from '../../../database/idempotency.ts';
import { literalQuery } from '../../../database/literal-query.ts';

/** After this time no mark holds, and it is deleted, in days. */
export const MARK_DAYS = 30;

const ID_CHARS = 22;

/** The id of a problem, from its kind and its subject. */
export function deriveAttentionId(subject: string): string {
  return hash('sha256', subject, 'base64url').slice(0, ID_CHARS);
}

/** SQL of the same. */
export function attentionIdSql(subject: string): string {
  return `left(translate(encode(sha256(convert_to(${subject}, 'UTF8')), 'base64'), '+/', '-_'), ${ID_CHARS})`;
}

export const markAttention = literalQuery({
  name: 'mark-attention',
  purpose:
    'Store what an operator has decided about a problem, in place of an earlier decision; without `seconds`, it is acknowledged. Deletes those that hold no more. Rejects with a violated primary key when another request has stored the key.',
  locking: 'The rows.',
  pool: 'views',
  text: `with expired as (
  delete from holdfast.attention_marks m where m.id <> $id::text and (m.until <= clock_timestamp() or m.marked_at < clock_timestamp() - interval '${MARK_DAYS} days')
),
marked as (
  insert into holdfast.attention_marks (id, until, count, reason, marked_by, marked_at)
  values ($id::text, clock_timestamp() + $seconds::float8 * interval '1 second', $count::int, $reason::text, $by::text, to_timestamp($atMs::float8 / 1000))
  on conflict (id) do update set until = excluded.until, count = excluded.count, reason = excluded.reason, marked_by = excluded.marked_by,
    marked_at = excluded.marked_at
  returning id
),
${keyedSql(`select json_build_object('id', id) from marked`)}
select id from marked`,
  values: (
    mark: { id: string; atMs: number; seconds: number | null; count: number; reason: string | null; by: string },
    idempotency: KeyedRequest | null,
  ) => ({ ...mark, ...idempotency }),
});
