// What the end of a turn does to other sessions: it ends the run of a subagent and announces that to the session above it, or forwards an
// answer to another agent. A part of `finish-turn`, so a turn's end and its effects on other sessions are one commit (G18).
//
// The turns that do so end in statements of their own: one that ends several turns could change a session's row twice.
import { chargedBodySql, chargeOfTurnSql } from '../charged-inputs.ts';
import { plusCostSql } from '../cost-sql.ts';
import { noEventsSql } from '../events.ts';
import { ARRIVED_SQL, PUT_EVENTS_SQL, PUT_PARTS, rungForPart } from '../put-inputs.ts';
import { cte, optional, rows, type Cte } from '../statement.ts';
import { ANNOUNCED_EVENTS_SQL, END_RUN_PARTS, endingColumnsSql } from '../subagent-ends.ts';
import { LOCKED_SQL, sessions } from './fence.ts';
import type { Notice, SubagentRunEnd, TurnEnd } from './turn-end.ts';

/** True for an end that changes other sessions. */
export function reachesOut(end: TurnEnd): boolean {
  return end.run !== undefined || (end.notices ?? []).length > 0;
}

type Ends = readonly TurnEnd[];

const noticesOf = (ends: Ends): Notice[] => ends.flatMap((end) => end.notices ?? []);
const runsOf = (ends: Ends): SubagentRunEnd[] => ends.flatMap(({ run }) => (run === undefined ? [] : [run]));

/** Everything but the end of a run itself, which some outreaches lack. */
const outreach = optional('outreach', (ends: Ends) => ends.some(reachesOut));
const runEnd = optional('run_end', (ends: Ends) => runsOf(ends).length > 0);

/** The rows of the sessions; of an end that reaches out also those above it and those that get a message, whole. */
export const lockedFamily = outreach(
  cte<Ends>(
    `locked as materialized (
  select s.*, s.xmin as version from holdfast.sessions s
  where s.id = any ($sessions::uuid[] || array(select unnest(own.ancestors) from holdfast.sessions own where own.id = any ($sessions::uuid[]))
    || $noticed_sessions::uuid[])
  order by s.id for no key update
)`,
    {
      absent: LOCKED_SQL,
      binds: { ...sessions, noticed_sessions: (ends) => noticesOf(ends).map((notice) => notice.sessionId) },
    },
  ),
);

/** `ending`: the run that ends. It does not end while inputs wait or while runs below it are active: they bring it another turn. */
export const endingRun = runEnd(
  rows('run_ends', runsOf, {
    status: ['text', (run) => run.status],
    result: ['text', (run) => run.result],
    error: ['text', (run) => run.error],
    is_suppressed: ['boolean', (run) => run.isSuppressed],
    mode: ['text', (run) => run.modes.mode],
    by_channel: ['json', (run) => JSON.stringify(run.modes.byChannel)],
  }),
  cte(
    `ending as materialized (
  select ${endingColumnsSql({
    input: 's.input_tokens + fence.input_tokens + fence.cache_read_tokens + fence.cache_write_tokens',
    output: 's.output_tokens + fence.output_tokens',
    cost: plusCostSql('s.cost_micros', 'fence.cost_micros'),
    unpriced: 's.unpriced_calls + fence.unpriced_calls',
    isSimulated: 's.is_simulated or fence.is_simulated',
  })}, run_ends.status, run_ends.result, run_ends.error, run_ends.is_suppressed, false as is_told
  from run_ends cross join fence join locked s on s.id = fence.session_id join holdfast.subagent_runs run on run.id = s.run_id
  where s.waiting = 0 and s.live_children = 0
)`,
    { absent: 'ending as (select null::uuid as child_id, null::text as cleanup where false)' },
  ),
);

const stopped = optional('stopped', (ends: Ends) => ends.some((end) => end.wasAborted || end.isPartOfRun === true));

/**
 * A run that was stopped while this turn was open has ended without the figures of the turn. If the stop was committed while this statement
 * waited for the session, this statement still sees the run without its end: the second condition finds the row, and is checked again on the
 * row as the stop has left it. Without a stop, the locked session names the run.
 */
