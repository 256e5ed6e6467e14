// What may need a person, in one statement: each row is a kind of trouble with its name, how often
// it is there, and since when. Every part is read by an index, or from a table that does not grow
// with turns.
import { ATTENTION_KINDS, type AttentionFact, type AttentionItem, type AttentionMark } from '../rules/attention.ts';
import { WORKER_LOST_MS } from '../../../kernel/rules/why.ts';
import { MARK_DAYS } from '../store/attention-marks.ts';
import { sessionNamesSql, sessionTitle, type NamesRow } from '../../../kernel/views/words.ts';
import { isoSql } from '../../../kernel/sessions/session-facts.ts';
import { viewQuery } from '../../../database/literal-query.ts';
import { isPausedSql } from '../../../kernel/queue/pause-sql.ts';
import { DECIDED_FACTS_SQL, factSql, hasWorkerSql, NAMES_MAX } from './service-health.ts';

const LOST_SQL = `clock_timestamp() - ${WORKER_LOST_MS} * interval '1 millisecond'`;

/** Rows are counted up to this. */
const COUNT_MAX = 10_000;

export const readAttention = viewQuery({
  name: 'attention',
  purpose: 'Read what may need a person.',
  text: `with silent as materialized (
  -- The place among the silent processes with the same roles, latest first: as many as were started since have been replaced.
  select w.name, w.roles, w.seen_at, row_number() over (partition by w.roles order by w.seen_at desc, w.id) as place
  from holdfast.workers w where w.seen_at < ${LOST_SQL} order by w.seen_at desc limit ${COUNT_MAX}
),
facts as (
  (${factSql('dead_letters', 'code', 'count(*)', 'min(created_at)')}
  from (select code, created_at from holdfast.dead_letters where state = 'open' limit ${COUNT_MAX}) as letters
  group by code order by count(*) desc limit ${NAMES_MAX})
  union all (${factSql('approval', 'tool', 'count(*)', 'min(requested_at)')}
  from (select tool, requested_at from holdfast.approvals where status = 'open' and expires_at > clock_timestamp() limit ${COUNT_MAX}) as requests
  group by tool order by count(*) desc limit ${NAMES_MAX})
  union all (${factSql('pairing', "p.channel || '/' || p.account", 'count(*)', 'min(p.created_at)')}
  from holdfast.pairings p where p.status = 'open' and p.expires_at > clock_timestamp() group by p.channel, p.account limit ${NAMES_MAX})
  union all (${factSql('channel_lost', "a.channel || '/' || a.account", '1', 'null::timestamptz', { detail: 'a.last_error' })}
  from holdfast.channel_accounts a where a.last_error is not null and not a.is_paused and a.lease_expires_at > clock_timestamp() limit ${NAMES_MAX})
  union all (${factSql('worker_silent', 'w.name', '1', 'w.seen_at')}
  from silent w where w.place > (
    select count(*) from holdfast.workers r where r.seen_at >= ${LOST_SQL} and r.started_at > w.seen_at and r.roles @> w.roles
  ) order by w.seen_at desc limit ${NAMES_MAX})
  union all (${factSql('lock_expired', 's.key', '1', 's.lease_expires_at', { names: sessionNamesSql('s') })}
  from holdfast.doorbells d cross join lateral (select * from holdfast.sessions where id = d.session_id limit 1) as s
  where s.owner is not null and s.lease_expires_at < clock_timestamp() - interval '1 minute' and not ${isPausedSql('s')} and ${hasWorkerSql('s.lane')} order by s.lease_expires_at limit ${NAMES_MAX})
  union all (${factSql('cron_missed', 'c.id::text', 'missed.count', 'missed.since', { names: 'to_json(c.name)' })}
  from holdfast.crons c cross join lateral (
    select count(*) as count, min(f.scheduled_for) as since from holdfast.cron_fires f
    where f.cron_id = c.id and f.status = 'missed' and f.scheduled_for > greatest(clock_timestamp() - interval '1 day', (
      select max(fired.scheduled_for) from holdfast.cron_fires fired
      where fired.cron_id = c.id and fired.scheduled_for > clock_timestamp() - interval '1 day' and fired.status in ('claimed', 'completed', 'failed')))
  ) as missed where missed.count > 0 order by missed.since desc limit ${NAMES_MAX})
  union all (${factSql('cron_late', 'c.id::text', '1', 'c.next_slot_at', { names: 'to_json(c.name)' })}
  from holdfast.crons c where c.is_enabled and c.next_slot_at < clock_timestamp() - interval '5 minutes'
    and coalesce(c.not_before <= clock_timestamp(), true) order by c.next_slot_at limit ${NAMES_MAX})
  union all (${factSql('model_blocked', 'b.model', 'count(*)', 'min(b.since)')}
  from holdfast.model_blocks b where b.until > clock_timestamp() and b.lifted_at is null group by b.model limit ${NAMES_MAX})
  union all (${factSql('model_unpriced', 'u.model', 'sum(u.unpriced_calls)', 'min(u.starts_at)')}
  from holdfast.usage_buckets u where u.size = 'hour' and u.starts_at > clock_timestamp() - interval '1 day' and u.unpriced_calls > 0
  group by u.model limit ${NAMES_MAX})
  union all (${factSql('provider_batch_unknown', 'p.id::text', 'p.request_count', 'p.submit_started_at')}
  from holdfast.provider_batches p where p.status = 'unknown' limit ${NAMES_MAX})
  union all (${factSql('provider_batch_old', 'p.id::text', 'p.request_count', 'p.submit_started_at')}
  from holdfast.provider_batches p where p.status in ('submitted', 'canceling', 'ended')
    and p.submit_started_at < clock_timestamp() - interval '20 hours' limit ${NAMES_MAX})
  union all (${factSql('alerts_failing', 'a.name', '1', 'a.failing_since')}
  from holdfast.alert_destinations a where a.failing_since is not null limit ${NAMES_MAX})
  union all ${DECIDED_FACTS_SQL}
)
select kind, name, detail, count, ${isoSql('since')} as since, names from facts`,
  answer: (facts: (AttentionFact & { names: NamesRow | string | null })[]): AttentionFact[] =>
    facts.map(({ names, ...fact }) => ({
      ...fact,
      title: typeof names === 'object' && names !== null ? sessionTitle(names) : names,
    })),
});

