// What was used in a span of time: the roll-ups, and the events that are not in them yet. In one
// snapshot both together are exact. Another view shows what cost the most of the newest turns.
import type { TopCosts, UsageItem } from '../../contract/costs.ts';
import type { Tags } from '../../core/input-options.ts';
import { wholeAgents, type Scope } from '../../core/scope.ts';
import { isSeenText, newestText } from '../../database/scope-sql.ts';
import type { UsageGroup, UsageStep } from '../../core/prices.ts';
import {
  SUMMED_SQL,
  UNREAD_EVENTS,
  USAGE_KEYS,
  USAGE_SUMS,
  usageOfEventsSql,
  usageOfJournalSql,
} from './store/usage-rows.ts';
import { idAt, type ViewDatabase } from '../../database/page.ts';
import type { WordedInput } from '../../core/words.ts';
import { firstInputSql, sessionNamesSql, sessionTitle, turnTitle, type NamesRow } from '../../kernel/views/words.ts';
import { isoSql } from '../../kernel/sessions/session-facts.ts';
import { dollarsSql } from '../../kernel/sessions/cost-sql.ts';
import { viewQuery } from '../../database/literal-query.ts';

export interface UsageRequest {
  by: UsageStep;
  /** Buckets that start then or later, and before `to`. */
  from: Date;
  to: Date;
  group: UsageGroup | null;
  /** Only turns with these tags, as long as they are kept. */
  tags?: Tags | undefined;
  /**
   * Only the usage of the agents of which it has everything. That is what these agents used, also as
   * subagents of the sessions of others: the buckets know the agent whose turn it was, and no session.
   */
  scope: Scope;
}

const COLUMNS = [...USAGE_KEYS, ...USAGE_SUMS, 'is_simulated'].join(', ');

/** `agents`: SQL of the only agents; null: all. */
const shownSql = (agents: string): string => `steps as (
  select date_trunc($2, at, 'UTC') as starts_at,
    case $5 when 'agent' then agent_id when 'model' then model when 'lane' then lane when 'tier' then tier when 'kind' then kind end as name,
    bool_or(is_simulated) as is_simulated, ${SUMMED_SQL}
  from used where ${agents}::text[] is null or agent_id = any (${agents}) group by 1, 2
)
select json_build_object('startsAt', ${isoSql('starts_at')}, 'group', name, 'turns', turns, 'failedTurns', failed_turns, 'calls', calls,
  'failures', failures, 'unpricedCalls', unpriced_calls, 'inputTokens', input_tokens, 'outputTokens', output_tokens,
  'cacheReadTokens', cache_read_tokens, 'cacheWriteTokens', cache_write_tokens, 'cacheWrite1hTokens', cache_write_1h_tokens,
  'costUsd', case when cost_micros > 0 or unpriced_calls = 0 then ${dollarsSql('cost_micros')} end,
  'costMicros', case when cost_micros > 0 or unpriced_calls = 0 then cost_micros end,
  'waitMs', wait_ms, 'turnMs', turn_ms, 'callMs', call_ms, 'firstChunkMs', first_chunk_ms, 'simulated', is_simulated) as item
from steps where turns <> 0 or calls <> 0 or cost_micros <> 0 order by starts_at, name`;

const usageValues = ({ by, from, to, group, scope }: UsageRequest): unknown[] => [
  by === 'minute' ? 'minute' : 'hour',
  by,
  from,
  to,
  group,
  wholeAgents(scope),
];

export const readUsage = viewQuery({
  name: 'usage',
  purpose: 'Read what was used by step of time and by group, oldest first.',
  text: `with used as (
  select 1 as sign, starts_at as at, ${COLUMNS} from holdfast.usage_buckets where size = $1 and starts_at >= $3 and starts_at < $4
  union all
  select sign, at, ${COLUMNS} from (${usageOfEventsSql(UNREAD_EVENTS)}) as unread where date_trunc($1, at, 'UTC') >= $3 and date_trunc($1, at, 'UTC') < $4
),
${shownSql('$6')}`,
  values: usageValues,
  answer: (rows: { item: UsageItem }[]) => rows.map(({ item }) => item),
});

// The roll-ups do not know of tags.
export const readTaggedUsage = viewQuery({
  name: 'tagged-usage',
  purpose: 'Read the same of the turns with tags ($7) that are kept.',
  text: `with used as (
  select sign, at, ${COLUMNS} from (${usageOfJournalSql('t.tags @> $7::jsonb')}) as kept where date_trunc($1, at, 'UTC') >= $3 and date_trunc($1, at, 'UTC') < $4
),
${shownSql('$6')}`,
  values: (request: UsageRequest) => [...usageValues(request), JSON.stringify(request.tags)],
  answer: (rows: { item: UsageItem }[]) => rows.map(({ item }) => item),
});

/** The usage; steps without any are absent. */
export function viewUsage(db: ViewDatabase, request: UsageRequest): Promise<UsageItem[]> {
  return request.tags === undefined ? readUsage(db, request) : readTaggedUsage(db, request);
}

