// Runs of subagents as the API shows them, newest first; and the family of a session: every run
// below its root, with its own usage and that of it and the runs below it.
import type { FamilyView } from '../../contract/details.ts';
import { toDollars } from '../../core/prices.ts';
import { titleOfRun } from '../../core/words.ts';
import { dollarsSql } from '../../kernel/sessions/cost-sql.ts';
import { isoSql } from '../../kernel/sessions/session-facts.ts';
import { viewQuery } from '../../database/literal-query.ts';
import { listOf } from '../../database/list-of.ts';
import type { SubagentView } from './contract.ts';

/** The most runs that are shown, and the deepest. */
const RUNS_MAX = 1_000;
const DEPTH_MAX = 50;
const TASK_CHARS_MAX = 500;

const usedSql = (row: string): string =>
  `json_build_object('tokens', json_build_object('input', ${row}.input_tokens, 'output', ${row}.output_tokens),
      'costUsd', ${dollarsSql(`${row}.cost_micros`)}, 'costMicros', ${row}.cost_micros, 'simulated', ${row}.is_simulated)`;

export const viewFamily = viewQuery({
  name: 'family',
  purpose: 'Read the root of the family of a session ($1) and the runs below it, each after its parent.',
  text: `with recursive root as materialized (
  select r.* from holdfast.sessions s join holdfast.sessions r on r.id = coalesce(s.ancestors[1], s.id) where s.key = $1
),
runs as (
  select run.*, 1 as level from root cross join lateral (
    select * from holdfast.subagent_runs where parent_id = root.id order by id limit ${RUNS_MAX + 1}
  ) as run
  union all
  select run.*, runs.level + 1 from runs cross join lateral (
    select * from holdfast.subagent_runs where parent_id = runs.child_id and created_at >= runs.created_at order by id limit ${RUNS_MAX + 1}
  ) as run where runs.level < ${DEPTH_MAX}
),
shown as (
  select distinct on (level, id) * from runs order by level, id limit ${RUNS_MAX + 1}
)
select root.key as "rootKey", ${usedSql('root')} as root,
  (select coalesce(json_agg(json_build_object('runId', r.id, 'sessionKey', c.key, 'parentSessionKey', p.key, 'label', r.label,
    'task', left(r.task, ${TASK_CHARS_MAX}), 'agentId', c.agent_id, 'depth', r.depth, 'status', r.status, 'mode', r.mode,
    'createdAt', ${isoSql('r.created_at')}, 'endedAt', ${isoSql('r.ended_at')}, 'turnId', last_turn.id,
    'announcement', case when r.ended_at is not null then json_build_object('how', case
        when i.id is null then 'noRecipient'
        when i.status = 'waiting' then 'waiting'
        when i.turn_id is null then 'notSent'
        -- What is received after a turn has started is not in its prompt.
        when i.received_at > t.started_at then 'steered'
        else 'ownTurn' end,
      'messageId', i.id, 'sessionKey', recipient.key, 'status', i.status, 'turnId', i.turn_id) end,
    'own', case when r.status = 'running' then ${usedSql('c')} else ${usedSql('r')} end) order by r.level, r.id), '[]')
    from shown r cross join lateral (select * from holdfast.sessions where id = r.child_id limit 1) as c
    cross join lateral (select * from holdfast.sessions where id = r.parent_id limit 1) as p
    left join lateral (
      select own.id from holdfast.turns own
      where own.session_id = r.child_id and own.started_at >= r.created_at and (r.ended_at is null or own.started_at <= r.ended_at)
      order by own.id desc limit 1
    ) as last_turn on true
    left join lateral (select * from holdfast.inbox where id = r.announcement_id limit 1) as i on true
    left join lateral (select * from holdfast.sessions where id = i.session_id limit 1) as recipient on true
    left join lateral (select * from holdfast.turns where id = i.turn_id limit 1) as t on true
  ) as runs
from root`,
  values: (key: string) => [key],
  answer: ([row]: FamilyRow[]) => (row === undefined ? null : toFamily(row)),
});

type FamilyRun = FamilyView['items'][number];
type Usage = FamilyView['root'];

interface FamilyRow {
  rootKey: string;
  root: Usage;
  runs: Omit<FamilyRun, 'subtree' | 'parentRunId'>[];
}

function toFamily({ rootKey, root, runs }: FamilyRow): FamilyView {
  const items = runs
    .slice(0, RUNS_MAX)
    .map((run): FamilyRun => ({ ...run, parentRunId: null, subtree: { ...run.own, runs: 1 } }));
  // A run that was restarted has the same session, and a run below belongs to the last one that had
  // begun by then.
  for (const run of items.toReversed()) {
    const parent = items.findLast((one) => one.sessionKey === run.parentSessionKey && one.createdAt <= run.createdAt);
    if (parent === undefined) continue;
    run.parentRunId = parent.runId;
    parent.subtree = addSubtrees(parent.subtree, run.subtree);
  }
  return { rootKey, root, items, isCapped: runs.length > RUNS_MAX };
}

function addSubtrees(one: FamilyRun['subtree'], other: FamilyRun['subtree']): FamilyRun['subtree'] {
  const known = [one.costMicros, other.costMicros].filter((micros) => micros !== null);
  const costMicros = known.length === 0 ? null : known.reduce((sum, part) => sum + part, 0);
  return {
    tokens: { input: one.tokens.input + other.tokens.input, output: one.tokens.output + other.tokens.output },
    costUsd: toDollars(costMicros),
    costMicros,
    simulated: one.simulated || other.simulated,
    runs: one.runs + other.runs,
  };
}

export const runs = listOf<{ parentId?: string | undefined }, Omit<SubagentView, 'title'>, SubagentView>({
  name: 'list-subagents',
  purpose: 'Read runs of subagents, newest first; those that a session ($parentId) has spawned.',
  text: `select r.id as "runId", c.key as "childSessionKey", p.key as "parentSessionKey", r.label, r.task, r.depth, r.status, r.mode, r.cleanup,
  r.result, r.error, json_build_object('input', r.input_tokens, 'output', r.output_tokens) as tokens, ${dollarsSql('r.cost_micros')} as "costUsd",
  r.cost_micros::float8 as "costMicros", r.unpriced_calls as "unpricedCalls", r.is_simulated as simulated, ${isoSql('r.created_at')} as "createdAt",
  ${isoSql('r.deadline_at')} as "deadlineAt", ${isoSql('r.ended_at')} as "endedAt", case when recipient.id is not null and i.id is not null
    then json_build_object('messageId', r.announcement_id, 'sessionKey', recipient.key, 'status', i.status) end as announcement
from holdfast.subagent_runs r join holdfast.sessions c on c.id = r.child_id join holdfast.sessions p on p.id = r.parent_id
left join holdfast.sessions recipient on recipient.id = r.announced_to left join holdfast.inbox i on i.id = r.announcement_id`,
  filters: { parentId: 'r.parent_id = $parentId' },
  order: 'r.id desc',
  key: 'runId',
  show: (run) => ({ ...run, title: titleOfRun(run) }),
});
