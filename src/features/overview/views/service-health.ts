// Whether anything keeps the service from working: a provider, a budget or a pause for which turns
// wait, no process for what there is to do, a part that has stalled, clocks and versions that
// differ, a transaction that holds back events; and what needs a person although it works: a server
// of tools that is away, calls with an unknown outcome. Of turns it reads those that are open. The
// attention, the readiness, the doctor, the log and the metrics say the same, because all of them
// read these facts.
import type { HealthFact } from '../rules/service-health.ts';
import {
  CLOCK_OFF_MS,
  DELIVERY_STALLED_MS,
  HELD_BACK_MS,
  LIMITED_MS,
  MCP_ASKED_MS,
  MCP_LOST_MS,
  WORK_UNSERVED_MS,
} from '../rules/service-health.ts';
import { placesOfUrlSql } from '../../../core/channel-address.ts';
import { GATED_HEADS_SQL, headsOfChatsSql } from '../../deliveries/store/claims.ts';
import { WORKER_LOST_MS } from '../../../kernel/rules/why.ts';
import { HELD_SINCE_SQL, OLDEST_TRANSACTION_SQL } from '../../../database/event-ids.ts';
import { isoSql } from '../../../kernel/sessions/session-facts.ts';
import { isPausedSql } from '../../../kernel/queue/pause-sql.ts';
import { viewQuery } from '../../../database/literal-query.ts';
import { attentionIdSql, MARK_DAYS } from '../store/attention-marks.ts';

/** Rows of one kind are counted up to this. */
const COUNT_MAX = 10_000;
/** The most rows of one kind. */
export const NAMES_MAX = 20;

/** The most that is shown of why turns wait, in characters. */
const DETAIL_CHARS_MAX = 300;

/** SQL of a row of facts. */
export const factSql = (
  kind: string,
  name: string,
  count: string,
  since: string,
  { detail = 'null::text', names = 'null::json' } = {},
): string =>
  `select '${kind}' as kind, ${name} as name, (${count})::int as count, ${since} as since, ${detail} as detail, ${names} as names`;

const agoSql = (ms: number): string => `clock_timestamp() - ${ms} * interval '1 millisecond'`;
const RUNNING_SQL = `w.seen_at >= ${agoSql(WORKER_LOST_MS)}`;
/** Whether a worker asks a server: otherwise it is not in the configuration, or there is no worker. */
const IS_ASKED_SQL = `s.due_at > ${agoSql(MCP_ASKED_MS)}`;
const WORKING_SQL = `${RUNNING_SQL} and w.draining_at is null`;

/** SQL of whether a process runs turns of a lane. */
export const hasWorkerSql = (lane: string): string =>
  `exists (select from holdfast.workers w where ${WORKING_SQL} and (w.lanes -> ${lane} ->> 'slots')::int > 0)`;

/**
 * What open turns are parked for; they are read once, because an outage can park very many. Some
 * wait for a model: its provider counts. A batch that has reached its own cap is no trouble of the
 * service.
 */
const PARKED_SQL = `(select kind, coalesce(b.scope || case b.per when 'total' then ' in total' else ' per ' || b.per end, waited_for, 'unknown') as name, count, since, detail, null::json as names
  from (
    select kind, waited_for, count(*)::int as count, min(park_since) as since,
      case when kind in ('model_away', 'model_wrong_address') then left(max(park_text), ${DETAIL_CHARS_MAX}) end as detail, row_number() over (partition by kind order by count(*) desc) as place
    from (
      select case when t.park_code in ('model_away', 'model_wrong_address', 'budget_reached') then t.park_code else 'model_limited' end as kind,
        case when t.park_code = 'budget_reached' then t.park_by else split_part(t.park_by, '/', 1) end as waited_for, t.park_since, t.park_text
      from holdfast.turns t where t.ended_at is null and t.status = 'parked' and (t.park_code in ('model_away', 'model_wrong_address')
        or t.park_code = 'budget_reached' and t.park_by in (select id::text from holdfast.budgets)
        or t.park_code in ('model_blocked', 'rate_limited', 'retry_wait') and t.park_since < ${agoSql(LIMITED_MS)})
    ) as parked group by kind, waited_for
  ) as counted left join holdfast.budgets b on kind = 'budget_reached' and b.id::text = waited_for
  where place <= ${NAMES_MAX})`;