// What cost the most of the newest turns: the turns themselves, their sessions and the crons that
// caused them.

/** The newest turns are read, up to this many. */
const TURNS_READ_MAX = 10_000;

const COST = `'costUsd', ${dollarsSql('cost_micros')}, 'costMicros', cost_micros, 'simulated', is_simulated`;

const NAMES_SQL = `(select ${sessionNamesSql('s')} from holdfast.sessions s where s.id = session_id)`;

type Unnamed<Item> = Omit<Item, 'title' | 'sessionKey' | 'sessionTitle'> & { names: NamesRow };
type CostsRow = Omit<TopCosts, 'turns' | 'sessions'> & {
  turns: (Unnamed<TopCosts['turns'][number]> & { input: WordedInput | null })[];
  sessions: Unnamed<TopCosts['sessions'][number]>[];
};

const nameSession = (names: NamesRow) => ({ sessionKey: names.key, sessionTitle: sessionTitle(names) });

const SUM = `sum(cost_micros)::bigint as cost_micros, bool_or(is_simulated) as is_simulated`;

export const viewTopCosts = viewQuery({
  name: 'top-costs',
  purpose:
    'Read the turns, sessions and crons with the highest costs, `limit` ($3) of each, among the newest 10,000 turns that started at `from` ($2) or later, have the tags, and are inside of a scope ($5); their ids are at least $1.',
  text: `with newest as materialized (
  ${newestText(
    { prefixes: '$5', column: 't.scope', max: TURNS_READ_MAX },
    (condition, limit) =>
      `select t.id, t.session_id, t.kind, t.model, t.started_at, coalesce(t.cost_micros, 0) as cost_micros, t.is_simulated
    from holdfast.turns t where t.id >= $1 and ($4::jsonb is null or t.tags @> $4) and ${condition} order by t.id desc limit ${limit}`,
  )}
),
recent as materialized (select * from newest where started_at >= $2),
paid as materialized (select * from recent where cost_micros > 0),
top_turns as (select * from paid order by cost_micros desc, id desc limit $3),
top_sessions as (
  select session_id, count(*)::int as turns, ${SUM} from paid group by session_id order by 3 desc, 1 limit $3
),
of_crons as (
  select paid.cost_micros, paid.is_simulated,
    -- The input of its tick: its own, or the one that it was started for.
    (select split_part(tick.cause_key, ':', 2)::uuid from holdfast.inbox i left join holdfast.charged_inputs c on c.message_id = i.id
      join holdfast.inbox tick on tick.id = coalesce(c.root_id, i.id)
      where i.turn_id = paid.id and tick.cause_key like 'cron:%'
        and ${isSeenText('$5', 'tick.scope')} order by i.seq limit 1) as cron_id
  from paid
),
top_crons as (
  select o.cron_id, count(*)::int as turns, ${SUM} from of_crons o
  where o.cron_id is not null and exists (select from holdfast.crons c where c.id = o.cron_id)
  group by o.cron_id order by 3 desc, 1 limit $3
)
select
  coalesce((select json_agg(json_build_object('id', id, 'names', ${NAMES_SQL}, 'input', ${firstInputSql('top_turns.id')}, 'kind', kind, 'model', model, 'startedAt', ${isoSql('started_at')}, ${COST}) order by cost_micros desc, id desc) from top_turns), '[]') as turns,
  coalesce((select json_agg(json_build_object('names', ${NAMES_SQL}, 'turns', turns, ${COST}) order by cost_micros desc, session_id) from top_sessions), '[]') as sessions,
  coalesce((select json_agg(json_build_object('id', cron_id, 'name', (select c.name from holdfast.crons c where c.id = cron_id),
    'turns', turns, ${COST}) order by cost_micros desc, cron_id) from top_crons), '[]') as crons,
  (select count(*)::int from recent) as "turnsRead", (select coalesce(bool_or(is_last), false) and bool_and(started_at >= $2) from newest) as "isCapped",
  (select coalesce(bool_or(is_simulated), false) from recent) as simulated`,
  values: ({ from, limit, tags, scope }: { from: Date; limit: number; tags?: Tags | undefined; scope: Scope }) => [
    // Ids begin with the time at which they were made, by a clock that may differ from that of the
    // database.
    idAt(from.getTime() - DAY_MS),
    from,
    limit,
    tags === undefined ? null : JSON.stringify(tags),
    scope,
  ],
  // The statement always returns one row.
  answer([costs]: CostsRow[]): TopCosts {
    const { turns, sessions, ...rest } = costs!;
    return {
      ...rest,
      turns: turns.map(({ names, input, ...turn }) => ({
        ...turn,
        ...nameSession(names),
        title: turnTitle(turn.kind, input),
      })),
      sessions: sessions.map(({ names, ...session }) => ({ ...session, ...nameSession(names) })),
    };
  },
});

const DAY_MS = 86_400_000;