export const stoppedRun = stopped(
  cte<Ends>(`stopped_run as (
  update holdfast.subagent_runs r
  set input_tokens = r.input_tokens + fence.input_tokens + fence.cache_read_tokens + fence.cache_write_tokens,
    output_tokens = r.output_tokens + fence.output_tokens, cost_micros = ${plusCostSql('r.cost_micros', 'fence.cost_micros')},
    unpriced_calls = r.unpriced_calls + fence.unpriced_calls, is_simulated = r.is_simulated or fence.is_simulated
  from fence join holdfast.turns t on t.id = fence.turn_id join locked s on s.id = fence.session_id
  where r.child_id = fence.session_id and s.run_id is null and (r.ended_at is null or r.ended_at >= t.started_at)
)`),
);

/** The assignments to the row of the turn's own session. */
export const ENDING_SQL = `run_id = case when exists (select from ending where ending.child_id = s.id) then null else s.run_id end,
    archived_at = case when exists (select from ending where ending.child_id = s.id and ending.cleanup = 'delete') then clock_timestamp()
      else s.archived_at end`;

const ABSENT_RUN_PARTS: Readonly<Record<string, string>> = {
  announcements: `announcements as (
  select null::uuid as id, null::uuid as session_id, null::text as kind, null::json as body, null::text as route, null::text as mode,
    null::text as cause_key, null::text as status, null::text as disposition, null::json as error where false
)`,
  relative_counts: 'relative_counts as (select null::uuid as session_id, 0 as children, 0 as descendants where false)',
};

/** What happens in other sessions, after the turn's own row is written. */
export const reachedSessions: Cte<Ends>[] = [
  ...runEnd(
    cte('queue_modes as materialized (select mode, by_channel from run_ends)'),
    ...END_RUN_PARTS.map((text) => {
      const absent = ABSENT_RUN_PARTS[text.slice(0, text.indexOf(' '))];
      return cte<Ends>(text, absent === undefined ? {} : { absent });
    }),
  ),
  ...outreach(
    rows('new_notices', noticesOf, {
      id: ['uuid', (notice) => notice.id],
      session_id: ['uuid', (notice) => notice.sessionId],
      body: ['json', (notice) => notice.body],
      route: ['text', (notice) => notice.route],
      cause_key: ['text', (notice) => notice.causeKey],
    }),
    cte(`incoming as materialized (
  select * from announcements
  union all select notice.id, notice.session_id, 'message', ${chargedBodySql('notice.body', 'charge.charged_to')}, notice.route, 'followup', notice.cause_key, 'waiting', 'queued', null::json
  from new_notices notice join locked l on l.id = notice.session_id cross join fence
    cross join lateral (select ${chargeOfTurnSql('fence.turn_id')} as charged_to) as charge where l.archived_at is null
)`),
    ...PUT_PARTS.map((text) =>
      text.startsWith('arrived ')
        ? cte<Ends>(text, { absent: 'arrived as (select null::uuid as session_id where false)' })
        : cte<Ends>(text),
    ),
    cte(`updated_relatives as (
  update holdfast.sessions s
  set live_children = s.live_children - coalesce(relative.children, 0), live_descendants = s.live_descendants - coalesce(relative.descendants, 0),
    waiting = s.waiting + coalesce(arrived.waiting, 0), ${ARRIVED_SQL}, updated_at = clock_timestamp()
  from (select session_id from relative_counts union select session_id from arrived) as touched
  left join relative_counts relative on relative.session_id = touched.session_id left join arrived on arrived.session_id = touched.session_id
  where s.id = touched.session_id
  returning s.*, coalesce(arrived.waiting, 0) as has_arrived
)`),
    cte(rungForPart('updated_relatives', 's.has_arrived > 0'), {
      absent:
        'arrival_doorbells as (select null::uuid as session_id, null::text as lane, null::bigint as rings where false)',
    }),
    cte(`put_events as (\n  ${PUT_EVENTS_SQL}\n)`, { absent: noEventsSql('put_events') }),
  ),
  ...runEnd(cte(`announced_events as (\n  ${ANNOUNCED_EVENTS_SQL}\n)`, { absent: noEventsSql('announced_events') })),
];
