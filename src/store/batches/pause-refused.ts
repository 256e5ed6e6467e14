// The pause of batches whose requests the provider refuses for the key or the account: a person has to change something.
import type { Database } from '../database.ts';
import { insertEventsSql } from '../events.ts';
import { LASTING_RETRY_MS } from '../retry-passing-faults.ts';
import { sendQuery } from '../send-query.ts';
import { literal } from '../statement.ts';

export const PAUSE_REFUSED = literal({
  name: 'pause-refused',
  purpose: 'Pause the batches that have requests in a submission which the provider has refused.',
  locking: 'The batches, in the order of their ids.',
  text: `with refused as materialized (
  select b.id from holdfast.batches b
  where b.status = 'running' and b.id in (
    select r.batch_id from holdfast.provider_requests r where r.provider_batch_id = $1 and r.status = 'assigned')
  order by b.id for no key update
),
paused as (
  update holdfast.batches b
  set status = 'paused', pause_reason = 'provider_refused', pause_detail = $2, paused_at = clock_timestamp(), revision = b.revision + 1
  from refused where b.id = refused.id and b.status = 'running'
  returning b.id
),
inserted_events as (
  ${insertEventsSql(`select null::uuid as session_id, null::uuid as turn_id, 'batch.paused' as type,
      json_build_object('batchId', id, 'reason', 'provider_refused', 'detail', $2::text) as data, 0 as n from paused`)}
)
select id from paused`,
});

/** Pauses them; their requests wait until the batches are resumed. */
export async function pauseRefused(
  database: Database,
  { submissionId, detail }: { submissionId: string; detail: string },
): Promise<void> {
  await sendQuery(database.hot, PAUSE_REFUSED.prepared([submissionId, detail]), LASTING_RETRY_MS);
}
