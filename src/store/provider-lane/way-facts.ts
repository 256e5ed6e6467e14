// What the choice between live calls and batches of the provider is made from, as it was measured: what the provider's cache did for batches,
// how long the conversations of a batch are, and how long the provider takes.
import type { MeasuredCache } from '../../core/provider-batch/choose-way.ts';
import { MEASURED_MS_MAX } from '../../core/provider-batch/choose-way.ts';
import type { Database } from '../database.ts';
import { sendQuery } from '../send-query.ts';
import { literal } from '../statement.ts';

/** How many of the first items have their turns read. */
const ITEMS_MAX = 200;
const SAMPLE_MAX = 50;
/** The newest submissions; of them, those that have ended. */
const SUBMISSIONS_MAX = 100;

export const WAY_FACTS = literal({
  name: 'way-facts',
  purpose:
    'Read the last measurement of the cache for a model ($1), the length of the first conversations of a batch ($2), and how long recent submissions took.',
  text: `select (
  select json_build_object('hitRate', c.read_tokens / c.readable_tokens, 'tookMs', c.took_ms,
    'ageMs', (extract(epoch from clock_timestamp() - c.measured_at) * 1000)::float8)
  from holdfast.cache_rates c where c.model = $1 and c.measured_at > clock_timestamp() - interval '${MEASURED_MS_MAX} milliseconds'
  order by c.measured_at desc limit 1
) as measured,
case when $2::uuid is not null then (
  select json_build_object('calls', avg(t.steps)::float8, 'outputTokens', sum(t.output_tokens)::float8 / sum(t.steps))
  from (select i.turn_id from holdfast.batch_items i
    where i.batch_id = $2 and i.n <= ${ITEMS_MAX} and i.status in ('answered', 'silent') order by i.n limit ${SAMPLE_MAX}) as s
  join holdfast.turns t on t.id = s.turn_id having sum(t.steps) > 0
) end as sample,
(
  select coalesce(json_agg((extract(epoch from b.ended_at - b.submit_started_at) * 1000)::float8), '[]') from (
    select p.status, p.submit_started_at, p.ended_at from holdfast.provider_batches p order by p.id desc limit ${SUBMISSIONS_MAX}
  ) as b where b.status in ('ended', 'read')
) as "tookMs"`,
});

export interface WayFacts {
  /** Null: nothing in the last 24 hours. */
  measured: MeasuredCache | null;
  /** Of a conversation, on average; null: none of the batch has ended. */
  sample: { calls: number; outputTokens: number } | null;
  /** How long recent submissions took, in milliseconds, in any order. */
  tookMs: number[];
}

export async function readWayFacts(
  database: Database,
  { model, batchId }: { model: string; batchId: string | null },
): Promise<WayFacts> {
  const query = WAY_FACTS.prepared([model, batchId]);
  const [row] = await sendQuery<WayFacts & Record<string, unknown>>(database.hot, query);
  return { measured: row?.measured ?? null, sample: row?.sample ?? null, tookMs: row?.tookMs ?? [] };
}
