// What the end of a turn does to other sessions: it ends the run of a subagent and announces that to the session above it, or forwards an
// answer to another agent. A part of `finish-turn`, so a turn's end and its effects on other sessions are one commit (G18).
//
// The turns that do so end in statements of their own: one that ends several turns could change a session's row twice.
import type { SessionId } from '../../core/ids.ts';
import { ARRIVED_SQL, PUT_PARTS, putEventsSql, rungForPart } from '../put-inputs.ts';
import type { NeededRing } from '../session-locks.ts';
import type { Values } from '../statement.ts';
import { announcedEventsSql, endingColumnsSql, endRunParts } from '../subagent-ends.ts';
import type { SubagentRunEnd, TurnEnd } from './turn-end.ts';

/** The rings that other sessions need, and the sessions that something has come to. */
export interface NotifiedSessions {
  rings: NeededRing[];
  sessions: SessionId[];
}

/** True for an end that changes other sessions. */
export function reachesOut(end: TurnEnd): boolean {
  return end.run !== undefined || (end.notices ?? []).length > 0;
}

const OUTREACH_EVENTS = 2_000_000;

/** What a statement needs to reach out: it ends one turn. */
export interface OutreachParts {
  /** SQL of the further sessions that it locks. */
  also: string;
  /** CTEs before `updated_sessions`, and after it. */
  before: string[];
  parts: string[];
  /** Assignments to the row of the turn's own session. */
  own: string;
  /** Sources of events. */
  events: string[];
  /** Columns of its answer. */
  answer: string;
}

/** The parts for one end that reaches out. */
export function outreachOf(values: Values, end: TurnEnd): OutreachParts {
  const { run, notices = [] } = end;
  const own = values.array('uuid', [end], ({ fence }) => fence.sessionId);
  const noticedSessions = values.array('uuid', notices, (notice) => notice.sessionId);
  const table = values.table('notice', notices, {
    id: ['uuid', (notice) => notice.id],
    session_id: ['uuid', (notice) => notice.sessionId],
    body: ['json', (notice) => notice.body],
    route: ['text', (notice) => notice.route],
    cause_key: ['text', (notice) => notice.causeKey],
  });
  const noticed = `select notice.id, notice.session_id, 'message' as kind, notice.body, notice.route, 'followup' as mode,
    notice.cause_key, 'waiting' as status, 'queued' as disposition, null::json as error
    from ${table}
    join locked l on l.id = notice.session_id cross join fence where l.archived_at is null`;
  const ending = run === undefined ? noEnding(noticed) : endingOf(values, run, noticed);
  return {
    also: `array(select unnest(own.ancestors) from holdfast.sessions own where own.id = any (${own})) || ${noticedSessions}`,
    before: ending.before,
    parts: [
      ...ending.parts,
      ...PUT_PARTS,
      `updated_relatives as (
  update holdfast.sessions s
  set live_children = s.live_children - coalesce(relative.children, 0), live_descendants = s.live_descendants - coalesce(relative.descendants, 0),
    waiting = s.waiting + coalesce(arrived.waiting, 0), ${ARRIVED_SQL}, updated_at = clock_timestamp()
  from (select session_id from relative_counts union select session_id from arrived) as touched
  left join relative_counts relative on relative.session_id = touched.session_id left join arrived on arrived.session_id = touched.session_id
  where s.id = touched.session_id
  returning s.*, coalesce(arrived.waiting, 0) as has_arrived
)`,
      rungForPart('updated_relatives', 's.has_arrived > 0'),
    ],
    own: ending.own,
    events: [putEventsSql(OUTREACH_EVENTS), ...ending.events],
    answer: `, (select json_agg(json_build_object('sessionId', session_id, 'lane', lane, 'ringNo', rings)) from arrival_doorbells) as rings_for,
  (select json_agg(session_id) from arrived) as reached`,
  };
}

/** The answer's part about other sessions. */
export function reachedOf(row: { rings_for?: NeededRing[] | null; reached?: SessionId[] | null }): NotifiedSessions {
  return { rings: row.rings_for ?? [], sessions: row.reached ?? [] };
}

type RunEndParts = Pick<OutreachParts, 'before' | 'parts' | 'own' | 'events'>;

function noEnding(noticed: string): RunEndParts {
  return {
    before: [],
    parts: [
      `incoming as materialized (${noticed})`,
      'relative_counts as materialized (select null::uuid as session_id, 0 as children, 0 as descendants where false)',
    ],
    own: '',
    events: [],
  };
}

function endingOf(values: Values, run: SubagentRunEnd, noticed: string): RunEndParts {
  const rows = [run];
  const table = values.table('run_end', rows, {
    status: ['text', (one) => one.status],
    result: ['text', (one) => one.result],
    error: ['text', (one) => one.error],
    is_answer: ['boolean', (one) => one.isAnswer],
    is_suppressed: ['boolean', (one) => one.isSuppressed],
  });
  const mode = `(${values.array('text', rows, (one) => one.modes.mode)})[1]`;
  const byChannel = `(${values.array('json', rows, (one) => JSON.stringify(one.modes.byChannel))})[1]`;
  const totals = {
    input: 's.input_tokens + fence.input_tokens + fence.cache_read_tokens + fence.cache_write_tokens',
    output: 's.output_tokens + fence.output_tokens',
  };
  return {
    before: [
      `ending as materialized (
  select ${endingColumnsSql(totals)}, run_end.status, run_end.result, run_end.error, run_end.is_suppressed, false as is_told
  from ${table}
  cross join fence join locked s on s.id = fence.session_id join holdfast.subagent_runs run on run.id = s.run_id
  where s.waiting = 0 and (run_end.is_answer or s.live_children = 0)
)`,
    ],
    parts: endRunParts({ mode, byChannel, more: [noticed] }),
    own: `,
    run_id = case when exists (select from ending where ending.child_id = s.id) then null else s.run_id end,
    archived_at = case when exists (select from ending where ending.child_id = s.id and ending.cleanup = 'delete') then clock_timestamp()
      else s.archived_at end`,
    events: [announcedEventsSql(OUTREACH_EVENTS)],
  };
}
