// What was used in a span of time: the roll-ups, and the events that are not in them yet. In one snapshot both together are exact.
import type { UsageItem } from '../../../contract/costs.ts';
import type { Tags } from '../../../core/input-options.ts';
import type { UsageGroup, UsageStep } from '../../../core/usage-steps.ts';
import { literal } from '../../../database/statement.ts';
import {
  SUMMED_SQL,
  UNREAD_EVENTS,
  USAGE_KEYS,
  USAGE_SUMS,
  usageOfEventsSql,
  usageOfJournalSql,
} from '../store/usage-rows.ts';
import type { ViewDatabase } from '../../../database/page.ts';
import { isoSql } from '../../../kernel/sessions/session-facts.ts';
import { dollarsSql } from '../../../kernel/turn/journal/cost-sql.ts';

export interface UsageRequest {
  by: UsageStep;
  /** Buckets that start then or later, and before `to`. */
  from: Date;
  to: Date;
  group: UsageGroup | null;
  /** Of turns with these tags, as long as they are kept. */
  tags?: Tags | undefined;
}

const COLUMNS = [...USAGE_KEYS, ...USAGE_SUMS, 'is_simulated'].join(', ');

const SHOWN_SQL = `steps as (
  select date_trunc($2, at, 'UTC') as starts_at,
    case $5 when 'agent' then agent_id when 'model' then model when 'lane' then lane when 'tier' then tier when 'kind' then kind end as name,
    bool_or(is_simulated) as is_simulated, ${SUMMED_SQL}
  from used group by 1, 2
)
select json_build_object('startsAt', ${isoSql('starts_at')}, 'group', name, 'turns', turns, 'failedTurns', failed_turns, 'calls', calls,
  'failures', failures, 'unpricedCalls', unpriced_calls, 'inputTokens', input_tokens, 'outputTokens', output_tokens,
  'cacheReadTokens', cache_read_tokens, 'cacheWriteTokens', cache_write_tokens, 'cacheWrite1hTokens', cache_write_1h_tokens,
  'costUsd', case when cost_micros > 0 or unpriced_calls = 0 then ${dollarsSql('cost_micros')} end,
  'costMicros', case when cost_micros > 0 or unpriced_calls = 0 then cost_micros end,
  'waitMs', wait_ms, 'turnMs', turn_ms, 'callMs', call_ms, 'firstChunkMs', first_chunk_ms, 'simulated', is_simulated) as item
from steps where turns <> 0 or calls <> 0 or cost_micros <> 0 order by starts_at, name`;

export const USAGE = literal({
  name: 'usage',
  purpose: 'Read what was used by step of time and by group, oldest first.',
  text: `with used as (
  select 1 as sign, starts_at as at, ${COLUMNS} from holdfast.usage_buckets where size = $1 and starts_at >= $3 and starts_at < $4
  union all
  select sign, at, ${COLUMNS} from (${usageOfEventsSql(UNREAD_EVENTS)}) as unread where date_trunc($1, at, 'UTC') >= $3 and date_trunc($1, at, 'UTC') < $4
),
${SHOWN_SQL}`,
});

// The roll-ups do not know of tags.
export const TAGGED_USAGE = literal({
  name: 'tagged-usage',
  purpose: 'Read the same of the turns with tags ($6) that are kept.',
  text: `with used as (
  select sign, at, ${COLUMNS} from (${usageOfJournalSql('t.tags @> $6::jsonb')}) as kept where date_trunc($1, at, 'UTC') >= $3 and date_trunc($1, at, 'UTC') < $4
),
${SHOWN_SQL}`,
});

/** The usage; steps without any are absent. */
export async function viewUsage(db: ViewDatabase, { by, from, to, group, tags }: UsageRequest): Promise<UsageItem[]> {
  const size = by === 'minute' ? 'minute' : 'hour';
  const values = [size, by, from, to, group];
  const query = tags === undefined ? USAGE.prepared(values) : TAGGED_USAGE.prepared([...values, JSON.stringify(tags)]);
  const { rows } = await db.query<{ item: UsageItem }>(query);
  return rows.map(({ item }) => item);
}