/** The most calls with an unknown outcome that are read: the newest, which are the least decided. */
const UNKNOWN_MAX = 1_000;

/**
 * SQL of the tools that have calls with an unknown outcome: those that became known after the last
 * acknowledgement of their tool, or, `withDecided`, else those before. After `MARK_DAYS`, they are
 * left out with the acknowledgement. Also left out are calls that may run twice, and calls of a turn
 * that a person has stopped.
 */
const unknownCallsSql = (withDecided: boolean): string => `(select kind, name, count, since, detail, names
  from (
    select distinct on (name) * from (
      ${factSql('calls_unknown', 'name', 'count(*)', 'min(unknown_at)')}, is_decided
      from (
        select c.name, c.unknown_at, exists (
          select from holdfast.attention_marks m
          where m.id = ${attentionIdSql("'calls_unknown ' || c.name")} and m.until is null and m.marked_at >= c.unknown_at
        ) as is_decided
        from holdfast.tool_calls c
        where c.unknown_at > clock_timestamp() - interval '${MARK_DAYS} days' and not c.is_idempotent
          and not exists (select from holdfast.turns t where t.id = c.turn_id and t.status = 'aborted')
        order by c.unknown_at desc limit ${UNKNOWN_MAX}
      ) as calls group by name, is_decided
    ) as counted order by name, is_decided
  ) as tools where ${withDecided} or not is_decided limit ${NAMES_MAX})`;

