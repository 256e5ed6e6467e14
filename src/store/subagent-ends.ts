// How the end of a subagent's run becomes rows: the statement that ends the run settles it and puts an announcement into the inbox of the
// session that receives its result (G18). Nothing is handed over between two statements, so nothing can be lost or needs a retry.
//
// The recipient is the nearest session above it that is still active: one whose run has not ended, or the top of the family. When there
// is none, a dead letter is stored. A busy parent with the queue mode steer receives it in its running turn, any other parent in its
// next.
//
// The statement provides `locked`, the rows of the subagent and of all sessions above it, and `ending`, the runs that end.
import { chargedBodySql } from './charged-inputs.ts';
import { announcementBodySql, NEW_ID_SQL } from './put-inputs.ts';

/** SQL of a run's share of a total of its session: what the runs before it have not used. */
function ownSql(column: 'input_tokens' | 'output_tokens' | 'cost_micros' | 'unpriced_calls', total: string): string {
  return `greatest(0, ${total} - coalesce((select sum(before.${column}) from holdfast.subagent_runs before
      where before.child_id = run.child_id and before.id <> run.id), 0))::bigint`;
}

/** The same of the cost; null when that of the session is not known. */
function ownCostSql(total: string): string {
  return `case when ${total} is not null then ${ownSql('cost_micros', total)} end`;
}

/** SQL of the totals of a session, from its row `s`. */
interface SessionTotals {
  input: string;
  output: string;
  cost: string;
  unpriced: string;
  isSimulated: string;
}

/** The totals of a session as they are stored. */
export const STORED_TOTALS: SessionTotals = {
  input: 's.input_tokens',
  output: 's.output_tokens',
  cost: 's.cost_micros',
  unpriced: 's.unpriced_calls',
  isSimulated: 's.is_simulated',
};

/** SQL of the columns of `ending`, from a row `run` of subagent_runs; the totals are those of its session. */
export function endingColumnsSql(totals: SessionTotals): string {
  return `run.id, run.parent_id, run.child_id, run.root_id, coalesce(run.label, run.task) as label, run.created_at, run.route, run.deliver, run.options,
    run.cleanup, run.charged_to, ${ownSql('input_tokens', totals.input)} as input_tokens, ${ownSql('output_tokens', totals.output)} as output_tokens,
    ${ownCostSql(totals.cost)} as cost_micros, ${ownSql('unpriced_calls', totals.unpriced)} as unpriced_calls,
    ${totals.isSimulated} as is_simulated`;
}

/**
 * CTEs that settle `ending` (`endingColumnsSql`, status, result, error, is_suppressed, is_told), with the `queue_modes` (mode, by_channel):
 * `announcements`, rows for the `incoming` of `PUT_PARTS`; `ended_run`; `inserted_run_letters`; and `relative_counts`, the changes of the
 * counts of the sessions above.
 *
 * An end is `is_told` when its recipient has requested it itself, and `is_suppressed` when the subagent requested no announcement. Its row
 * is then inserted as settled; but not if a subagent above waits for nothing else, because that subagent would wait without end.
 */
export const END_RUN_PARTS: readonly string[] = [
  `recipient as materialized (
  select ending.id as run_id, child.key as child_key, relative.* from ending join locked child on child.id = ending.child_id
  left join lateral (
    select l.id as session_id, cardinality(l.ancestors) = 0 as is_for_user,
      l.live_children - case when l.id = ending.parent_id then 1 else 0 end as active,
      l.run_id is not null and l.turn_id is null and l.waiting = 0 as is_parked,
      (l.turn_id is not null or l.owner is not null and l.lease_expires_at > clock_timestamp())
        and coalesce(l.queue_mode, queue_modes.by_channel ->> l.channel, queue_modes.mode) in ('steer', 'steer-backlog') as steers
    from unnest(child.ancestors) with ordinality as above (id, place) join locked l on l.id = above.id cross join queue_modes
    where l.archived_at is null and (cardinality(l.ancestors) = 0 or l.run_id is not null)
    order by above.place desc limit 1
  ) as relative on true
)`,
  `judged_end as materialized (
  select ending.*, recipient.session_id, recipient.child_key, recipient.is_for_user, recipient.active, recipient.steers,
    clock_timestamp() as ended_at,
    ending.is_told or ending.is_suppressed and not (recipient.is_parked and recipient.active = 0) as is_silent,
    case when recipient.session_id is not null then ${NEW_ID_SQL} end as announcement_id,
    json_strip_nulls(json_build_object('kind', 'subagent', 'runId', ending.id, 'sessionId', ending.child_id,
      'sessionKey', recipient.child_key, 'label', ending.label, 'status', ending.status, 'error', ending.error, 'result', ending.result,
      'runtimeMs', floor(extract(epoch from clock_timestamp() - ending.created_at) * 1000), 'inputTokens', ending.input_tokens,
      'outputTokens', ending.output_tokens, 'isForUser', recipient.is_for_user, 'active', recipient.active)) as facts
  from ending join recipient on recipient.run_id = ending.id
)`,
  `announcements as materialized (
  select announcement_id as id, session_id, 'announcement' as kind,
    ${chargedBodySql(announcementBodySql('facts', 'judged_end'), 'charged_to')} as body,
    route, case when steers then 'steer' end as mode, 'announce:' || id as cause_key,
    case when is_silent then 'silent' else 'waiting' end as status, case when steers then 'steered' else 'queued' end as disposition,
    case when is_told then json_build_object('code', 'told', 'message', 'The recipient of the announcement ended the run itself.')
      when is_silent then json_build_object('code', 'announce_skip', 'message', 'The subagent requested no announcement.') end as error
  from judged_end where session_id is not null
)`,
  `ended_run as (
  update holdfast.subagent_runs r
  set status = e.status, result = e.result, error = e.error, ended_at = e.ended_at, input_tokens = e.input_tokens,
    output_tokens = e.output_tokens, cost_micros = e.cost_micros, unpriced_calls = e.unpriced_calls, is_simulated = e.is_simulated,
    announcement_id = e.announcement_id, announced_to = e.session_id
  from judged_end e where r.id = e.id and r.status = 'running'
)`,
  `inserted_run_letters as (
  insert into holdfast.dead_letters (id, kind, session_id, code, reason)
  select ${NEW_ID_SQL}, 'announcement', child_id, 'parent_gone', 'The run ' || id || ' has ended, and no session is left to receive its announcement.'
  from judged_end where session_id is null and not is_silent
)`,
  `relative_counts as materialized (
  select session_id, sum(children)::int as children, sum(descendants)::int as descendants from (
    select parent_id as session_id, 1 as children, 0 as descendants from ending union all select root_id, 0, 1 from ending
  ) as counts group by session_id
)`,
];

/** SQL of the events of `judged_end`, as a source for `insertEventsSql`. */
export const ANNOUNCED_EVENTS_SQL = `select e.session_id, null::uuid as turn_id, 'announce.queued' as type, json_build_object('runId', e.id, 'childSessionKey', e.child_key,
      'messageId', e.announcement_id, 'status', e.status, 'disposition', case when e.steers then 'steered' else 'queued' end) as data,
      0 as n
    from judged_end e where e.session_id is not null and not e.is_silent`;
