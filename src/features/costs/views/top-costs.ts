// What cost the most of the newest turns: the turns themselves, their sessions and the crons that caused them.
import type { TopCosts } from '../../../contract/costs.ts';
import type { Tags } from '../../../core/input-options.ts';
import { dollarsSql } from '../../../kernel/turn/journal/cost-sql.ts';
import { isoSql } from '../../../kernel/sessions/session-facts.ts';
import { viewQuery } from '../../../database/literal-query.ts';
import { idAt } from '../../../database/id-of-time.ts';

/** The newest turns are read, up to this many. */
const TURNS_READ_MAX = 10_000;

const COST = `'costUsd', ${dollarsSql('cost_micros')}, 'costMicros', cost_micros, 'simulated', is_simulated`;

const SUM = `sum(cost_micros)::bigint as cost_micros, bool_or(is_simulated) as is_simulated`;

export const viewTopCosts = viewQuery({
  name: 'top-costs',
  purpose:
    'Read the turns, sessions and crons with the highest costs, `limit` ($3) of each, among the newest 10,000 turns that started at `from` ($2) or later and have the tags; their ids are at least $1.',
  text: `with newest as materialized (
  select t.id, t.session_id, t.kind, t.model, t.started_at, coalesce(t.cost_micros, 0) as cost_micros, t.is_simulated
  from holdfast.turns t where t.id >= $1 and ($4::jsonb is null or t.tags @> $4) order by t.id desc limit ${TURNS_READ_MAX}
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
      where i.turn_id = paid.id and tick.cause_key like 'cron:%' order by i.seq limit 1) as cron_id
  from paid
),
top_crons as (
  select o.cron_id, count(*)::int as turns, ${SUM} from of_crons o
  where o.cron_id is not null and exists (select from holdfast.crons c where c.id = o.cron_id)
  group by o.cron_id order by 3 desc, 1 limit $3
)
select
  coalesce((select json_agg(json_build_object('id', id, 'sessionKey', (select s.key from holdfast.sessions s where s.id = session_id),
    'kind', kind, 'model', model, 'startedAt', ${isoSql('started_at')}, ${COST}) order by cost_micros desc, id desc) from top_turns), '[]') as turns,
  coalesce((select json_agg(json_build_object('sessionKey', (select s.key from holdfast.sessions s where s.id = session_id),
    'turns', turns, ${COST}) order by cost_micros desc, session_id) from top_sessions), '[]') as sessions,
  coalesce((select json_agg(json_build_object('id', cron_id, 'name', (select c.name from holdfast.crons c where c.id = cron_id),
    'turns', turns, ${COST}) order by cost_micros desc, cron_id) from top_crons), '[]') as crons,
  (select count(*)::int from recent) as "turnsRead", (select count(*) = ${TURNS_READ_MAX} and bool_and(started_at >= $2) from newest) as "isCapped",
  (select coalesce(bool_or(is_simulated), false) from recent) as simulated`,
  values: ({ from, limit, tags }: { from: Date; limit: number; tags?: Tags | undefined }) => [
    // Ids begin with the time at which they were made, by a clock that may differ from that of the database.
    idAt(from.getTime() - DAY_MS),
    from,
    limit,
    tags === undefined ? null : JSON.stringify(tags),
  ],
  // The statement always returns one row.
  answer: ([costs]: TopCosts[]) => costs!,
});

const DAY_MS = 86_400_000;