/** Kinds of which the rows that are read are grouped by name. */
const COUNTED_KINDS: readonly string[] = ['dead_letters', 'approval', 'outbox_stalled', 'deliveries_failing'];

/**
 * The kinds of which there may be more than was read: what such a list does not have may be there.
 */
export function listCutKinds(items: readonly Pick<AttentionItem, 'kind' | 'count'>[]): ReadonlySet<string> {
  const isCut = (kind: string): boolean => {
    const those = items.filter((item) => item.kind === kind);
    const rows = those.reduce((sum, { count }) => sum + count, 0);
    return those.length >= NAMES_MAX || (COUNTED_KINDS.includes(kind) && rows >= COUNT_MAX);
  };
  return new Set(ATTENTION_KINDS.filter(isCut));
}

export const readAttentionMarks = viewQuery({
  name: 'attention-marks',
  purpose: 'Read what operators have decided about problems, by the ids of these.',
  text: `select m.id, m.marked_by as by, ${isoSql('m.marked_at')} as at, ${isoSql('m.until')} as until, m.count, m.reason,
  case when m.until is null then m.marked_at > clock_timestamp() - interval '${MARK_DAYS} days' else m.until > clock_timestamp() end as holds
from holdfast.attention_marks m`,
  answer: (marks: (AttentionMark & { id: string })[]) => new Map(marks.map(({ id, ...mark }) => [id, mark])),
});