/** SQL of the facts, as rows of `kind, name, count, since, detail, names`: what a title is made of. */
const healthFactsSql = (withDecided: boolean): string => `${PARKED_SQL}
  union all (${factSql('paused', "concat_ws(', ', 'lane ' || p.lane, 'agent ' || p.agent_id, 'session ' || p.session_key)", '1', 'p.created_at')}
  from holdfast.pauses p order by p.created_at limit ${NAMES_MAX})
  union all (${factSql('queue_unreachable', "'queue'", 'count(*)', 'min(w.queue_away_since)')}
  from holdfast.workers w where ${RUNNING_SQL} and w.queue_away_since is not null having count(*) > 0)
  union all (${factSql('no_worker', 'lanes.lane', 'work.count', 'work.since')}
  from unnest(array['main', 'subagent', 'cron', 'batch']) as lanes (lane) cross join lateral (
    select count(*) as count, min(due_at) as since from (
      select d.due_at from holdfast.doorbells d cross join lateral (select * from holdfast.sessions where id = d.session_id limit 1) as s
      where d.lane = lanes.lane and d.due_at < ${agoSql(WORK_UNSERVED_MS)} and not ${isPausedSql('s')} limit ${COUNT_MAX}
    ) as due
  ) as work
  where work.count > 0 and not ${hasWorkerSql('lanes.lane')})
  union all (${factSql('no_scheduler', "'scheduler'", 'due.count', "(select max(w.seen_at) from holdfast.workers w where 'scheduler' = any (w.roles))")}
  from (
    select count(*) as count from (
      (select from holdfast.crons c where c.is_enabled and c.next_slot_at is not null)
      union all (select from holdfast.inbox i where i.status = 'delayed' and i.deliver_at < ${agoSql(WORK_UNSERVED_MS)} limit ${COUNT_MAX})
      union all (select from holdfast.batches b where b.status <> 'ended' and b.status in ('running', 'cancelling') limit ${COUNT_MAX})
    ) as scheduled
  ) as due
  where due.count > 0 and not exists (select from holdfast.workers w where ${WORKING_SQL} and 'scheduler' = any (w.roles)))
  union all (${factSql('reconciler_stalled', 'w.name', '1', 'w.reconciler_stalled_since')}
  from holdfast.workers w where ${RUNNING_SQL} and w.reconciler_stalled_since is not null order by w.reconciler_stalled_since limit ${NAMES_MAX})
  union all (${factSql('files_hang', "concat(w.name, ' at ', w.hanging_path)", '1', 'w.files_hang_since')}
  from holdfast.workers w where ${RUNNING_SQL} and w.files_hang_since is not null order by w.files_hang_since limit ${NAMES_MAX})
  union all (${factSql('outbox_stalled', 'channel', 'count(*)', 'min(due_at)')}
  from (
    (select d.channel, d.due_at from holdfast.deliveries d
    where d.channel = 'webhook' and d.status = 'pending' and d.due_at < ${agoSql(DELIVERY_STALLED_MS)} and d.expires_at > clock_timestamp() and not exists (
      select from holdfast.deliveries earlier
      where earlier.session_id = d.session_id and earlier.seq < d.seq and earlier.channel = 'webhook' and earlier.status in ('pending', 'sending'))
    limit ${COUNT_MAX})
    union all (with heads as (${headsOfChatsSql('d.expires_at > clock_timestamp()')})
    select (select d.channel from holdfast.deliveries d where d.id = gated.id), gated.free_at from (${GATED_HEADS_SQL}) as gated
    where gated.free_at < ${agoSql(DELIVERY_STALLED_MS)} limit ${COUNT_MAX})
  ) as stalled group by channel limit ${NAMES_MAX})
  union all (${factSql('deliveries_failing', 'destination', 'count(*)', 'min(created_at)')}
  from (
    select coalesce(${placesOfUrlSql("d.target ->> 'url'").account}, concat_ws(' ', d.channel, substring(d.target ->> 'url' from '^https?://(?:[^/?#]*@)?([^/?#]+)'))) as destination, d.created_at
    from holdfast.deliveries d
    where d.status in ('pending', 'sending') and d.attempts > 0 and d.last_error is not null and d.expires_at > clock_timestamp() limit ${COUNT_MAX}
  ) as failing group by destination order by count(*) desc limit ${NAMES_MAX})
  union all (${factSql('versions_differ', "string_agg(version, ', ' order by since)", 'count(*)', 'max(since)')}
  from (select w.version, min(w.started_at) as since from holdfast.workers w where ${RUNNING_SQL} group by w.version) as versions
  having count(*) > 1)
  union all (${factSql('clock_off', "format('%s by %s ms', w.name, w.clock_ahead_ms)", '1', 'w.started_at')}
  from holdfast.workers w where ${RUNNING_SQL} and abs(w.clock_ahead_ms) > ${CLOCK_OFF_MS} limit ${NAMES_MAX})
  union all (${factSql('events_held', "concat(coalesce(pid::text, 'without a process'), ' in the database ', database, ' (', application, ')')", '1', 'held.since')}
  from (select o.*, coalesce(o.began_at, ${HELD_SINCE_SQL}) as since from (${OLDEST_TRANSACTION_SQL}) as o) as held
  where held.since < ${agoSql(HELD_BACK_MS)})
  union all (${factSql('mcp_lost', 's.name', '1', 's.changed_at', { detail: 's.error' })}
  from holdfast.mcp_servers s where s.state = 'lost' and ${IS_ASKED_SQL} and (s.failed_tries > 1 or s.changed_at < ${agoSql(MCP_LOST_MS)})
  order by s.changed_at limit ${NAMES_MAX})
  union all (${factSql('mcp_unconfined', 's.name', '1', 's.changed_at', { detail: `case when s.is_inside then s.reason else 'it runs outside, because ' || s.reason end` })}
  from (
    select s.name, s.changed_at, s.info #>> '{sandbox,reason}' as reason, (s.info #>> '{sandbox,isOn}')::boolean as is_inside
    from holdfast.mcp_servers s where s.state = 'connected' and ${IS_ASKED_SQL} and s.info #>> '{sandbox,isDecided}' = 'false'
  ) as s where s.reason is not null order by s.changed_at limit ${NAMES_MAX})
  union all ${unknownCallsSql(withDecided)}`;

/** What nothing was decided about. */
export const HEALTH_FACTS_SQL = healthFactsSql(false);
/** The same, with what a person has acknowledged. */
export const DECIDED_FACTS_SQL = healthFactsSql(true);

/** None: nothing is wrong. */
export const readServiceHealth = viewQuery({
  name: 'service-health',
  purpose: 'Read what keeps the service from working.',
  text: `select kind, name, detail, count, ${isoSql('since')} as since from (${HEALTH_FACTS_SQL}) as facts`,
  answer: (facts: HealthFact[]) => facts,
});
