// The probe of a batch with `via: auto`: while the provider's cache was not measured lately, a few items go through the provider first and the
// others wait for what their answers say. Items are fed in their order, so the probe is a number: those after it wait.
import { MEASURED_MS_MAX } from '../../core/provider-batch/choose-way.ts';
import type { Database } from '../database.ts';
import { sendQuery } from '../send-query.ts';
import { literal } from '../statement.ts';

/** A probe is this part of the items that are left, within these bounds. */
const PERCENT = 2;
const ITEMS_MIN = 20;
const ITEMS_MAX = 200;

/** The others wait for it no longer than this. */
const WAIT_SQL = `interval '1 hour'`;

// Any number of schedulers can send it: a decision that was made is not made again.
export const MOVE_PROBES = literal({
  name: 'move-probes',
  purpose: 'Begin the probes of batches that need one, and end those that have measured the cache or took too long.',
  locking: 'The batches, skipping those that are locked.',
  text: `with open as materialized (
  select b.id from holdfast.batches b
  where b.status <> 'ended' and b.status = 'running' and b.via = 'auto' and b.pilot is null and (b.probe_at is null or b.probe_to is not null)
  for no key update skip locked
)
update holdfast.batches b
set probe_at = coalesce(b.probe_at, clock_timestamp()),
  probe_to = case when b.probe_at is null and measured.at is null then least(b.item_count,
    fed.count + least(${ITEMS_MAX}, greatest(${ITEMS_MIN}, ceil((b.item_count - fed.count) * ${PERCENT} / 100.0)))) end
from open, holdfast.batches o
  left join lateral (select c.measured_at as at from holdfast.cache_rates c
    where c.model = o.model and c.measured_at > coalesce(o.probe_at, clock_timestamp() - interval '${MEASURED_MS_MAX} milliseconds')
    order by c.measured_at desc limit 1) as measured on true
  cross join lateral (select o.in_flight + o.answered + o.silent + o.failed + o.cancelled + o.expired as count) as fed
where b.id = open.id and o.id = open.id and (b.probe_at is null or measured.at is not null or b.probe_at < clock_timestamp() - ${WAIT_SQL}
  or b.item_count = fed.count
  -- Its items have ended and have measured nothing: their prompts are too short for the cache, or cannot go through a batch.
  or b.probe_to <= fed.count and b.in_flight = 0)`,
});

/** Begins and ends probes. */
export async function moveProbes(database: Database): Promise<void> {
  await sendQuery(database.hot, MOVE_PROBES.prepared([]));
}
